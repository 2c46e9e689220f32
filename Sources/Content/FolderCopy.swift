import CKioskPlatform
import Glibc
import KioskPlatform
import KioskVocabulary

/// The failure of a copy: the action, the file, the reason, and the advice.
package struct FolderCopyError: Error, CustomStringConvertible {
    package var description: String
}

/// Files below one folder, to be copied below another.
///
/// kiosk first copies them beside the other folder, and syncs them to the disk. Then it exchanges the two folders atomically, and removes
/// the old one. It leaves out unusable files. If no file is usable, or anything else fails, the other folder stays unchanged.
///
/// The source may be hostile. kiosk opens only regular files, beneath their folder and through no link (openat2(2)). It reads no more of a
/// file than its listed size.
///
/// The copy stays out of the page cache, and at most some megabytes wait for the disk, so that it does not delay the player's reads. Free
/// of Foundation; blocks for as long as the file systems do.
package struct FolderCopy: Hashable, Sendable {
    package struct File: Hashable, Sendable {
        /// The path below the folder.
        package var path: String
        package var size: Int64
        /// The time of the last change, in nanoseconds since 1970.
        package var modified: Int64

        /// Whether the file only accompanies a clip.
        var isSubtitles: Bool {
            path.lastIndex(of: ".").map { FileExtensions.subtitles.contains(path[path.index(after: $0)...].lowercased()) } ?? false
        }
    }

    /// The folder, absolute.
    package let root: String
    package let files: [File]

    /// The size in bytes, clamped to 64 bits.
    package var bytes: Int64 {
        files.reduce(0) { sum, file in
            let (more, isTooMuch) = sum.addingReportingOverflow(max(file.size, 0))
            return isTooMuch ? .max : more
        }
    }

    /// Returns why it does not fit into `free` bytes less `reserve`; nil if it does.
    package func refusal(free: Int64, reserve: Int64) -> FolderCopyError? {
        let room = max(free - reserve, 0)
        guard bytes > room else { return nil }
        return FolderCopyError(description: "\(bytes >> 20) MB do not fit into \(room >> 20) MB: delete files here, or there")
    }

    /// A folder with a file system of its own, and that file system's device number.
    struct Mount: Hashable {
        var path: String
        var device: UInt64
    }

    /// Returns the mounts in a folder.
    static func mounts(in folder: String) -> Set<Mount> {
        guard let here = stat(at: folder) else { return [] }
        let mounts = Folder.entries(in: folder).filter { !$0.name.hasPrefix(".") && $0.status.st_dev != here.st_dev }
        return Set(mounts.map { Mount(path: folder + "/" + $0.name, device: UInt64($0.status.st_dev)) })
    }

    // MARK: Copying

    /// A file that was left out, and the reason.
    package struct LeftOut: Hashable, Sendable {
        package var file: File
        package var problem: String
    }

    /// Copies everything into a folder beside `folder`, and exchanges the two atomically. Blocks.
    ///
    /// - Parameters:
    ///   - reserve: the bytes to leave free.
    ///   - check: takes the path of each copy; returns why it is unusable, or nil.
    ///   - progress: takes the percentage, after each piece of at most 1 MiB; returns false to cancel.
    /// - Returns: the unusable files.
    /// - Throws: the stick was pulled out or is unreadable, no file is usable, or the disk is full or not writable. `folder` is then
    ///   unchanged.
    @discardableResult
    package func copy(
        to folder: String, reserve: Int64, check: (String) -> String? = { _ in nil }, progress: (Int) -> Bool
    ) throws(FolderCopyError) -> [LeftOut] {
        var leftOut: [LeftOut] = []
        guard let beneath = Descriptor(opening: root, O_RDONLY | O_DIRECTORY) else { throw failure("open", root) }
        let staging = folder + ".new"
        unsafe kiosk_remove_tree(staging)
        // Left by a power cut during an earlier copy.
        unsafe kiosk_remove_tree(folder + ".old")
        try makeFolder(staging)
        do throws(FolderCopyError) {
            guard let room = statvfs(at: staging) else { throw failure("ask for the room in", staging) }
            if let refusal = refusal(free: room.free, reserve: reserve) { throw refusal }
            var (done, told) = (Int64(0), 0)
            for file in files {
                let target = staging + "/" + file.path
                try makeFolder(String(target.prefix(upTo: target.lastIndex(of: "/")!)))
                try copy(file, beneath.raw, to: target) { count in
                    done += Int64(count)
                    let percent = Int(clamping: done * 100 / max(bytes, 1))
                    told = max(told, min(percent, 100))
                    return progress(told)
                }
                if !file.isSubtitles, let problem = check(target) {
                    unsafe unlink(target)
                    leftOut.append(LeftOut(file: file, problem: problem))
                }
            }
            let clips = files.count { !$0.isSubtitles }
            if let first = leftOut.first, leftOut.count == clips {
                throw FolderCopyError(description: "none of its \(clips) files can be played: \(first.file.path): \(first.problem)")
            }
            try note(leftOut, in: staging)
            try replace(folder, by: staging)
        } catch {
            unsafe kiosk_remove_tree(staging)
            throw error
        }
        unsafe kiosk_remove_tree(staging)
        unsafe kiosk_remove_tree(folder + ".old")
        return leftOut
    }

    private func copy(_ file: File, _ beneath: Int32, to target: String, _ goesOn: (Int) -> Bool) throws(FolderCopyError) {
        func hasChanged() -> FolderCopyError {
            FolderCopyError(description: "\(file.path) changed during the copy: begin again")
        }
        guard let input = Descriptor(adopting: unsafe kiosk_open_beneath(beneath, file.path)) else { throw failure("read", file.path) }
        guard let output = Descriptor(opening: target, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644) else { throw failure("write", target) }
        var (size, unsynced) = (Int64(0), 0)
        while true {
            guard let chunk = input.read(atMost: 1 << 20) else { throw failure("read", file.path) }
            if chunk.isEmpty { break }
            guard unsafe chunk.withUnsafeBytes({ unsafe output.write($0) }) else { throw failure("write", target) }
            let count = chunk.count
            size += Int64(count)
            // The space was checked for the listed size only.
            if size > file.size { throw hasChanged() }
            unsynced += count
            // Playback must not wait behind a long queue of writes, nor lose its page cache.
            if unsynced >= 8 << 20 {
                unsynced = 0
                guard fdatasync(output.raw) == 0 else { throw failure("write", target) }
                posix_fadvise(output.raw, 0, 0, POSIX_FADV_DONTNEED)
                posix_fadvise(input.raw, 0, 0, POSIX_FADV_DONTNEED)
            }
            guard goesOn(count) else { throw FolderCopyError(description: "it was cancelled") }
        }
        guard size == file.size else { throw hasChanged() }
        let time = HostTime(nanoseconds: file.modified).timespec
        let times = [time, time]
        guard unsafe futimens(output.raw, times) == 0, fsync(output.raw) == 0 else { throw failure("write", target) }
    }

    // MARK: Files left out

    /// The hidden file in a copy that lists the files left out: path, size and time of each, and a zero byte after each of these.
    private static let leftOutList = ".left-out"

    private func note(_ leftOut: [LeftOut], in folder: String) throws(FolderCopyError) {
        if leftOut.isEmpty { return }
        let path = folder + "/" + Self.leftOutList
        let text = leftOut.map { "\($0.file.path)\0\($0.file.size)\0\($0.file.modified)\0" }.joined()
        if let problem = AtomicFile.write(path, text, mode: 0o644, isSynced: true) {
            throw FolderCopyError(description: "write \(path): \(problem)")
        }
    }

    /// Returns the files that ``copy(to:reserve:check:progress:)`` has left out of the copy in `folder`.
    package static func leftOut(of folder: String) -> [File] {
        let parts = (SmallFile.text(folder + "/" + leftOutList, atMost: 4 << 20) ?? "").split(separator: "\0").map(String.init)
        return stride(from: 0, to: parts.count - 2, by: 3).compactMap { index in
            guard let size = Int64(parts[index + 1]), let modified = Int64(parts[index + 2]) else { return nil }
            return File(path: parts[index], size: size, modified: modified)
        }
    }

    // MARK: The file system

    private func replace(_ folder: String, by staging: String) throws(FolderCopyError) {
        // Not every file system can exchange.
        if unsafe kiosk_exchange(staging, folder) != 0 {
            if unsafe access(folder, F_OK) == 0, unsafe rename(folder, folder + ".old") != 0 { throw failure("replace", folder) }
            guard unsafe rename(staging, folder) == 0 else { throw failure("replace", folder) }
        }
        syncFolder(of: folder)
    }

    private func makeFolder(_ path: String) throws(FolderCopyError) {
        if let (made, error) = Folder.make(path) { throw failure("make the folder", made, error) }
    }

    private func failure(_ what: String, _ path: String, _ error: SystemError = SystemError()) -> FolderCopyError {
        let advice =
            switch error.code {
            case ELOOP, EXDEV, EINVAL: "kiosk copies only files that lie on the stick"
            case EIO, ENODEV, ENXIO, ENOENT: "check that the stick is still plugged in"
            case ENOSPC, EDQUOT: "the disk is full: delete files"
            default: "check the disk there"
            }
        return FolderCopyError(description: "\(what) \(path): \(error); \(advice)")
    }
}
