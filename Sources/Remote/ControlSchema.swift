// What a command of the control socket is: its name, its parameters, its answer. ControlCommands.swift is the table of them. Everything else
// about the language comes from that table: what a line is checked by and why it is refused (ControlRequest), the words of `kiosk ctl` and
// their completion (ControlWords.swift), and docs/control-commands.md (ControlReference.swift).
import Configuration
import KioskPlatform
import KioskVocabulary

/// One command of the control socket.
package struct ControlSchema: Sendable {
    /// Its name.
    package var command: ControlCommand
    /// What it does, one sentence.
    package var summary: String
    /// What it takes.
    package var parameters: [ControlParameter] = []
    /// Of these parameters a request has exactly one.
    package var oneOf: [String] = []
    /// When it is answered.
    package var effect: String = "at once"
    /// Members of the answer beside `id` and `ok`, and what they are.
    package var answer: [ControlMember] = []
}

/// A parameter of a command.
package struct ControlParameter: Sendable {
    /// The member of the request.
    package var name: String
    /// What its values are.
    package var kind: ControlKind
    /// Whether a request must have it.
    package var isRequired = false
    /// What it is, one sentence.
    package var text: String
    /// How the words of `kiosk ctl` give it.
    package var word = ControlWordForm.option
}

/// How a word on the command line becomes a parameter.
package enum ControlWordForm: Hashable, Sendable {
    /// `--name value`.
    case option
    /// By its place among the words.
    case place
    /// By its place, where the word begins with + or -.
    case signed
    /// All words from its place on.
    case rest
}

/// A member of an answer.
package struct ControlMember: Sendable {
    /// Its name.
    package var name: String
    /// What it is.
    package var text: String

    init(_ name: String, _ text: String) { (self.name, self.text) = (name, text) }
}

/// What the values of a parameter are.
package enum ControlKind: Hashable, Sendable {
    /// A time in an item: seconds from 0, or `"1:30"`.
    case time
    /// A span of time, forwards or back: seconds, or `"-1:30"`.
    case span
    case number(ClosedRange<Double>)
    case integer(ClosedRange<Int>)
    /// A clockwise turn.
    case degrees
    case flag
    /// A text of 1 to 4096 bytes without control characters.
    case text
    /// One to a thousand such texts.
    case texts
    case word([String])
    /// Several of these words.
    case words([String])
    /// A track: its number, its language, `"auto"` or `"off"`.
    case track
    /// An item of the playlist: its place, from 1; or a text: `"id:12"`, its title, its source or the name of its file.
    case item

    /// What is expected, for refusals and the reference.
    package var expectation: String {
        switch self {
        case .time: "seconds from 0 to 3600000, or a time such as \"1:30\""
        case .span: "seconds from -3600000 to 3600000, or a span such as \"-1:30\""
        case .number(let range): "a number from \(JSONValue.number(range.lowerBound).line) to \(JSONValue.number(range.upperBound).line)"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .degrees: "0, 90, 180 or 270"
        case .flag: "true or false"
        case .text: "a text of 1 to 4096 bytes without line breaks and other control characters"
        case .texts: "a list of 1 to 1000 texts, each of 1 to 4096 bytes without line breaks and other control characters"
        case .word(let words): words.map { "\"\($0)\"" }.joined(separator: ", ")
        case .words(let words): "a list of " + words.map { "\"\($0)\"" }.joined(separator: ", ")
        case .track: "the number of a track from 1, a language such as \"de\", \"auto\" or \"off\""
        case .item: "a place from 1, \"id:\" and an identity, a title, a source or the name of a file"
        }
    }

    /// Whether `value` is one of its values.
    func allows(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.time, .number(let seconds)): 0...3_600_000 ~= seconds
        case (.time, .string(let text)): MediaTime(clock: text) != nil
        case (.span, .number(let seconds)): -3_600_000...3_600_000 ~= seconds
        case (.span, .string(let text)): Self.span(text) != nil
        case (.number(let range), .number(let number)): range ~= number
        case (.integer(let range), .number): value.integer.map { range ~= $0 } ?? false
        case (.degrees, .number): value.integer.map { [0, 90, 180, 270].contains($0) } ?? false
        case (.flag, .bool): true
        case (.text, .string(let text)): Self.isText(text)
        case (.texts, .array(let values)):
            1...1000 ~= values.count && values.allSatisfy { $0.text.map(Self.isText) ?? false }
        case (.word(let words), .string(let text)): words.contains(text)
        case (.words(let words), .array(let values)):
            values.count <= words.count && values.allSatisfy { $0.text.map(words.contains) ?? false }
        case (.track, .number): value.integer.map { TrackChoice.numbers ~= $0 } ?? false
        case (.track, .string(let text)): TrackChoice(text) != nil
        case (.item, .number): value.integer.map { 1...1_000_000 ~= $0 } ?? false
        case (.item, .string(let text)): Self.isText(text)
        default: false
        }
    }

    private static func isText(_ text: String) -> Bool {
        1...4096 ~= text.utf8.count && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// A span as it is written: `+1:30`, `-1:30`.
    static func span(_ text: String) -> MediaTime? {
        guard let sign = text.first, sign == "+" || sign == "-" else { return MediaTime(clock: text) }
        return MediaTime(clock: String(text.dropFirst())).map { sign == "-" ? -$0 : $0 }
    }
}

/// What a request says about the parameters of its command: each is one of the values that its kind allows.
package struct ControlArguments: Hashable, Sendable {
    private var values: [String: JSONValue] = [:]

    /// Checks the members of a request against a command's parameters.
    ///
    /// - Throws: the refusal, without an id.
    init(_ members: [String: JSONValue], of schema: ControlSchema) throws(ControlRefusal) {
        for (name, value) in members.sorted(by: { $0.key < $1.key }) where name != "id" && name != "command" {
            guard let parameter = schema.parameters.first(where: { $0.name == name }) else {
                let names = schema.parameters.map(\.name).joined(separator: ", ")
                throw ControlRefusal(
                    code: "unknown-parameter",
                    message:
                        "\(schema.command.rawValue) has no parameter “\(name.prefix(40))”; there \(names.isEmpty ? "is none" : "are \(names)")"
                )
            }
            guard parameter.kind.allows(value) else {
                throw ControlRefusal(
                    code: "invalid-parameter", message: "\(schema.command.rawValue) \(name): expected \(parameter.kind.expectation)")
            }
            values[name] = value
        }
        for parameter in schema.parameters where parameter.isRequired && values[parameter.name] == nil {
            throw ControlRefusal(
                code: "missing-parameter",
                message: "\(schema.command.rawValue) needs \(parameter.name): \(parameter.kind.expectation)")
        }
        if !schema.oneOf.isEmpty, schema.oneOf.count(where: { values[$0] != nil }) != 1 {
            throw ControlRefusal(
                code: "missing-parameter",
                message: "\(schema.command.rawValue) needs one of \(schema.oneOf.joined(separator: " and "))")
        }
    }

    /// The value itself; nil where the request does not have it.
    package func value(_ name: String) -> JSONValue? { values[name] }
    package func text(_ name: String) -> String? { values[name]?.text }
    package func integer(_ name: String) -> Int? { values[name]?.integer }
    func number(_ name: String) -> Double? { if case .number(let number)? = values[name] { number } else { nil } }
    func flag(_ name: String) -> Bool? { if case .bool(let flag)? = values[name] { flag } else { nil } }
    func texts(_ name: String) -> [String]? { if case .array(let texts)? = values[name] { texts.compactMap(\.text) } else { nil } }
    func time(_ name: String) -> MediaTime? { number(name).map { .seconds($0) } ?? text(name).flatMap(ControlKind.span) }
}
