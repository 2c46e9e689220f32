import CKioskPlatform
import Glibc
import Synchronization

/// Tells what changes in folders, while it changes: inotify(7), and mounts.
///
/// A folder is watched by what lies at its path when ``watch(_:)`` is called. Where another folder takes its place, or one is mounted over
/// it, that is told as a change, and the path is to be watched again: a call for a folder that is watched costs two system calls. What is
/// not wanted any more is dropped by ``keep(_:)``.
///
/// The kernel tells what happens on this machine only. On file systems whose files others can change (NFS, SMB, FUSE, 9p) one has to look
/// again and again: ``Coverage/partial``.
package final class FolderWatch: Sendable {
    /// Something has changed.
    package struct Change: Hashable, Sendable {
        /// What it was.
        package enum Kind: Hashable, Sendable {
            /// Something has appeared, which may still be written.
            case appeared
            /// Somebody writes into a file.
            case written
            /// A file is complete: who wrote it has closed it, or it was moved here.
            case completed
            /// Dates or rights have changed.
            case touched
            /// Something is gone.
            case gone
            /// Anything may have changed: the folder itself has gone, or the kernel has dropped events.
            case anything
            /// Something was mounted or unmounted somewhere.
            case mounts
        }
        /// The path given to ``FolderWatch/watch(_:)``; empty where it is no single folder's.
        package var folder: Path
        /// In the folder; nil for the folder itself, and for a name that is not UTF-8.
        package var name: Path?
        /// Whether that is a folder.
        package var isFolder: Bool
        package var kind: Kind

        /// A change of `name` in `folder`.
        package init(_ kind: Kind, folder: Path = "", name: Path? = nil, isFolder: Bool = false) {
            (self.kind, self.folder, self.name, self.isFolder) = (kind, folder, name, isFolder)
        }
    }

    /// How far changes of a folder are told.
    package enum Coverage: Hashable, Sendable {
        /// All of them.
        case full
        /// Those made on this machine at most: others have to be looked for.
        case partial
        /// There is no such folder, or it may not be read.
        case none
    }

    private let events: Descriptor
    private var descriptor: Int32 { events.raw }
    private let wakeUp = WakeUp()
    /// The kernel's number of each path. Paths that lead to one folder have one.
    private let numbers = Mutex<[Path: Int32]>([:])
    private let isStopping = Atomic(false)
    private let lack = Mutex<Lack?>(nil)
    /// What the system had no more of when this was made.
    private let lackAtStart: Lack?

    /// What the system has no more of, so that changes have to be looked for.
    package enum Lack: Hashable, Sendable {
        /// Watches or instances of inotify (`fs.inotify.max_user_watches` and `max_user_instances`).
        case watches
        /// File descriptors of this process (`RLIMIT_NOFILE`).
        case descriptors
    }

    /// How long changes are collected, so that a file that is written is told once and not at each write.
    private static let pause: UInt32 = 50_000
    /// The kernel keeps 16384 events, of which a read takes a thousand at least where there are so many.
    private static let mostReads = 16
    private static let mask =
        UInt32(IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)
        | UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

    /// Watches nothing yet. Where the system has no inotify left every folder's coverage is partial.
    package init() {
        events = Descriptor(inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)))
        // Without descriptors and without instances left the error is the same, EMFILE.
        lackAtStart = events.raw >= 0 ? nil : Descriptor(opening: "/dev/null") == nil ? .descriptors : .watches
    }

    /// Begins to watch a folder; `isNew` where it was not watched before: what has changed there until now is not told. Blocks for as long
    /// as its file system does. The corresponding C function is `inotify_add_watch`.
    package func watch(_ path: Path) -> (coverage: Coverage, isNew: Bool) {
        let kind = kiosk_file_system(path.string)
        guard kind >= 0 else { return (.none, false) }
        let number = descriptor < 0 ? -1 : inotify_add_watch(descriptor, path.string, Self.mask)
        if number < 0, descriptor < 0 || errno == ENOSPC || errno == ENOMEM {
            lack.withLock { $0 = lackAtStart ?? .watches }
            return (.partial, false)
        }
        guard number >= 0 else { return (.none, false) }
        let (before, isLeft) = numbers.withLock { numbers -> (Int32?, Bool) in
            let before = numbers.updateValue(number, forKey: path)
            return (before, before.map { $0 != number && !numbers.values.contains($0) } ?? false)
        }
        if let before, isLeft { inotify_rm_watch(descriptor, before) }
        return (Self.isShared(UInt32(truncatingIfNeeded: kind)) ? .partial : .full, before != number)
    }

    /// Watches what there is of `path`: where it is missing the nearest folder above it, since it appears there.
    ///
    /// - Parameter missing: told of each folder that is watched instead, and of the name in it that is missing or may not be read.
    /// - Returns: whether not all changes there are told, and whether something of it was not watched before.
    package func watchNearest(_ path: Path, missing: (_ folder: Path, _ name: Path) -> Void) -> (isPartial: Bool, isNew: Bool) {
        var (path, isPartial, isNew) = (path, false, false)
        while true {
            let (coverage, isNewHere) = watch(path)
            if coverage == .partial { isPartial = true }
            if isNewHere { isNew = true }
            guard coverage == .none, let parts = path.parts else { return (isPartial, isNew) }
            path = parts.folder
            missing(path, parts.name)
        }
    }

    /// Watches no others than these.
    package func keep(_ paths: Set<Path>) {
        let left = numbers.withLock { numbers -> Set<Int32> in
            let gone = numbers.filter { !paths.contains($0.key) }
            for path in gone.keys { numbers[path] = nil }
            return Set(gone.values).subtracting(numbers.values)
        }
        for number in left { inotify_rm_watch(descriptor, number) }
    }

    /// What the system had no more of when a folder was to be watched; nil where it had enough.
    package var lacks: Lack? { lack.withLock { $0 } }

    /// How many folders are watched.
    package var count: Int { numbers.withLock { Set($0.values).count } }

    /// Starts telling; `tell` is called on a thread of its own. Call once.
    package func start(_ tell: @escaping @Sendable ([Change]) -> Void) {
        Thread("watch") { [self] in
            let mounts = Descriptor(open("/proc/self/mounts", O_RDONLY | O_CLOEXEC))
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while !isStopping.load(ordering: .acquiring) {
                var descriptors = [
                    wakeUp.pollDescriptor, pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: mounts.raw, events: Int16(POLLPRI), revents: 0),
                ]
                wakeUp.wait(for: &descriptors, until: .now + .seconds(3600))
                if isStopping.load(ordering: .acquiring) { return }
                var changes: [Change] = []
                if descriptors[2].revents != 0 { changes.append(Change(.mounts)) }
                if descriptors[1].revents != 0 {
                    usleep(Self.pause)
                    // Somebody who writes without end is told of in parts.
                    for _ in 0..<Self.mostReads {
                        let count = read(descriptor, &buffer, buffer.count)
                        if count <= 0 { break }
                        changes += buffer.withUnsafeBytes { parse(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
                    }
                }
                if !changes.isEmpty { tell(changes) }
            }
        }.detach()
    }

    /// Tells no more, soon.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        wakeUp.wake()
    }

    /// What the kernel has written.
    private func parse(_ bytes: UnsafeRawBufferPointer) -> [Change] {
        var changes: [Change] = []
        var offset = 0
        let header = MemoryLayout<inotify_event>.size
        while offset + header <= bytes.count {
            let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let name = bytes[(offset + header)..<min(offset + header + Int(event.len), bytes.count)].prefix { $0 != 0 }
            offset += header + Int(event.len)
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
                changes.append(Change(.anything))
                continue
            }
            let paths = numbers.withLock { numbers -> [Path] in
                let paths = numbers.filter { $0.value == event.wd }.map(\.key)
                if event.mask & UInt32(IN_IGNORED) != 0 { for path in paths { numbers[path] = nil } }
                return paths
            }
            guard let kind = Self.kind(event.mask) else { continue }
            let text = name.isEmpty ? nil : String(validating: name, as: UTF8.self)
            for path in paths {
                changes.append(Change(kind, folder: path, name: text.map { Path($0) }, isFolder: event.mask & UInt32(IN_ISDIR) != 0))
            }
        }
        return changes
    }

    private static func kind(_ mask: UInt32) -> Change.Kind? {
        if mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED) != 0 { return .anything }
        if mask & UInt32(IN_CLOSE_WRITE | IN_MOVED_TO) != 0 { return .completed }
        if mask & UInt32(IN_MODIFY) != 0 { return .written }
        if mask & UInt32(IN_CREATE) != 0 { return .appeared }
        if mask & UInt32(IN_DELETE | IN_MOVED_FROM) != 0 { return .gone }
        return mask & UInt32(IN_ATTRIB) != 0 ? .touched : nil
    }

    /// Whether the file system of a file numbers its files anew at each mount, and when it has dropped one from its cache: FAT and exFAT, as sticks have them,
    /// hand out the next number of the kernel (iunique).
    package static func numbersAnew(_ path: String) -> Bool { [0x4D44, 0x2011_BAB0].contains(kiosk_file_system(path)) }

    /// Whether a file system of this kind (linux/magic.h) has other writers than this kernel.
    private static func isShared(_ magic: UInt32) -> Bool {
        // NFS, SMB, CIFS, SMB2, FUSE, 9p, Ceph, AFS, OCFS2, GFS2, VirtualBox.
        let shared: [UInt32] = [
            0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x0102_1997, 0x00C3_6400, 0x5346_414F, 0x7461_636F, 0x0116_1970,
            0x786F_4256,
        ]
        return shared.contains(magic)
    }
}
