import Glibc

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
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var result: [Node] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard name.hasPrefix("event") else { continue }
            var status = stat()
            guard stat("\(path)/\(name)", &status) == 0 else { continue }
            let changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
            result.append(Node(path: "\(path)/\(name)", inode: UInt(status.st_ino), changed: changed))
        }
        return result.sorted { $0.number < $1.number }
    }
}
