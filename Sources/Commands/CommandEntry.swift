// What a command is: its name, its parameters, who may ask for it, what it needs, its answer, its line of help. CommandTable.swift is the table of
// them. Everything else about the languages of commands comes from that table: the words of kiosk.conf with the default keys and gestures
// (CommandWords.swift), what a line of the control socket is checked by and why it is refused (ControlRequest), the words of `kiosk ctl`
// with their help and completion (ControlWords.swift), and docs/control-commands.md (ControlReference.swift).
//
// An entry makes a typed value of what is asked: a ``Command`` of words in kiosk.conf, a ``Request`` of a line of the socket. Who carries those out
// switches over all of them, so that one that nobody carries out does not compile.
import KioskPlatform
import KioskVocabulary

/// One command.
package struct CommandEntry: Sendable {
    /// Its name on the socket, and its word in kiosk.conf.
    package let name: String
    /// What it does, one sentence.
    package var summary = ""
    /// What it takes on the socket.
    package var parameters: [ParameterFacts] = []
    /// Of these parameters a request has exactly one.
    package var oneOf: [String] = []
    /// What has to be there before anybody is asked to carry it out.
    package var need: CommandNeed?
    /// When it is answered.
    package var effect = "at once"
    /// Why nothing came of it, where it is to move the playhead and has not; nil where that is no fault.
    package var problem: String?
    /// What is answered.
    package var answer: CommandAnswer = [:]
    /// How kiosk.conf writes it, for keys, gestures, taps and the idle time; empty where viewers may not ask for it.
    package var forms: [CommandForm] = []
    /// What the members of a request, which have been checked, ask for; nil where programs may not.
    package var request: (@Sendable ([String: JSONValue]) -> Request)?

    init(_ name: String, _ forms: [CommandForm]) { (self.name, self.forms) = (name, forms) }
}

/// What a command needs.
package enum CommandNeed: Sendable {
    /// Something on the screen that can be sought in.
    case seekableItem
    /// `[record] folder`.
    case recorder
    /// `[playback] cache`.
    case cache
    /// `[input] allow-quit`.
    case permissionToQuit
}

/// What is answered beside `id` and `ok`.
package enum CommandAnswer: Sendable, ExpressibleByDictionaryLiteral {
    /// Where the player is when the effect is seen.
    case place
    /// Of a command of the player's the members of `status` that are called so, of any other what its owner says.
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
    /// The word alone, and the keys (as ``KeyTrigger`` has them) and gestures that ask for it where kiosk.conf says nothing of them.
    case plain(Command, keys: [String] = [], gestures: [GestureName] = [])
    /// The word and an argument, with what to say that this is.
    case argument(String, @Sendable (String) -> Command?)
    /// The word, and a file or a URL that is played.
    case source(String)

    static func number(_ text: String, in range: ClosedRange<Int>, _ make: @escaping @Sendable (Int) -> PlayerCommand) -> CommandForm {
        .argument(text) { word in
            Int(word).flatMap { range ~= $0 && word.allSatisfy(\.isNumber) ? .player(make($0)) : nil }
        }
    }
}

/// A parameter of a command on the socket, and how its value is read.
struct Parameter<Value: Sendable>: Sendable {
    let facts: ParameterFacts
    /// The value of a member that has been checked; nil where the request does not have it.
    let value: @Sendable (JSONValue?) -> Value

    /// One that a request must have.
    static func required(
        _ name: String, _ kind: ParameterKind<Value>, _ text: String, _ form: ParameterForm = .place
    ) -> Parameter {
        Parameter(facts: ParameterFacts(name, kind, text, form, isRequired: true)) { kind.read($0 ?? .null)! }
    }

    /// One that it may have.
    static func optional<Wrapped>(
        _ name: String, _ kind: ParameterKind<Wrapped>, _ text: String, _ form: ParameterForm = .option
    ) -> Parameter where Value == Wrapped? {
        Parameter(facts: ParameterFacts(name, kind, text, form, isRequired: false)) { $0.flatMap(kind.read) }
    }
}

/// What a parameter is, whatever its type.
package struct ParameterFacts: Sendable {
    /// The member of the request.
    package let name: String
    /// Whether a request must have it.
    package let isRequired: Bool
    /// What it is, one sentence.
    package let text: String
    /// How the words of `kiosk ctl` give it.
    package let form: ParameterForm
    /// What is expected, for refusals and the reference.
    package let expectation: String
    /// The words there are to choose from; none where there is no choice.
    package let choices: [String]
    /// Whether something is one of its values.
    package let allows: @Sendable (JSONValue) -> Bool
    /// What a word stands for, which may be none of its values.
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
    /// By its place among the words.
    case place
    /// By its place, where the word begins with + or -.
    case signed
    /// All words from its place on.
    case rest
}

/// What the values of a parameter are, and what is made of one.
struct ParameterKind<Value: Sendable>: Sendable {
    let expectation: String
    var choices: [String] = []
    let syntax: WordSyntax
    /// The value; nil where it is none.
    let read: @Sendable (JSONValue) -> Value?

    init(_ expectation: String, _ syntax: WordSyntax, choices: [String] = [], _ read: @escaping @Sendable (JSONValue) -> Value?) {
        (self.expectation, self.syntax, self.choices, self.read) = (expectation, syntax, choices, read)
    }
}

/// What a word of a command line is in JSON.
enum WordSyntax: Sendable {
    /// A number where it can be one.
    case number
    case flag
    case text
    /// One of a list.
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
    /// How long something is to be so: seconds, or `"90s"`, `"5m"`, `"2h"`; a week at most.
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
    /// A span as it is written: `+1:30`, `-1:30`.
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
    /// A text of 1 to 4096 bytes without control characters.
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
    /// One to a thousand such texts.
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

    /// Several of them.
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
