import Foundation
import Glibc
import TestSupport

/// A stream to one of the machine's sockets (listed in `Tests/Machine/boot`). Every wait has a limit. One thread at a time.
final class UnixSocket {
    private let descriptor: Int32
    private let path: String
    private var received: [UInt8] = []

    /// Connects to the listening socket at `path`.
    init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { field in
            guard path.utf8.count < field.count else { return false }
            field.copyBytes(from: Array(path.utf8))
            return true
        }
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard fits, connected == 0 else {
            let reason = fits ? String(cString: strerror(errno)) : "longer than a socket's name can be"
            close(descriptor)
            throw MachineError("connect to \(path): \(reason)")
        }
    }

    deinit { close(descriptor) }

    func write(_ bytes: some Collection<UInt8>) throws {
        var rest = ArraySlice(Array(bytes))
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw MachineError("write to \(path): \(String(cString: strerror(errno)))") }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the next `count` bytes.
    func read(_ count: Int, within seconds: Double) throws -> [UInt8] {
        let end = Date.steady + seconds
        while received.count < count { try receive(until: end) }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// Returns the bytes up to the next `delimiter`, which is consumed but not returned.
    func read(to delimiter: UInt8 = UInt8(ascii: "\n"), within seconds: Double) throws -> [UInt8] {
        let end = Date.steady + seconds
        var searched = 0
        while true {
            if let index = received[searched...].firstIndex(of: delimiter) {
                defer { received.removeFirst(index + 1) }
                return Array(received[..<index])
            }
            searched = received.count
            try receive(until: end)
        }
    }

    private func receive(until end: Date) throws {
        let left = end.timeIntervalSince(.steady)
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let count = left > 0 ? poll(&wanted, 1, Int32(left * 1000) + 1) : 0
        if count < 0, errno == EINTR { return }
        guard count > 0 else { throw MachineError("read from \(path): no answer in time") }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let length = recv(descriptor, &buffer, buffer.count, 0)
        guard length > 0 else { throw MachineError("read from \(path): \(length == 0 ? "closed" : String(cString: strerror(errno)))") }
        received += buffer[..<length]
    }
}

/// An action that the machine did not perform, and the reason.
struct MachineError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
