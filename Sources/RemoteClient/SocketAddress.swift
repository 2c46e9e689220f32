import Glibc
import KioskPlatform

/// The address of a Unix socket.
package struct SocketAddress {
    private var address = sockaddr_un()
    private var length = socklen_t(MemoryLayout<sockaddr_un>.size)

    /// Makes an address; nil if the path is empty or longer than 107 bytes. An `isAbstract` name has a zero byte instead of its `@`, and no
    /// terminating zero.
    package init?(_ path: String, isAbstract: Bool = false) {
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
    package mutating func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        let length = length
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

extension Descriptor {
    /// Accepts the next connection, non-blocking and close-on-exec; nil if there is none. The corresponding C function is `accept`.
    package init?(accepting listener: Int32) {
        let raw = accept(listener, nil, nil)
        if raw < 0 {
            // Without free descriptors the client stays queued, and poll(2) would return at once; it does so for a closed listener, too.
            if [EMFILE, ENFILE, EINVAL].contains(errno) { usleep(100_000) }
            return nil
        }
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        _ = fcntl(raw, F_SETFL, O_NONBLOCK)
        self.init(raw)
    }
}

/// The failure of a control socket, with advice.
package struct ControlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line.
    package let description: String

    package init(_ description: String) { self.description = description }
    /// Makes an error of an action and the C error number.
    package init(_ action: String, code: Int32) { description = "\(action): \(SystemError(code))" }
}
