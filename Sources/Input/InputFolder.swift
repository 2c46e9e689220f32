import Glibc
import KioskPlatform

/// The evdev nodes of /dev/input, looked at again and again.
enum InputFolder {
    static let path = "/dev/input"

    /// A node at a moment: another device, or other permissions, make another node of the same path.
    struct Node: Hashable {
        var path: String
        var inode: UInt
        var changed: Int64

        /// The number in `event7`, by which nodes are sorted.
        var number: Int { Int(path.drop { !$0.isNumber }) ?? 0 }
    }

    /// The nodes there are now; none where there is no such folder.
    static func nodes() -> [Node] {
        Folder.entries(in: path).filter { $0.name.hasPrefix("event") }.map { name, status in
            Node(path: "\(path)/\(name)", inode: UInt(status.st_ino), changed: HostTime(status.st_ctim).nanoseconds)
        }.sorted { $0.number < $1.number }
    }
}
