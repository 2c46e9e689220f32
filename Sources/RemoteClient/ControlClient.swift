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
        let control = try ControlLine.open(path)
        try control.send(line)
        while body(try control.next(until: nil)) {}
    }
    /// Sends a line, and returns the answer and its attachment.
    package static func ask(_ path: String, _ line: String) throws(ControlError) -> (line: String, attachment: [UInt8]?) {
        try ControlLine.open(path).ask(line, until: .now + longestWait)
    }
}
