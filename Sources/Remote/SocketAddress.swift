import Glibc
import KioskPlatform

/// A path as the address of a Unix socket.
struct SocketAddress {
    private var address = sockaddr_un()
    private var length = socklen_t(MemoryLayout<sockaddr_un>.size)

    /// nil where the path is longer than an address can be (107 bytes). A name that is `abstract` begins with a zero byte instead of its `@`, and is as
    /// long as it is.
    init?(_ path: String, isAbstract: Bool = false) {
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.isEmpty else { return nil }
        if isAbstract {
            bytes[0] = 0
            length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    }

    /// Calls `body` with the address as bind(2) and connect(2) take it.
    mutating func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        let length = length
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

extension Descriptor {
    /// The next connection to a listener, non-blocking and close-on-exec; nil where there is none. The corresponding C function is `accept`.
    init?(accepting listener: Int32) {
        let raw = accept(listener, nil, nil)
        if raw < 0 {
            // Without descriptors the client stays in the queue, and poll(2) would say so at once; at its end a listener says so, too.
            if [EMFILE, ENFILE, EINVAL].contains(errno) { usleep(100_000) }
            return nil
        }
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        _ = fcntl(raw, F_SETFL, O_NONBLOCK)
        self.init(raw)
    }
}

/// What went wrong with a control socket, and what to do.
package struct ControlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line.
    package let description: String

    init(_ description: String) { self.description = description }
    /// What was being done to what, and the C error number.
    package init(_ action: String, code: Int32) { description = "\(action): \(SystemError(code))" }
}
