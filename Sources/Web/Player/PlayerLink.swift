import Glibc
import KioskCommands
import KioskPlatform
import KioskVocabulary
import RemoteClient

/// Asks the player on its control socket.
///
/// The player has room for 16 programs, and answers those of one connection in order. So this has three connections at most: one that waits
/// for a seek holds up no status. Connections stay open between requests.
final class PlayerLink: Sendable {
    private struct State {
        var idle: [ControlLine] = []
        var count = 0
    }

    /// The player's socket.
    let path: String
    private let state = Monitor(State())
    private static let most = 3
    private static let longestWait = MediaTime.seconds(10)

    init(_ path: String) { self.path = path }

    /// Sends a command, and returns the members of its answer and its attachment. Blocks for at most ten seconds.
    func ask(_ command: String, _ members: [String: JSONValue] = [:]) throws(APIError) -> (answer: JSONValue, attachment: [UInt8]?) {
        let deadline = HostTime.now + Self.longestWait
        let request = JSONValue.object(members.merging(["command": command.json]) { $1 }).line
        guard request.utf8.count < LineBuffer.longest else { throw APIError(413, "too-long", "the request is too long for the player") }
        let connection = try take(until: deadline)
        let (line, attachment): (String, [UInt8]?)
        do throws(ControlError) { (line, attachment) = try connection.ask(request, until: deadline) } catch {
            give(back: nil)
            throw APIError(503, "no-player", "\(error)")
        }
        guard let answer = JSONValue(line), case .object(var answered) = answer else {
            give(back: nil)
            throw APIError(502, "no-player", "\(path): not a kiosk socket")
        }
        give(back: connection)
        guard answer["ok"] == .bool(true) else { throw APIError(player: answer["error"]) }
        answered["ok"] = nil
        answered["id"] = nil
        return (.object(answered), attachment)
    }

    /// Returns a free connection, or a new one.
    private func take(until deadline: HostTime) throws(APIError) -> ControlLine {
        enum Turn {
            case idle(ControlLine)
            case new
        }
        while true {
            let turn: Turn? = state.wait(until: deadline) { state in
                if let line = state.idle.popLast() { return .idle(line) }
                if state.count >= Self.most { return nil }
                state.count += 1
                return .new
            }
            switch turn {
            case .idle(let line):
                if line.isOpen { return line }
                give(back: nil)
            case .new:
                do throws(ControlError) { return try ControlLine.open(path) } catch {
                    give(back: nil)
                    throw APIError(503, "no-player", "\(error)")
                }
            case nil: throw APIError(503, "busy", "the player is busy with other requests")
            }
        }
    }

    /// Returns a connection; nil for one that is useless.
    private func give(back line: ControlLine?) {
        state.signal { state in if let line { state.idle.append(line) } else { state.count -= 1 } }
    }
}
