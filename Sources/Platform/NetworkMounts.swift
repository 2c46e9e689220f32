import Glibc

/// The network file systems that are mounted, from the kernel's list (proc_mounts(5)): asking that touches no server, while statfs(2) of a share
/// whose server is gone does not return.
package struct NetworkMounts {
    private var mounts: [(path: String, isNetwork: Bool)] = []

    /// Those of now.
    package init() { self.init(SmallFile.text("/proc/self/mounts", atMost: 1 << 20) ?? "") }

    /// Those of a list of the kernel's.
    init(_ text: String) {
        for fields in text.split(separator: "\n").map({ $0.split(separator: " ") }) where fields.count > 2 {
            // Of the octal escapes a space's is the only one that people make.
            let path = fields[1].split(separator: "\\040", omittingEmptySubsequences: false).joined(separator: " ")
            mounts.append((path, Self.isNetwork(fields[2])))
        }
    }

    private static func isNetwork(_ type: Substring) -> Bool {
        ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "fuse"].contains(type) || type.hasPrefix("fuse.")
    }

    /// Where the network file system is mounted on which the file at `path` lies, an absolute path without links; nil where it lies on a disk.
    package func mount(of path: String) -> String? {
        // What was mounted later lies over what was before.
        var found: (path: String, isNetwork: Bool)?
        for mount in mounts where Path(path).lies(beneath: Path(mount.path)) {
            if mount.path.utf8.count >= found?.path.utf8.count ?? 0 { found = mount }
        }
        return found.flatMap { $0.isNetwork ? $0.path : nil }
    }
}
