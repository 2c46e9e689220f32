import Glibc
import KioskPlatform

/// One content of a file: where it lies and when it was written. A file that is written anew, or replaced by another under its name, has
/// another version.
package struct FileVersion: Hashable, Sendable {
    /// Of the file system, as stat(2) tells it.
    package var device: UInt64
    /// On it.
    package var inode: UInt64
    /// In bytes.
    package var size: Int64
    /// When it was written last, in nanoseconds of the file system's own clock, since 1970.
    package var modified: Int64

    package init(_ status: stat) {
        self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size), modified: status.modified)
    }

    package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64) {
        (self.device, self.inode, self.size, self.modified) = (device, inode, size, modified)
    }
}
