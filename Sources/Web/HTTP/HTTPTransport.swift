import Glibc
import KioskPlatform

/// The bytes of a connection.
protocol HTTPTransport: Sendable {
    /// The socket, for poll(2).
    var descriptor: Int32 { get }
    /// Reads some bytes; 0 at the end, negative after an error or at the deadline.
    func read(_ buffer: UnsafeMutableRawBufferPointer, until deadline: HostTime) -> Int
    /// Writes all bytes; false after an error, or if none of them could be written for `patience`.
    func write(_ bytes: UnsafeRawBufferPointer, patience: MediaTime) -> Bool
    /// Says that nothing more will be written.
    func end()
    /// Whether nobody on the way can read along.
    var isSecure: Bool { get }
}

extension SharedDescriptor {
    /// Waits until poll(2) reports an event; false at the deadline.
    func waits(for event: Int32, until deadline: HostTime) -> Bool {
        while true {
            let left = (deadline - .now).nanoseconds / 1_000_000
            if left <= 0 { return false }
            var entry = pollfd(fd: raw, events: Int16(event), revents: 0)
            let count = poll(&entry, 1, Int32(clamping: left + 1))
            if count > 0 { return true }
            if count < 0, errno != EINTR { return false }
        }
    }
}

/// A socket as it is.
final class PlainTransport: HTTPTransport {
    private let socket: SharedDescriptor
    var descriptor: Int32 { socket.raw }
    var isSecure: Bool { false }

    /// `socket` does not block.
    init(_ socket: SharedDescriptor) { self.socket = socket }

    func read(_ buffer: UnsafeMutableRawBufferPointer, until deadline: HostTime) -> Int {
        while true {
            let count = recv(socket.raw, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            guard errno == EAGAIN || errno == EINTR, socket.waits(for: POLLIN, until: deadline) else { return -1 }
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, patience: MediaTime) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = send(socket.raw, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            if count > 0 { sent += count }
            if count < 0 {
                guard errno == EAGAIN || errno == EINTR, socket.waits(for: POLLOUT, until: .now + patience) else { return false }
            }
        }
        return true
    }

    func end() { shutdown(socket.raw, Int32(SHUT_WR)) }
}

/// What a stream writes to.
struct HTTPWriter: Sendable {
    let transport: any HTTPTransport
    private static let patience = MediaTime.seconds(20)

    /// Writes a text; false if the client has gone or does not read.
    func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { transport.write(UnsafeRawBufferPointer($0), patience: Self.patience) }
    }

    /// Waits until somebody wakes `wakeUp`, or `deadline`; false once the client has gone.
    func wait(for wakeUp: WakeUp, until deadline: HostTime) -> Bool {
        var entries = [wakeUp.pollDescriptor, pollfd(fd: transport.descriptor, events: Int16(POLLIN), revents: 0)]
        wakeUp.wait(for: &entries, until: deadline)
        // A client of a stream has nothing more to say.
        return entries[1].revents == 0
    }
}
