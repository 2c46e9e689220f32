import Glibc
import KioskPlatform

/// The identity of a file's contents: its place and the time of its last change. A file that is rewritten, or replaced by another of its
/// name, has another version.
package struct FileVersion: Hashable, Sendable {
    /// The number of the file system, from stat(2).
    package var device: UInt64
    /// The number of the file on it.
    package var inode: UInt64
    /// The size in bytes.
    package var size: Int64
    /// The time of the last change, in nanoseconds of the file system's own clock, since 1970.
    package var modified: Int64

    package init(_ status: stat) {
        self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size), modified: status.modified)
    }

    package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64) {
        (self.device, self.inode, self.size, self.modified) = (device, inode, size, modified)
    }
}
