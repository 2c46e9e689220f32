import CKioskPlatform
import Glibc
import KioskPlatform
import KioskVocabulary

/// Why files could not be copied: what was being done, to what, why that failed, and what to do.
package struct FolderCopyError: Error, CustomStringConvertible {
    package var description: String
}

/// Files below one folder that are copied below another.
///
/// They are copied beside the other folder first, and written through to the disk. Then the two change places in one step, and the old one is
/// removed. A file that cannot be used is left out; where none can, or anything else fails, the other folder stays as it is.
///
/// What is copied is a stranger's: it is opened beneath its folder, through no link, and only regular files are (openat2(2)). No more is read of
/// one than it was long when it was listed.
///
/// Of what is copied nothing stays in the page cache, and no more than some megabytes wait to be written, so that a player's own reading is not
/// held up. Free of Foundation; blocks for as long as the file systems do.
package struct FolderCopy: Hashable, Sendable {
    package struct File: Hashable, Sendable {
        /// Below the folder.
        package var path: String
        package var size: Int64
        /// In nanoseconds since 1970.
        package var modified: Int64

        /// Whether it lies beside what is played, and is not played itself.
        var isSubtitles: Bool {
            path.lastIndex(of: ".").map { FileExtensions.subtitles.contains(path[path.index(after: $0)...].lowercased()) } ?? false
        }
    }

    /// The folder, absolute.
    package let root: String
    package let files: [File]

    /// How much it is, in bytes; at most what 64 bits hold.
    package var bytes: Int64 {
        files.reduce(0) { sum, file in
            let (more, isTooMuch) = sum.addingReportingOverflow(max(file.size, 0))
            return isTooMuch ? .max : more
        }
    }

    /// Why there is no room for it where so many bytes are free, and `reserve` are to stay so; nil where there is.
    package func refusal(free: Int64, reserve: Int64) -> FolderCopyError? {
        let room = max(free - reserve, 0)
        guard bytes > room else { return nil }
        return FolderCopyError(description: "\(bytes >> 20) MB do not fit into \(room >> 20) MB: delete files here, or there")
    }

    /// A folder on another file system than that which it lies in, and the number of that.
    struct Mount: Hashable {
        var path: String
        var device: UInt64
    }

    /// What is mounted in a folder.
    static func mounts(in folder: String) -> Set<Mount> {
        guard let here = stat(at: folder) else { return [] }
        let mounts = Folder.entries(in: folder).filter { !$0.name.hasPrefix(".") && $0.status.st_dev != here.st_dev }
        return Set(mounts.map { Mount(path: folder + "/" + $0.name, device: UInt64($0.status.st_dev)) })
    }

    // MARK: Copying

    /// A file that was left out, below the folder, and why.
    package struct LeftOut: Hashable, Sendable {
        package var file: File
        package var problem: String
    }

    /// Copies everything into a folder beside `folder`, and puts it in its place in one step. Blocks.
    ///
    /// - Parameters:
    ///   - reserve: how many bytes are left free.
    ///   - check: is told the path of each copy, and says why it is of no use; nil where it is.
    ///   - progress: is told the percentage as it grows; false gives up.
    /// - Returns: what was of no use.
    /// - Throws: the stick was pulled out, or cannot be read; none of it is of use; the disk is full, or cannot be written to. `folder` is what it was.
    @discardableResult
    package func copy(
        to folder: String, reserve: Int64, check: (String) -> String? = { _ in nil }, progress: (Int) -> Bool
    ) throws(FolderCopyError) -> [LeftOut] {
        var leftOut: [LeftOut] = []
        guard let beneath = Descriptor(opening: root, O_RDONLY | O_DIRECTORY) else { throw failure("open", root) }
        let staging = folder + ".new"
        unsafe kiosk_remove_tree(staging)
        // Of the last time, where the power went in between.
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
                    if percent > told { told = min(percent, 100) } else { return progress(told) }
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
            // The room that was found for it is for no more.
            if size > file.size { throw hasChanged() }
            unsynced += count
            // What is played must not wait behind a long queue of writes, nor be pushed out of memory.
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

    // MARK: What was left out

    /// The hidden file of a copy that lists what was left out: path, size and time of each, with a zero byte behind each of them.
    private static let leftOutList = ".left-out"

    private func note(_ leftOut: [LeftOut], in folder: String) throws(FolderCopyError) {
        if leftOut.isEmpty { return }
        let path = folder + "/" + Self.leftOutList
        let text = leftOut.map { "\($0.file.path)\0\($0.file.size)\0\($0.file.modified)\0" }.joined()
        if let problem = AtomicFile.write(path, text, mode: 0o644, isSynced: true) {
            throw FolderCopyError(description: "write \(path): \(problem)")
        }
    }

    /// What ``copy(to:reserve:check:progress:)`` has left out of the copy in `folder`.
    package static func leftOut(of folder: String) -> [File] {
        let parts = (SmallFile.text(folder + "/" + leftOutList, atMost: 4 << 20) ?? "").split(separator: "\0").map(String.init)
        return stride(from: 0, to: parts.count - 2, by: 3).compactMap { index in
            guard let size = Int64(parts[index + 1]), let modified = Int64(parts[index + 2]) else { return nil }
            return File(path: parts[index], size: size, modified: modified)
        }
    }

    // MARK: The file system

    private func replace(_ folder: String, by staging: String) throws(FolderCopyError) {
        // Not every file system has that.
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
