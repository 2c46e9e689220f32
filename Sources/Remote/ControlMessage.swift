import KioskCommands
import KioskPlatform

/// A program's request to a running player, a line of JSON: `{"id":7,"command":"seek","to":12.5}`.
package struct ControlRequest: Sendable {
    /// The id to repeat in the answer; null if there is none.
    package var id: JSONValue
    package var entry: CommandEntry
    package var request: Request

    /// Parses a line.
    ///
    /// - Throws: the refusal to answer with.
    package init(line: String) throws(ControlRefusal) {
        guard let value = JSONValue(line), case .object(let members) = value else {
            throw ControlRefusal(
                code: "invalid-json", message: "expected an object of JSON on one line, such as {\"command\":\"status\"}")
        }
        id = value["id"] ?? .null
        let names = CommandTable.ofPrograms.map(\.name).joined(separator: ", ")
        guard let name = value["command"]?.text else {
            throw ControlRefusal(id: id, code: "no-command", message: "expected a text \"command\"; there are \(names)")
        }
        guard let known = CommandTable.named(name), let make = known.request else {
            throw ControlRefusal(id: id, code: "unknown-command", message: "there is no such command; there are \(names)")
        }
        do throws(ControlRefusal) { try known.check(members) } catch { throw error.answering(id) }
        (entry, request) = (known, make(members))
    }
}

extension CommandEntry {
    /// Checks the members of a request against the parameters.
    ///
    /// - Throws: the refusal, without an id.
    func check(_ members: [String: JSONValue]) throws(ControlRefusal) {
        for (member, value) in members.sorted(by: { $0.key < $1.key }) where member != "id" && member != "command" {
            guard let parameter = parameters.first(where: { $0.name == member }) else {
                let names = parameters.map(\.name).joined(separator: ", ")
                throw ControlRefusal(
                    code: "unknown-parameter",
                    message: "\(name) has no parameter “\(member.prefix(40))”; there \(names.isEmpty ? "is none" : "are \(names)")")
            }
            guard parameter.allows(value) else {
                throw ControlRefusal(code: "invalid-parameter", message: "\(name) \(member): expected \(parameter.expectation)")
            }
        }
        for parameter in parameters where parameter.isRequired && members[parameter.name] == nil {
            throw ControlRefusal(code: "missing-parameter", message: "\(name) needs \(parameter.name): \(parameter.expectation)")
        }
        if !oneOf.isEmpty, oneOf.count(where: { members[$0] != nil }) != 1 {
            throw ControlRefusal(code: "missing-parameter", message: "\(name) needs one of \(oneOf.joined(separator: " and "))")
        }
    }
}

/// The refusal of a request.
package struct ControlRefusal: Error, Hashable, Sendable {
    package var id = JSONValue.null
    /// A code for programs: one word with hyphens.
    package var code: String
    /// A message for people.
    package var message: String

    /// A refusal of the request with this id.
    package init(id: JSONValue = .null, code: String, message: String) { (self.id, self.code, self.message) = (id, code, message) }

    /// Returns this refusal with a request's id.
    func answering(_ id: JSONValue) -> ControlRefusal { ControlRefusal(id: id, code: code, message: message) }

    /// The answer as a line.
    var line: String { ["id": id, "ok": false.json, "error": ["code": code.json, "message": message.json].json].json.line }
}

/// The answer to a request: its members, and bytes that are sent as a file in memory.
package struct ControlAnswer: Hashable, Sendable {
    /// The members besides `id` and `ok`.
    package var members: [String: JSONValue]
    /// Bytes that the client reads from the descriptor sent with the answer.
    package var attachment: [UInt8]?

    package init(_ members: [String: JSONValue], attachment: [UInt8]? = nil) { (self.members, self.attachment) = (members, attachment) }

    /// Returns the answer to the request with this id, as a line.
    func line(id: JSONValue) -> String {
        JSONValue.object(members.merging(["id": id, "ok": .bool(true)]) { $1 }).line
    }
}

/// The reply to a request: an answer, or a check for a later one.
package enum ControlReply: Sendable {
    case answer(ControlAnswer)
    /// The socket's thread calls `check` again and again until it returns an answer or a refusal.
    case later(check: @Sendable () -> Result<ControlAnswer, ControlRefusal>?)

    /// Makes a reply that runs `body` on a thread of its own. After `limit` it calls `giveUp`, and answers with `late`.
    package static func made(
        by thread: String, within limit: MediaTime? = nil, orElse late: ControlRefusal? = nil, giveUp: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable () throws(ControlRefusal) -> ControlAnswer
    ) -> ControlReply {
        let made = Monitor<Result<ControlAnswer, ControlRefusal>?>(nil)
        Thread(thread) {
            let result = Result { () throws(ControlRefusal) in try body() }
            made.signal { $0 = result }
        }.detach()
        let deadline = limit.map { HostTime.now + $0 }
        return .later {
            if let result = made.withLock({ $0 }) { return result }
            guard let late, let deadline, deadline <= .now else { return nil }
            giveUp()
            return .failure(late)
        }
    }
}
