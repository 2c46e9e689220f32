// The parts of a command: its name, parameters, origin (viewers or programs), preconditions, answer and line of help.
// CommandTable.swift is the table of commands. Every command language is derived from that table:
// - the words of kiosk.conf, with the default keys and gestures (CommandWords.swift)
// - the checks of a line of the control socket, and its refusals (ControlRequest)
// - the words of `kiosk ctl`, with their help and completion (ControlWords.swift)
// - docs/control-commands.md (ControlReference.swift)
//
// An entry turns input into a typed value: words of kiosk.conf become a ``Command``, a line of the socket becomes a ``Request``.
// The code that carries them out switches over all cases, so a command without an implementation does not compile.
import KioskPlatform
import KioskVocabulary

/// One command.
package struct CommandEntry: Sendable {
    /// Its name on the socket, and its word in kiosk.conf.
    package let name: String
    /// The command's effect, in one sentence.
    package var summary = ""
    /// The parameters that the command takes on the socket.
    package var parameters: [ParameterFacts] = []
    /// The parameters of which a request must have exactly one.
    package var oneOf: [String] = []
    /// The precondition that kiosk checks before it carries the command out.
    package var need: CommandNeed?
    /// When kiosk answers.
    package var effect = "at once"
    /// The error if the command should move the playhead and does not; nil if that is no error.
    package var problem: String?
    /// The members of the answer.
    package var answer: CommandAnswer = [:]
    /// How kiosk.conf writes the command for keys, gestures, taps and the idle time; empty if viewers may not use it.
    package var forms: [CommandForm] = []
    /// Makes a request of its checked members; nil if programs may not use the command.
    package var request: (@Sendable ([String: JSONValue]) -> Request)?

    init(_ name: String, _ forms: [CommandForm]) { (self.name, self.forms) = (name, forms) }
}

/// The precondition of a command.
package enum CommandNeed: Sendable {
    /// A seekable item on the screen.
    case seekableItem
    /// `[record] folder`.
    case recorder
    /// `[playback] cache`.
    case cache
    /// `[input] allow-quit`.
    case permissionToQuit
}

/// The members of an answer besides `id` and `ok`.
package enum CommandAnswer: Sendable, ExpressibleByDictionaryLiteral {
    /// The player's position once the effect is visible.
    case place
    /// These members: of `status` for a player command, from the command's owner otherwise.
    case members([AnswerMember])

    /// Members, by name.
    package init(dictionaryLiteral members: (String, String)...) {
        self = .members(members.map { AnswerMember(name: $0, text: $1) })
    }

    package var members: [AnswerMember] {
        switch self {
        case .place: AnswerMember.place
        case .members(let members): members
        }
    }
}

/// A member of an answer.
package struct AnswerMember: Sendable {
    package let name: String
    package let text: String

    static let place = [
        AnswerMember(name: "item", text: "the item on the screen: `id`, `place`, `title` and `source`; null if there is none"),
        AnswerMember(name: "time", text: "the position in the item, in seconds"),
        AnswerMember(name: "shown", text: "false if there is no display"),
    ]
}

/// How a command is written in kiosk.conf: a word, the name of its entry, and for some an argument.
package enum CommandForm: Sendable {
    /// The word alone, with its default keys (written as for ``KeyTrigger``) and gestures.
    case plain(Command, keys: [String] = [], gestures: [GestureName] = [])
    /// The word and an argument, with a description of the argument.
    case argument(String, @Sendable (String) -> Command?)
    /// The word, and a file or a URL to play.
    case source(String)

    static func number(_ text: String, in range: ClosedRange<Int>, _ make: @escaping @Sendable (Int) -> PlayerCommand) -> CommandForm {
        .argument(text) { word in
            Int(word).flatMap { range ~= $0 && word.allSatisfy(\.isNumber) ? .player(make($0)) : nil }
        }
    }
}

/// A parameter of a command on the socket, and the reader of its value.
struct Parameter<Value: Sendable>: Sendable {
    let facts: ParameterFacts
    /// The value of a checked member; nil if the request does not have it.
    let value: @Sendable (JSONValue?) -> Value

    /// A parameter that a request must have.
    static func required(
        _ name: String, _ kind: ParameterKind<Value>, _ text: String, _ form: ParameterForm = .place
    ) -> Parameter {
        Parameter(facts: ParameterFacts(name, kind, text, form, isRequired: true)) { kind.read($0 ?? .null)! }
    }

    /// A parameter that a request may have.
    static func optional<Wrapped>(
        _ name: String, _ kind: ParameterKind<Wrapped>, _ text: String, _ form: ParameterForm = .option
    ) -> Parameter where Value == Wrapped? {
        Parameter(facts: ParameterFacts(name, kind, text, form, isRequired: false)) { $0.flatMap(kind.read) }
    }
}

/// The description of a parameter, independent of its type.
package struct ParameterFacts: Sendable {
    /// The name of the member in the request.
    package let name: String
    /// Whether a request must have it.
    package let isRequired: Bool
    /// The description, in one sentence.
    package let text: String
    /// How `kiosk ctl` writes the parameter.
    package let form: ParameterForm
    /// The expected value in words, for refusals and the reference.
    package let expectation: String
    /// The words to choose from; empty if the value is free.
    package let choices: [String]
    /// Returns whether a value is valid.
    package let allows: @Sendable (JSONValue) -> Bool
    /// Converts a word of the command line to JSON; the result may be invalid.
    package let member: @Sendable (String) -> JSONValue

    init<Value>(_ name: String, _ kind: ParameterKind<Value>, _ text: String, _ form: ParameterForm, isRequired: Bool) {
        (self.name, self.isRequired, self.text, self.form) = (name, isRequired, text, form)
        (expectation, choices) = (kind.expectation, kind.choices)
        allows = { kind.read($0) != nil }
        member = { kind.syntax.value(of: $0) }
    }
}

/// How a word on the command line becomes a parameter.
package enum ParameterForm: Hashable, Sendable {
    /// `--name value`.
    case option
    /// By position among the words.
    case place
    /// By position, if the word begins with + or -.
    case signed
    /// All words from its position on.
    case rest
}

/// The type of a parameter's values, and their reader.
struct ParameterKind<Value: Sendable>: Sendable {
    let expectation: String
    var choices: [String] = []
    let syntax: WordSyntax
    /// Returns the value; nil if it is invalid.
    let read: @Sendable (JSONValue) -> Value?

    init(_ expectation: String, _ syntax: WordSyntax, choices: [String] = [], _ read: @escaping @Sendable (JSONValue) -> Value?) {
        (self.expectation, self.syntax, self.choices, self.read) = (expectation, syntax, choices, read)
    }
}

/// The JSON type of a word of the command line.
enum WordSyntax: Sendable {
    /// A number if the word is one.
    case number
    case flag
    case text
    /// An element of a list.
    case element

    func value(of word: String) -> JSONValue {
        switch self {
        case .number:
            word.wholeMatch(of: /[+-]?[0-9]{1,9}(\.[0-9]{1,9})?/) != nil ? Double(word).map { .number($0) } ?? .string(word) : .string(word)
        case .flag: word == "true" ? .bool(true) : word == "false" ? .bool(false) : .string(word)
        case .text: .string(word)
        case .element: .array([.string(word)])
        }
    }
}

extension ParameterKind<MediaTime> {
    /// A time in an item: seconds from 0, or `"1:30"`.
    static var time: Self {
        Self("seconds from 0 to 3600000, or a time such as \"1:30\"", .number) { value in
            value.number.map { 0...3_600_000 ~= $0 ? .seconds($0) : nil } ?? value.text.flatMap(MediaTime.init(clock:))
        }
    }

    /// A span of time, forwards or back: seconds, or `"-1:30"`.
    static var span: Self {
        Self("seconds from -3600000 to 3600000, or a span such as \"-1:30\"", .number) { value in
            value.number.map { -3_600_000...3_600_000 ~= $0 ? .seconds($0) : nil } ?? value.text.flatMap(MediaTime.init(span:))
        }
    }

    /// A length of time in seconds.
    static func seconds(_ range: ClosedRange<Double>) -> Self {
        Self(ParameterKind<Double>.number(range).expectation, .number) { $0.number.flatMap { range ~= $0 ? .seconds($0) : nil } }
    }
}

extension ParameterKind<MediaTime> {
    /// How long a state lasts: seconds, or `"90s"`, `"5m"`, `"2h"`; a week at most.
    static var duration: Self {
        let longest = 604_800.0
        return Self("seconds from 1 to 604800, or a time such as \"90s\", \"5m\", \"2h\" or \"1:30\"", .number) { value in
            if let number = value.number { return 1...longest ~= number ? .seconds(number) : nil }
            guard let text = value.text else { return nil }
            if let time = MediaTime(clock: text) { return 1...longest ~= time.seconds ? time : nil }
            guard let match = text.wholeMatch(of: /([0-9]{1,6})([smh])/), let number = Double(match.1) else { return nil }
            let seconds = number * (match.2 == "h" ? 3600 : match.2 == "m" ? 60 : 1)
            return 1...longest ~= seconds ? .seconds(seconds) : nil
        }
    }
}

extension MediaTime {
    /// Parses a span: `+1:30`, `-1:30`.
    fileprivate init?(span text: String) {
        let isSigned = text.hasPrefix("+") || text.hasPrefix("-")
        guard let span = MediaTime(clock: isSigned ? String(text.dropFirst()) : text) else { return nil }
        self = text.hasPrefix("-") ? -span : span
    }
}

extension ParameterKind<Double> {
    static func number(_ range: ClosedRange<Double>) -> Self {
        Self("a number from \(JSONValue.number(range.lowerBound).line) to \(JSONValue.number(range.upperBound).line)", .number) {
            $0.number.flatMap { range ~= $0 ? $0 : nil }
        }
    }
}

extension ParameterKind<Int> {
    static func integer(_ range: ClosedRange<Int>) -> Self {
        Self("a whole number from \(range.lowerBound) to \(range.upperBound)", .number) { $0.integer.flatMap { range ~= $0 ? $0 : nil } }
    }
}

extension ParameterKind<Rotation> {
    /// A clockwise rotation.
    static var degrees: Self {
        Self("0, 90, 180 or 270", .number, choices: ["0", "90", "180", "270"]) { $0.integer.flatMap(Rotation.init(rawValue:)) }
    }
}

extension ParameterKind<Bool> {
    static var flag: Self {
        Self("true or false", .flag, choices: ["true", "false"]) { if case .bool(let flag) = $0 { flag } else { nil } }
    }
}

extension JSONValue {
    /// The text, if it has 1 to 4096 bytes and no control characters.
    fileprivate var line4096: String? {
        text.flatMap { text in
            1...4096 ~= text.utf8.count && !text.unicodeScalars.contains { $0.properties.generalCategory == .control } ? text : nil
        }
    }
}

extension ParameterKind<String> {
    /// A text of 1 to 4096 bytes without control characters.
    static var text: Self { Self("a text of 1 to 4096 bytes without line breaks and other control characters", .text) { $0.line4096 } }
}

extension ParameterKind<[String]> {
    /// One to a thousand texts, each of 1 to 4096 bytes without control characters.
    static var texts: Self {
        Self("a list of 1 to 1000 texts, each of 1 to 4096 bytes without line breaks and other control characters", .element) {
            guard case .array(let values) = $0, 1...1000 ~= values.count, case let texts = values.compactMap(\.line4096) else { return nil }
            return texts.count == values.count ? texts : nil
        }
    }
}

extension ParameterKind where Value: RawRepresentable<String> {
    /// One of these words.
    static func word(_ words: [Value]) -> Self { word(words, as: \.rawValue) }
}

extension ParameterKind {
    /// One of these values, by its word.
    static func word(_ values: [Value], as word: (Value) -> String) -> Self {
        let names = values.map(word)
        return Self(names.map { "\"\($0)\"" }.joined(separator: ", "), .text, choices: names) { value in
            value.text.flatMap { names.firstIndex(of: $0) }.map { values[$0] }
        }
    }

    /// Several of these words.
    static func words<Word: RawRepresentable<String> & Sendable>(_ words: [Word]) -> Self where Value == [Word] {
        let one = ParameterKind<Word>.word(words)
        return Self("a list of \(one.expectation)", .element, choices: one.choices) {
            guard case .array(let values) = $0, values.count <= one.choices.count, case let read = values.compactMap(one.read) else {
                return nil
            }
            return read.count == values.count ? read : nil
        }
    }
}

extension ParameterKind<TrackChoice> {
    /// A track: its number, its language, `"auto"` or `"off"`.
    static var track: Self {
        Self("the number of a track from 1, a language such as \"de\", \"auto\" or \"off\"", .number, choices: ["auto", "off"]) { value in
            value.number == nil ? value.text.flatMap(TrackChoice.init) : value.integer.flatMap { TrackChoice("\($0)") }
        }
    }
}

extension ParameterKind<ItemName> {
    /// An item of the playlist: its place, from 1; or a text: `"id:12"`, its title, its source or the name of its file.
    static var item: Self {
        Self("a place from 1, \"id:\" and an identity, a title, a source or the name of a file", .number) { value in
            if let text = value.line4096 { return .text(text) }
            return value.integer.flatMap { 1...1_000_000 ~= $0 ? .place($0) : nil }
        }
    }
}
