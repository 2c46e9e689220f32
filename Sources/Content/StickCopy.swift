import Glibc
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import Logging

/// Copies the content of USB sticks to the machine: `[playback] usb = "copy"`.
///
/// Its thread, `usb-copy`, checks the mounts in ``StickMounts/folder`` once a second. It copies the videos, sounds and images of a new
/// stick into a folder beside the current copies. Once all are synced to the disk, it exchanges the two folders atomically
/// (``FolderCopy``), and removes the old one. So the copies are always the whole content of one stick, except for files that fail a test
/// opening. A stick that is pulled out during the copy, does not fit, or has nothing playable, changes nothing. The copy runs at the lowest
/// priority.
package final class StickCopy: Sendable {
    /// An event to report.
    package enum News: Hashable, Sendable {
        /// The percentage of a stick that has been copied, 0…100; nil at the end.
        case progress(Int?)
        /// A line for the log: the copied files.
        case done(String)
        /// A line for the log: why a stick was not copied.
        case problem(String)
    }

    private let mounts: String, folder: String
    private let state = Monitor((isWanted: false, isStopping: false))
    private let check: @Sendable (String) -> String?
    private let tell: @Sendable (News) -> Void

    /// The bytes to leave free on the disk.
    static let reserve: Int64 = 64 << 20
    /// The interval of checks of the mounts.
    private static let interval = MediaTime.seconds(1)

    /// The folder of the service's own files, by systemd or by default.
    package static var stateFolder: String {
        guard let folder = environment("STATE_DIRECTORY"), folder.hasPrefix("/") else {
            return "/var/lib/kiosk"
        }
        return String(folder.prefix { $0 != ":" })
    }

    /// Copies sticks, but not before ``setWanted(_:)``. `check` opens a copy and returns why it cannot be played, or nil. Calls it and
    /// `tell` on the copying thread.
    package convenience init(check: @escaping @Sendable (String) -> String?, tell: @escaping @Sendable (News) -> Void) {
        self.init(mounts: StickMounts.folder, folder: StickUse.copies(state: Self.stateFolder), check: check, tell: tell)
    }

    init(
        mounts: String, folder: String, check: @escaping @Sendable (String) -> String? = { _ in nil },
        tell: @escaping @Sendable (News) -> Void
    ) {
        (self.mounts, self.folder, self.check, self.tell) = (mounts, folder, check, tell)
        Thread("usb-copy") { [self] in
            Thread.giveWay()
            var seen: Set<FolderCopy.Mount> = []
            while true {
                guard state.wait(until: nil, { $0.isStopping ? false : $0.isWanted ? true : nil }) == true else { return }
                let sticks = FolderCopy.mounts(in: mounts)
                for stick in sticks.subtracting(seen).sorted(by: { $0.path < $1.path }) where copy(stick) { seen.insert(stick) }
                seen.formIntersection(sticks)
                if state.wait(until: .now + Self.interval, { $0.isStopping ? true : nil }) == true { return }
            }
        }.detach()
    }

    /// Sets whether to copy sticks.
    package func setWanted(_ isWanted: Bool) { state.signal { $0.isWanted = isWanted } }

    /// Stops, and cancels a running copy. Does not wait.
    package func stop() { state.signal { $0.isStopping = true } }

    private var isGivenUp: Bool { state.withLock { $0.isStopping || !$0.isWanted } }

    // MARK: Sticks

    /// Copies a stick; returns false if a retry makes sense.
    private func copy(_ stick: FolderCopy.Mount) -> Bool {
        let found = FolderCopy.listing(of: stick.path)
        let plan = FolderCopy(of: stick.path, found)
        for problem in found.problems where !problem.hasSuffix(SourceExpansion.nothing) { tell(.problem("USB stick: \(problem)")) }
        if plan.files.isEmpty {
            tell(.problem("USB stick: no video, sound or image file on it; playback goes on as before"))
            return true
        }
        if plan.isAlready(in: folder) {
            tell(.done("USB stick: all of it is on this box already"))
            return true
        }
        tell(.progress(0))
        defer { tell(.progress(nil)) }
        do throws(FolderCopyError) {
            let leftOut = try plan.copy(to: folder, reserve: Self.reserve, check: check) { [self] percent in
                tell(.progress(percent))
                return !isGivenUp
            }
            // A stick full of unplayable files must not fill the log.
            for file in leftOut.prefix(10) { tell(.problem("USB stick: \(file.file.path) is left out: \(file.problem)")) }
            if leftOut.count > 10 { tell(.problem("USB stick: \(leftOut.count - 10) more files are left out")) }
            let bad = Set(leftOut.map(\.file))
            let copied = FolderCopy(root: plan.root, files: plan.files.filter { !bad.contains($0) })
            tell(
                .done(
                    "USB stick: \(copied.files.count == 1 ? "1 file" : "\(copied.files.count) files") (\(ByteCount(copied.bytes))) copied; kiosk plays the "
                        + "copy from now on: you can pull it out"))
        } catch {
            if isGivenUp { return false }
            tell(.problem("USB stick: \(error); playback goes on as before"))
        }
        return true
    }
}

extension FolderCopy {
    /// Returns the videos, sounds and images below `root`, in natural order.
    static func listing(of root: String) -> SourceExpansion {
        PlaylistSource(root + "/", relativeTo: "/").expand(isRecursive: true, followsLinks: false)
    }

    /// Makes a copy of the files in a listing, and their subtitles.
    init(of root: String, _ found: SourceExpansion? = nil) {
        let files = (found ?? Self.listing(of: root)).sources.compactMap { file -> File? in
            guard let version = file.version, file.path.lies(beneath: Path(root)) else { return nil }
            return File(
                path: String(decoding: file.source.utf8.dropFirst(root.utf8.count + 1), as: UTF8.self), size: version.size,
                modified: version.modified)
        }
        self.init(root: root, files: files + Self.subtitles(of: files, in: root))
    }

    private static func subtitles(of clips: [File], in root: String) -> [File] {
        // Grouped by folder, with a final slash; the root is empty.
        let clips = Dictionary(grouping: clips.map(\.path)) { path in
            path[..<(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)]
        }
        var files: [File] = []
        for (folder, clips) in clips.sorted(by: { $0.key < $1.key }) {
            // Links are not followed.
            guard let open = Folder(root + "/" + folder, followsLinks: false) else { continue }
            let names = open.read().compactMap(\.name).filter { !PlaylistSource.isHidden($0) }
            let beside = FileExtensions.subtitles(in: names, beside: clips.map { $0.dropFirst(folder.count) })
            for name in beside.sorted() {
                guard let status = open.status(name, followsLinks: false), status.isFile else { continue }
                let version = FileVersion(status)
                files.append(File(path: folder + name, size: version.size, modified: version.modified))
            }
        }
        return files
    }

    /// Whether `folder` has the same files, or has left them out. FAT's times have a resolution of two seconds.
    func isAlready(in folder: String) -> Bool {
        func key(_ file: File) -> File { File(path: file.path, size: file.size, modified: file.modified / 2_000_000_000) }
        return Set((FolderCopy(of: folder).files + Self.leftOut(of: folder)).map(key)) == Set(files.map(key))
    }
}
