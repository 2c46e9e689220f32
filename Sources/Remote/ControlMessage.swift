import Commands
import KioskPlatform

/// What a program asks a running player for, in a line of JSON: `{"id":7,"command":"seek","to":12.5}`.
package struct ControlRequest: Sendable {
    /// What the answer is to be known by; null where there is none.
    package var id: JSONValue
    package var entry: CommandEntry
    package var request: Request

    /// Reads a line.
    ///
    /// - Throws: the refusal that is the answer to it.
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

/// Why a request is not carried out.
package struct ControlRefusal: Error, Hashable, Sendable {
    package var id = JSONValue.null
    /// For programs: one word with hyphens.
    package var code: String
    /// For people.
    package var message: String

    /// A refusal of the request with this id.
    package init(id: JSONValue = .null, code: String, message: String) { (self.id, self.code, self.message) = (id, code, message) }

    /// The refusal of the request with this id.
    func answering(_ id: JSONValue) -> ControlRefusal { ControlRefusal(id: id, code: code, message: message) }

    /// The answer.
    var line: String { ["id": id, "ok": false.json, "error": ["code": code.json, "message": message.json].json].json.line }
}

/// What comes of a request that is carried out: members of the answer, and bytes that go with it in memory of their own.
package struct ControlAnswer: Hashable, Sendable {
    /// Beside `id` and `ok`.
    package var members: [String: JSONValue]
    /// Read by who asked from the descriptor that comes with the answer.
    package var attachment: [UInt8]?

    package init(_ members: [String: JSONValue], attachment: [UInt8]? = nil) { (self.members, self.attachment) = (members, attachment) }

    /// The answer to the request with this id.
    func line(id: JSONValue) -> String {
        JSONValue.object(members.merging(["id": id, "ok": .bool(true)]) { $1 }).line
    }
}

/// What a request comes to: an answer, or an effect that is waited for.
package enum ControlReply: Sendable {
    case answer(ControlAnswer)
    /// `check` is asked again and again on the socket's thread until it returns an answer or throws a refusal.
    case later(check: @Sendable () -> Result<ControlAnswer, ControlRefusal>?)

    /// What `body` makes on a thread of its own; where it takes longer than `limit` it is given up, and `late` is the answer.
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

/// The lines in what comes from a client, piece by piece: a pure value.
struct LineBuffer: Hashable, Sendable {
    /// What a longer line of a client is refused by.
    static let longest = 64 << 10
    private let limit: Int
    private var bytes: [UInt8] = []
    /// Whether a line was too long; nothing more comes of it.
    private(set) var isOverlong = false

    init(longest: Int = Self.longest) { limit = longest }

    /// Takes in some bytes; the lines that are complete with them. What is not UTF-8 has replacement characters.
    mutating func append(_ piece: some Collection<UInt8>) -> [String] {
        var lines: [String] = []
        for byte in piece where !isOverlong {
            if byte == 0x0A {
                lines.append(String(decoding: bytes, as: UTF8.self))
                bytes.removeAll(keepingCapacity: true)
            } else if bytes.count == limit {
                isOverlong = true
                bytes = []
            } else {
                bytes.append(byte)
            }
        }
        return lines
    }
}
