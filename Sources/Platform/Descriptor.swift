import Glibc

/// Owns a file descriptor, and closes it at the end of its life without a change of `errno`.
package struct Descriptor: ~Copyable, Sendable {
    /// Negative for none.
    package let raw: Int32

    /// Takes over the result of a call, even if that is negative for an error.
    package init(_ raw: Int32) { self.raw = raw }

    /// Takes over the result of a call; nil if the call has failed, with `errno`.
    package init?(adopting raw: Int32) {
        if raw < 0 { return nil }
        self.init(raw)
    }

    /// Opens a file, close-on-exec; nil with `errno`. Blocks as the file system does. The corresponding C function is `open`.
    package init?(opening path: String, _ flags: Int32 = O_RDONLY, mode: mode_t = 0) {
        self.init(adopting: open(path, flags | O_CLOEXEC, mode))
    }

    /// Makes a socket, close-on-exec; nil with `errno`. The corresponding C function is `socket`.
    package init?(socket domain: Int32, _ type: __socket_type, isBlocking: Bool = false) {
        let flags = SOCK_CLOEXEC.rawValue | (isBlocking ? 0 : SOCK_NONBLOCK.rawValue)
        self.init(adopting: socket(domain, Int32(type.rawValue | flags), 0))
    }

    deinit {
        if raw < 0 { return }
        let code = errno
        close(raw)
        errno = code
    }

    /// The status of its file. The corresponding C function is `fstat`.
    package var status: stat? {
        var status = stat()
        return fstat(raw, &status) == 0 ? status : nil
    }

    /// Reads up to the end, but at most `limit` bytes; nil with `errno`. The corresponding C function is `read`.
    package func read(atMost limit: Int) -> [UInt8]? {
        var isRead = true
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while count < limit {
                let part = Glibc.read(raw, buffer.baseAddress! + count, limit - count)
                if part < 0, errno == EINTR { continue }
                if part <= 0 { return isRead = part == 0 }
                count += part
            }
        }
        return isRead ? bytes : nil
    }

    /// Writes all of `bytes`; false with `errno`. The corresponding C function is `write`.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var written = 0
        while written < bytes.count {
            let part = Glibc.write(raw, bytes.baseAddress! + written, bytes.count - written)
            if part < 0, errno == EINTR { continue }
            if part == 0 { errno = ENOSPC }
            if part <= 0 { return false }
            written += part
        }
        return true
    }

    /// Takes the exclusive lock of the file, until the descriptor is closed; false if it is taken. The corresponding C function is `flock`.
    package func lock() -> Bool { flock(raw, LOCK_EX | LOCK_NB) == 0 }
}

/// A descriptor with several owners: the last one closes it.
package final class SharedDescriptor: Sendable {
    private let descriptor: Descriptor
    package var raw: Int32 { descriptor.raw }

    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}

/// An error number of the C library.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Int32

    package init(_ code: Int32 = errno) { self.code = code }

    /// The C library's description. The corresponding C function is `strerror`.
    package var description: String { String(cString: strerror(code)) }
}

extension stat {
    /// Reads the status of `path`; nil with `errno`. The corresponding C functions are `stat` and `lstat`.
    package init?(at path: String, followsLinks: Bool = true) {
        self.init()
        if (followsLinks ? stat(path, &self) : lstat(path, &self)) != 0 { return nil }
    }

    /// Whether it is a regular file, a folder, or a symbolic link.
    package var isFile: Bool { st_mode & S_IFMT == S_IFREG }
    package var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }

    /// The time of the last write, in nanoseconds since 1970, modulo 2^64.
    package var modified: Int64 { HostTime(st_mtim).nanoseconds }
}

extension statvfs {
    /// Reads the file system of `path`; nil with `errno`. The corresponding C function is `statvfs`.
    package init?(at path: String) {
        self.init()
        if statvfs(path, &self) != 0 { return nil }
    }

    /// The bytes that this user can still write, clamped to 64 bits.
    package var free: Int64 { bytes(f_bavail) }
    /// All bytes of the file system.
    package var size: Int64 { bytes(f_blocks) }

    private func bytes(_ blocks: fsblkcnt_t) -> Int64 {
        let (bytes, isTooMuch) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(f_frsize))
        return isTooMuch ? .max : Int64(clamping: bytes)
    }
}
