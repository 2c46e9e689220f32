import Glibc

/// Reads small files, above all those of /proc and /sys.
package enum SmallFile {
    /// Returns the first `limit` bytes of a file as text; nil if it is unreadable.
    package static func text(_ path: String, atMost limit: Int = 4096) -> String? {
        bytes(path, atMost: limit).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the first `limit` bytes of a file; nil if it is unreadable.
    package static func bytes(_ path: String, atMost limit: Int = 4096) -> [UInt8]? { Descriptor(opening: path)?.read(atMost: limit) }

    /// Returns the first word of a file; nil if there is none.
    package static func word(_ path: String) -> String? { text(path)?.split { $0.isWhitespace }.first.map(String.init) }

    /// Returns the target of a symbolic link, at most 4096 bytes; nil if there is none.
    package static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(PATH_MAX)) { buffer in
            let count = buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
    }
}
