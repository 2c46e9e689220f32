import Configuration
import Glibc
import KioskPlatform
import KioskVocabulary
import Logging

/// Copies what a USB stick brings to the box: `[playback] usb = "copy"`.
///
/// A thread of its own, `usb-copy`, looks once a second what is mounted in ``StickMounts/folder``, and copies the videos, sounds and images of a
/// stick that it has not seen into a folder beside the present copies. When all of them are there, and on the disk, the two folders change
/// places in one step (``FolderCopy``), and the old one is removed. So what is played is always one stick's whole content, but for files that
/// cannot be opened: each copy is, once. A stick that is pulled out while it is copied, one that does not fit, and one on which nothing can be
/// played change nothing. Reading and writing give way to everything else.
package final class StickCopy: Sendable {
    /// What to tell.
    package enum News: Hashable, Sendable {
        /// So much of a stick has been copied, 0…100; nil when that has ended.
        case progress(Int?)
        /// A line for the log: what has been copied.
        case done(String)
        /// A line for the log: why a stick was not copied.
        case problem(String)
    }

    private let mounts: String, folder: String
    private let state = Monitor((isWanted: false, isStopping: false))
    private let check: @Sendable (String) -> String?
    private let tell: @Sendable (News) -> Void

    /// What the disk is left with.
    static let reserve: Int64 = 64 << 20
    /// How often the mounts are looked at.
    private static let interval = MediaTime.seconds(1)

    /// The folder of the service's own files: what systemd says, or where it would be.
    package static var stateFolder: String {
        guard let folder = environment("STATE_DIRECTORY"), folder.hasPrefix("/") else {
            return "/var/lib/kiosk"
        }
        return String(folder.prefix { $0 != ":" })
    }

    /// Copies sticks, not before ``setWanted(_:)``. `check` opens a copy and says why it cannot be played, nil where it can; it and `tell` are
    /// called on the thread that copies.
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

    /// Whether sticks are copied.
    package func setWanted(_ isWanted: Bool) { state.signal { $0.isWanted = isWanted } }

    /// Copies no more; what is being copied is given up. Waits for nothing.
    package func stop() { state.signal { $0.isStopping = true } }

    private var isGivenUp: Bool { state.withLock { $0.isStopping || !$0.isWanted } }

    // MARK: Sticks

    /// Copies a stick; false where it is to be tried again.
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
            // A stick of rubbish does not fill the log.
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
    /// The videos, sounds and images below `root` now, in natural order.
    static func listing(of root: String) -> SourceExpansion {
        PlaylistSource(root + "/", relativeTo: "/").expand(isRecursive: true, followsLinks: false)
    }

    /// What a listing has found, and the subtitles beside that.
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
        // By their folders, which end with a slash; that of the root is empty.
        let clips = Dictionary(grouping: clips.map(\.path)) { path in
            path[..<(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)]
        }
        var files: [File] = []
        for (folder, clips) in clips.sorted(by: { $0.key < $1.key }) {
            // Links lead elsewhere.
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

    /// Whether `folder` holds the same files, or has left them out. FAT's times are of two seconds.
    func isAlready(in folder: String) -> Bool {
        func key(_ file: File) -> File { File(path: file.path, size: file.size, modified: file.modified / 2_000_000_000) }
        return Set((FolderCopy(of: folder).files + Self.leftOut(of: folder)).map(key)) == Set(files.map(key))
    }
}
