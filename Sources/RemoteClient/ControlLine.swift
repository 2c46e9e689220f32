import CKioskPlatform
import Glibc
import KioskPlatform

/// A connection to a running player's control socket. One thread at a time may use it; any thread may end it.
package final class ControlLine: Sendable {
    private let path: String
    private let socket: SharedDescriptor
    private let received = Monitor(Received())

    private struct Received {
        var lines = LineBuffer(longest: ControlLine.longestAnswer)
        var complete: [String] = []
        var attachment: SharedDescriptor?
    }

    /// The longest answer: a list of ten thousand items takes some megabytes.
    private static let longestAnswer = 64 << 20

    private init(_ path: String, _ socket: SharedDescriptor) { (self.path, self.socket) = (path, socket) }

    /// Connects to the player that listens at `path`.
    ///
    /// - Throws: ``ControlError`` if nobody listens.
    package static func open(_ path: String) throws(ControlError) -> ControlLine {
        ControlLine(path, SharedDescriptor(try connection(to: path)))
    }

    /// Ends the connection; a thread that waits for a line gets an error.
    package func end() { shutdown(socket.raw, Int32(SHUT_RDWR)) }

    /// Whether the player has neither closed the connection nor sent anything unasked.
    package var isOpen: Bool {
        var entry = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 0
    }

    /// Sends a request, and returns the answer and its attachment.
    ///
    /// - Throws: ``ControlError`` if no answer comes until `deadline`; the connection is useless then.
    package func ask(_ line: String, until deadline: HostTime) throws(ControlError) -> (line: String, attachment: [UInt8]?) {
        try send(line)
        let answer = try next(until: deadline)
        guard let attachment = received.withLock({ $0.attachment.take() }) else { return (answer, nil) }
        return (answer, try Self.contents(of: attachment))
    }

    /// Sends a line. Blocks until the player has taken it.
    ///
    /// - Throws: ``ControlError`` if the player has gone.
    package func send(_ line: String) throws(ControlError) {
        let request = Array((line + "\n").utf8)
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes { kiosk_send(socket.raw, $0.baseAddress!, $0.count, -1) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw ControlError("ask the player at \(path)", code: errno) }
            sent += count
        }
    }

    /// Returns the next received line. Blocks, until `deadline` if there is one.
    ///
    /// - Throws: ``ControlError`` if none comes.
    package func next(until deadline: HostTime?) throws(ControlError) -> String {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let line = received.withLock { $0.complete.isEmpty ? nil : $0.complete.removeFirst() }
            if let line { return line }
            var entry = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
            let left = deadline.map { Int32(clamping: max(0, ($0 - .now).nanoseconds / 1_000_000)) } ?? -1
            let isReady = poll(&entry, 1, left)
            if isReady < 0, errno == EINTR { continue }
            guard left != 0, isReady > 0 else { throw ControlError("the player at \(path) does not answer") }
            var descriptor: Int32 = -1
            let count = buffer.withUnsafeMutableBytes { kiosk_receive(socket.raw, $0.baseAddress!, $0.count, &descriptor) }
            let attachment = descriptor >= 0 ? SharedDescriptor(Descriptor(descriptor)) : nil
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw ControlError("the player at \(path) has closed the connection") }
            let piece = buffer.prefix(count)
            let isOverlong = received.withLock { received in
                if let attachment { received.attachment = attachment }
                received.complete += received.lines.append(piece)
                return received.lines.isOverlong
            }
            if isOverlong { throw ControlError("\(path): not a kiosk socket: its line has no end") }
        }
    }

    private static func connection(to path: String) throws(ControlError) -> Descriptor {
        guard var address = SocketAddress(path) else { throw ControlError("\(path): a socket's path has 1 to 107 bytes") }
        guard let connection = Descriptor(socket: AF_UNIX, SOCK_STREAM, isBlocking: true) else {
            throw ControlError("make a socket", code: errno)
        }
        guard address.withPointer({ connect(connection.raw, $0, $1) }) == 0 else {
            switch errno {
            case ENOENT, ECONNREFUSED, ENOTDIR:
                throw ControlError(
                    "no player listens at \(path): if one runs, its log has the reason; or name its socket ([control] socket) with --socket"
                )
            case EACCES:
                throw ControlError("\(path): permission denied: run this as root, or as a user of the group that the player runs as")
            default: throw ControlError("connect to \(path)", code: errno)
            }
        }
        return connection
    }

    /// Returns the content of a file in memory.
    private static func contents(of file: SharedDescriptor) throws(ControlError) -> [UInt8] {
        defer { withExtendedLifetime(file) {} }
        var status = stat()
        guard fstat(file.raw, &status) == 0, status.isFile, 0...(256 << 20) ~= status.st_size else {
            throw ControlError("the descriptor of the answer is not a picture")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var place = 0
        while place < bytes.count {
            let count = bytes[place...].withUnsafeMutableBytes { pread(file.raw, $0.baseAddress, $0.count, place) }
            guard count > 0 else { throw ControlError("read the picture", code: errno) }
            place += count
        }
        return bytes
    }
}
