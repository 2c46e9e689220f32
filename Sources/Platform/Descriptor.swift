import Glibc

/// Owns a file descriptor, and closes it when it goes; `errno` stays what it was then.
package struct Descriptor: ~Copyable, Sendable {
    /// Negative for none.
    package let raw: Int32

    /// Owns what a call has returned, also where that is no descriptor: then it is negative.
    package init(_ raw: Int32) { self.raw = raw }

    /// Owns what a call has returned; nil where it has failed, with `errno`.
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

    /// What it is a descriptor of. The corresponding C function is `fstat`.
    package var status: stat? {
        var status = stat()
        return fstat(raw, &status) == 0 ? status : nil
    }

    /// Reads on to the end, but no more than `limit` bytes; nil with `errno`. The corresponding C function is `read`.
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

    /// Whether nobody else has the lock of the file; it is this one's then, until it goes. The corresponding C function is `flock`.
    package func lock() -> Bool { flock(raw, LOCK_EX | LOCK_NB) == 0 }
}

/// A descriptor that several own: the last of them closes it.
package final class SharedDescriptor: Sendable {
    private let descriptor: Descriptor
    package var raw: Int32 { descriptor.raw }

    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}

/// An error number of the C library.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Int32

    package init(_ code: Int32 = errno) { self.code = code }

    /// In the C library's words. The corresponding C function is `strerror`.
    package var description: String { String(cString: strerror(code)) }
}

extension stat {
    /// What lies at `path`; nil with `errno`. The corresponding C functions are `stat` and `lstat`.
    package init?(at path: String, followsLinks: Bool = true) {
        self.init()
        if (followsLinks ? stat(path, &self) : lstat(path, &self)) != 0 { return nil }
    }

    /// Whether it is a regular file, a folder, a symbolic link.
    package var isFile: Bool { st_mode & S_IFMT == S_IFREG }
    package var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }

    /// When it was written last, in nanoseconds since 1970, modulo 2^64.
    package var modified: Int64 { HostTime(st_mtim).nanoseconds }
}

extension statvfs {
    /// The file system that `path` lies on; nil with `errno`. The corresponding C function is `statvfs`.
    package init?(at path: String) {
        self.init()
        if statvfs(path, &self) != 0 { return nil }
    }

    /// Bytes that this user can still write; at most what 64 bits hold.
    package var free: Int64 { bytes(f_bavail) }
    /// Bytes of all of it.
    package var size: Int64 { bytes(f_blocks) }

    private func bytes(_ blocks: fsblkcnt_t) -> Int64 {
        let (bytes, isTooMuch) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(f_frsize))
        return isTooMuch ? .max : Int64(clamping: bytes)
    }
}
