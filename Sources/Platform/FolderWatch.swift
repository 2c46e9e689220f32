import CKioskPlatform
import Glibc
import Synchronization

/// Reports changes in folders as they happen: inotify(7), and mounts.
///
/// ``watch(_:)`` watches the folder that is at the path at that time. If another folder takes its place, or one is mounted over it, that is
/// a change, and the caller must watch the path again. A call for a folder that is already watched costs two system calls. ``keep(_:)``
/// drops watches.
///
/// The kernel reports only the changes made on this machine. File systems that others can change (NFS, SMB, FUSE, 9p) need polling:
/// ``Coverage/partial``.
package final class FolderWatch: Sendable {
    /// A change in a folder.
    package struct Change: Hashable, Sendable {
        /// The kind of a change.
        package enum Kind: Hashable, Sendable {
            /// A file or folder has appeared; it may still be written.
            case appeared
            /// A file is being written.
            case written
            /// A file is complete: its writer has closed it, or it was moved here.
            case completed
            /// Dates or permissions have changed.
            case touched
            /// A file or folder is gone.
            case gone
            /// Anything may have changed: the folder itself has gone, or the kernel has dropped events.
            case anything
            /// Something was mounted or unmounted somewhere.
            case mounts
        }
        /// The path given to ``FolderWatch/watch(_:)``; empty if the change concerns no single folder.
        package var folder: Path
        /// The name in the folder; nil for the folder itself, and for a name that is not UTF-8.
        package var name: Path?
        /// Whether the name is a folder.
        package var isFolder: Bool
        package var kind: Kind

        /// A change of `name` in `folder`.
        package init(_ kind: Kind, folder: Path = "", name: Path? = nil, isFolder: Bool = false) {
            (self.kind, self.folder, self.name, self.isFolder) = (kind, folder, name, isFolder)
        }
    }

    /// How many of a folder's changes the kernel reports.
    package enum Coverage: Hashable, Sendable {
        /// All of them.
        case full
        /// At most those made on this machine; the rest needs polling.
        case partial
        /// None: there is no such folder, or it is unreadable.
        case none
    }

    private let events: Descriptor
    private var descriptor: Int32 { events.raw }
    private let wakeUp = WakeUp()
    /// The kernel's watch number for each path. Paths to the same folder share a number.
    private let numbers = Mutex<[Path: Int32]>([:])
    private let isStopping = Atomic(false)
    private let lack = Mutex<Lack?>(nil)
    /// The resource that the system lacked at the start.
    private let lackAtStart: Lack?

    /// A resource that the system lacks, so that changes need polling.
    package enum Lack: Hashable, Sendable {
        /// Watches or instances of inotify (`fs.inotify.max_user_watches` and `max_user_instances`).
        case watches
        /// File descriptors of this process (`RLIMIT_NOFILE`).
        case descriptors
    }

    /// How long to collect changes, in microseconds: one report for a file that is being written, not one for each write.
    private static let pause: UInt32 = 50_000
    /// The most reads at a time: the kernel queues 16384 events, and a read takes at least a thousand if there are that many.
    private static let mostReads = 16
    private static let mask =
        UInt32(IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)
        | UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

    /// Makes a watch without folders. If the system has no inotify instance left, every folder's coverage is partial.
    package init() {
        events = Descriptor(inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)))
        // The error is EMFILE in both cases: without descriptors, and without instances.
        lackAtStart = events.raw >= 0 ? nil : Descriptor(opening: "/dev/null") == nil ? .descriptors : .watches
    }

    /// Starts to watch a folder. `isNew` means that it was not watched before, so earlier changes are not reported. Blocks for as long as
    /// its file system does. The corresponding C function is `inotify_add_watch`.
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

    /// Watches `path`, or the nearest existing folder above it, where the missing one will appear.
    ///
    /// - Parameter missing: called for each folder that is watched instead, with the name in it that is missing or unreadable.
    /// - Returns: whether the kernel reports only some of the changes there, and whether a watch is new.
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

    /// Drops all watches except those of `paths`.
    package func keep(_ paths: Set<Path>) {
        let left = numbers.withLock { numbers -> Set<Int32> in
            let gone = numbers.filter { !paths.contains($0.key) }
            for path in gone.keys { numbers[path] = nil }
            return Set(gone.values).subtracting(numbers.values)
        }
        for number in left { inotify_rm_watch(descriptor, number) }
    }

    /// The resource that was lacking when a folder had to be watched; nil if none was.
    package var lacks: Lack? { lack.withLock { $0 } }

    /// The number of watched folders.
    package var count: Int { numbers.withLock { Set($0.values).count } }

    /// Starts reporting; calls `tell` on a thread of its own. Call once.
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
                    // A program that writes without end is reported in parts.
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

    /// Stops reporting soon.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        wakeUp.wake()
    }

    /// Parses the kernel's events.
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

    /// Returns whether the file system of a file gives new inode numbers at each mount, and after it has dropped an inode from its cache.
    /// FAT and exFAT, usual on sticks, take the kernel's next number (iunique).
    package static func numbersAnew(_ path: String) -> Bool { [0x4D44, 0x2011_BAB0].contains(kiosk_file_system(path)) }

    /// Returns whether a file system of this kind (linux/magic.h) has writers other than this kernel.
    private static func isShared(_ magic: UInt32) -> Bool {
        // NFS, SMB, CIFS, SMB2, FUSE, 9p, Ceph, AFS, OCFS2, GFS2, VirtualBox.
        let shared: [UInt32] = [
            0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x0102_1997, 0x00C3_6400, 0x5346_414F, 0x7461_636F, 0x0116_1970,
            0x786F_4256,
        ]
        return shared.contains(magic)
    }
}
