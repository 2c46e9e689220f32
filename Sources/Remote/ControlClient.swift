import CKioskPlatform
import Glibc
import KioskCommands
import KioskPlatform

/// A client of a running player's control socket.
package enum ControlClient {
    /// How long to wait for an answer.
    private static let longestWait = MediaTime.seconds(10)

    /// Returns a PNG of the player's screen. Blocks for at most ten seconds.
    ///
    /// - Throws: ``ControlError`` if nobody listens, or the player refuses.
    package static func screenshot(_ path: String) throws(ControlError) -> [UInt8] {
        let (answer, attachment) = try reply(path, to: JSONValue.object(["command": .string("screenshot")]).line)
        guard answer["ok"] == .bool(true) else {
            throw ControlError("the player at \(path) gives no screenshot: \(answer["error"]?["message"]?.text ?? answer.line)")
        }
        guard let attachment else { throw ControlError("\(path): the answer came without a picture") }
        return attachment
    }

    /// Sends a request and returns the answer. Blocks for at most ten seconds.
    ///
    /// - Throws: ``ControlError`` if nobody listens, or no answer comes.
    package static func answer(_ path: String, to line: String) throws(ControlError) -> JSONValue { try reply(path, to: line).answer }

    private static func reply(_ path: String, to line: String) throws(ControlError) -> (answer: JSONValue, attachment: [UInt8]?) {
        let (line, attachment) = try ask(path, line)
        guard let answer = JSONValue(line), case .object = answer else {
            throw ControlError("\(path): not a kiosk socket: \(line.prefix(100))")
        }
        return (answer, attachment)
    }

    /// Sends a request, and calls `body` with every received line, the answer first, until it returns false or the player ends. Blocks.
    ///
    /// - Throws: as ``answer(_:to:)``.
    package static func watch(_ path: String, _ line: String, _ body: (String) -> Bool) throws(ControlError) {
        _ = try talk(path, line, body)
    }

    /// The longest answer: a list of ten thousand items takes some megabytes.
    private static let longestAnswer = 64 << 20

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

    private static func send(_ line: String, _ connection: borrowing Descriptor, _ path: String) throws(ControlError) {
        let request = Array((line + "\n").utf8)
        let raw = connection.raw
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes { kiosk_send(raw, $0.baseAddress!, $0.count, -1) }
            guard count > 0 else { throw ControlError("ask the player at \(path)", code: errno) }
            sent += count
        }
    }

    /// Sends a line, and returns the answer and its attachment.
    static func ask(_ path: String, _ line: String) throws(ControlError) -> (line: String, attachment: [UInt8]?) {
        var answer = ""
        let attachment = try talk(path, line, until: .now + longestWait) { line in
            answer = line
            return false
        }
        guard let attachment else { return (answer, nil) }
        return (answer, try contents(of: attachment))
    }

    /// Sends a line, and calls `body` with every received line until it returns false; returns the received descriptor.
    private static func talk(
        _ path: String, _ line: String, until deadline: HostTime? = nil, _ body: (String) -> Bool
    ) throws(ControlError) -> Descriptor? {
        let connection = try connection(to: path)
        try send(line, connection, path)
        var lines = LineBuffer(longest: longestAnswer)
        var attachment: Descriptor?
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            var entry = pollfd(fd: connection.raw, events: Int16(POLLIN), revents: 0)
            let left = deadline.map { Int32(clamping: max(0, ($0 - .now).nanoseconds / 1_000_000)) } ?? -1
            let isReady = poll(&entry, 1, left)
            if isReady < 0, errno == EINTR { continue }
            guard left != 0, isReady > 0 else { throw ControlError("the player at \(path) does not answer") }
            var descriptor: Int32 = -1
            let count = buffer.withUnsafeMutableBytes { kiosk_receive(connection.raw, $0.baseAddress!, $0.count, &descriptor) }
            if descriptor >= 0 { attachment = Descriptor(descriptor) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw ControlError("the player at \(path) has closed the connection") }
            for line in lines.append(buffer.prefix(count)) where !body(line) { return attachment }
        }
    }

    /// Returns the content of a file in memory.
    private static func contents(of file: borrowing Descriptor) throws(ControlError) -> [UInt8] {
        guard let status = file.status, status.isFile, 0...(256 << 20) ~= status.st_size else {
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
