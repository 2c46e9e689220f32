import CPlatform
import Glibc
import Platform

/// Asks a running player for something.
package enum ControlClient {
    /// How long an answer is waited for.
    private static let longestWait = MediaTime.seconds(10)

    /// What a running player shows, as a PNG. Blocks, for ten seconds at most.
    ///
    /// - Throws: ``ControlError``: nobody listens, or why the player does not give one.
    package static func screenshot(_ path: String) throws(ControlError) -> [UInt8] {
        let (line, attachment) = try ask(path, JSONValue.object(["command": .string(ControlRequest.Command.screenshot.rawValue)]).line)
        guard let answer = JSONValue(line) else { throw ControlError("\(path): what listens there is no kiosk: \(line.prefix(100))") }
        guard answer["ok"] == .bool(true) else {
            throw ControlError("the player at \(path) gives no screenshot: \(answer["error"]?["message"]?.text ?? line)")
        }
        guard let attachment else { throw ControlError("\(path): the answer came without a picture") }
        return attachment
    }

    /// Sends a line and waits for the one that answers it, and for what comes with it.
    private static func ask(_ path: String, _ line: String) throws(ControlError) -> (line: String, attachment: [UInt8]?) {
        guard var address = SocketAddress(path) else { throw ControlError("\(path): a socket's path has 1 to 107 bytes") }
        let connection = OwnedDescriptor(adopting: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0))
        guard connection.raw >= 0 else { throw ControlError("make a socket", code: errno) }
        guard address.withPointer({ connect(connection.raw, $0, $1) }) == 0 else {
            switch errno {
            case ENOENT, ECONNREFUSED, ENOTDIR:
                throw ControlError("no player listens at \(path): start one, or name its socket ([control] socket) with --socket")
            case EACCES:
                throw ControlError("\(path): permission denied: run this as root, or as a user of the group that the player runs as")
            default: throw ControlError("connect to \(path)", code: errno)
            }
        }
        let request = Array((line + "\n").utf8)
        guard request.withUnsafeBytes({ kiosk_send(connection.raw, $0.baseAddress!, $0.count, -1) }) == request.count else {
            throw ControlError("ask the player at \(path)", code: errno)
        }
        var lines = LineBuffer()
        var attachment: OwnedDescriptor?
        let deadline = HostTime.now + longestWait
        while true {
            var entry = pollfd(fd: connection.raw, events: Int16(POLLIN), revents: 0)
            let left = (deadline - .now).nanoseconds / 1_000_000
            guard left > 0, poll(&entry, 1, Int32(left)) > 0 else { throw ControlError("the player at \(path) does not answer") }
            var buffer = [UInt8](repeating: 0, count: 4096)
            var descriptor: Int32 = -1
            let count = buffer.withUnsafeMutableBytes { kiosk_receive(connection.raw, $0.baseAddress!, $0.count, &descriptor) }
            if descriptor >= 0 { attachment = OwnedDescriptor(adopting: descriptor) }
            guard count > 0 else { throw ControlError("the player at \(path) has ended the conversation") }
            if let line = lines.append(buffer.prefix(count)).first {
                guard let attachment else { return (line, nil) }
                return (line, try contents(of: attachment.raw))
            }
        }
    }

    /// What a descriptor of a file in memory holds.
    private static func contents(of descriptor: Int32) throws(ControlError) -> [UInt8] {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, 0...(256 << 20) ~= status.st_size else {
            throw ControlError("the answer came with something that is no file of a picture")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var place = 0
        while place < bytes.count {
            let count = bytes[place...].withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, place) }
            guard count > 0 else { throw ControlError("read the picture", code: errno) }
            place += count
        }
        return bytes
    }
}
