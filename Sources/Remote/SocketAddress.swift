import Glibc
import KioskPlatform

/// A path as the address of a Unix socket.
struct SocketAddress {
    private var address = sockaddr_un()

    /// nil where the path is longer than an address can be (107 bytes).
    init?(_ path: String) {
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8CString)
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path), !path.isEmpty else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { place in bytes.withUnsafeBytes { place.copyMemory(from: $0) } }
    }

    /// Calls `body` with the address as bind(2) and connect(2) take it.
    mutating func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
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
