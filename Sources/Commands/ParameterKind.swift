// The types of parameters on the control socket: how to read a value, describe it, and make it of a word.
import KioskPlatform
import KioskVocabulary

/// The type of a parameter's values, and their reader.
struct ParameterKind<Value: Sendable>: Sendable {
    let expectation: String
    var choices: [String] = []
    let syntax: WordSyntax
    /// The members of a JSON Schema.
    let schema: String
    /// Returns the value; nil if it is invalid.
    let read: @Sendable (JSONValue) -> Value?

    init(
        _ expectation: String, _ syntax: WordSyntax, choices: [String] = [], schema: String,
        _ read: @escaping @Sendable (JSONValue) -> Value?
    ) {
        (self.expectation, self.syntax, self.choices, self.schema, self.read) = (expectation, syntax, choices, schema, read)
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
        Self(
            "seconds from 0 to 3600000, or a time such as \"1:30\"", .number,
            schema: #""type": ["number", "string"], "minimum": 0, "maximum": 3600000, "pattern": "^[0-9:.]+$""#
        ) { value in
            value.number.map { 0...3_600_000 ~= $0 ? .seconds($0) : nil } ?? value.text.flatMap(MediaTime.init(clock:))
        }
    }

    /// A span of time, forwards or back: seconds, or `"-1:30"`.
    static var span: Self {
        Self(
            "seconds from -3600000 to 3600000, or a span such as \"-1:30\"", .number,
            schema: #""type": ["number", "string"], "minimum": -3600000, "maximum": 3600000, "pattern": "^[+-]?[0-9:.]+$""#
        ) { value in
            value.number.map { -3_600_000...3_600_000 ~= $0 ? .seconds($0) : nil } ?? value.text.flatMap(MediaTime.init(span:))
        }
    }

    /// A length of time in seconds.
    static func seconds(_ range: ClosedRange<Double>) -> Self {
        let number = ParameterKind<Double>.number(range)
        return Self(number.expectation, .number, schema: number.schema) { $0.number.flatMap { range ~= $0 ? .seconds($0) : nil } }
    }
}

extension ParameterKind<MediaTime> {
    /// How long a state lasts: seconds, or `"90s"`, `"5m"`, `"2h"`; a week at most.
    static var duration: Self {
        let longest = 604_800.0
        return Self(
            "seconds from 1 to 604800, or a time such as \"90s\", \"5m\", \"2h\" or \"1:30\"", .number,
            schema: #""type": ["number", "string"], "minimum": 1, "maximum": 604800, "pattern": "^[0-9:.]+[smh]?$""#
        ) { value in
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
        let (least, most) = (JSONValue.number(range.lowerBound).line, JSONValue.number(range.upperBound).line)
        return Self(
            "a number from \(least) to \(most)", .number, schema: #""type": "number", "minimum": \#(least), "maximum": \#(most)"#
        ) { $0.number.flatMap { range ~= $0 ? $0 : nil } }
    }
}

extension ParameterKind<Int> {
    static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(
            "a whole number from \(range.lowerBound) to \(range.upperBound)", .number,
            schema: #""type": "integer", "minimum": \#(range.lowerBound), "maximum": \#(range.upperBound)"#
        ) { $0.integer.flatMap { range ~= $0 ? $0 : nil } }
    }
}

extension ParameterKind<Rotation> {
    /// A clockwise rotation.
    static var degrees: Self {
        Self("0, 90, 180 or 270", .number, choices: ["0", "90", "180", "270"], schema: #""enum": [0, 90, 180, 270]"#) {
            $0.integer.flatMap(Rotation.init(rawValue:))
        }
    }
}

extension ParameterKind<Bool> {
    static var flag: Self {
        Self("true or false", .flag, choices: ["true", "false"], schema: #""type": "boolean""#) {
            if case .bool(let flag) = $0 { flag } else { nil }
        }
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
    static var text: Self {
        Self(
            "a text of 1 to 4096 bytes without line breaks and other control characters", .text,
            schema: #""type": "string", "minLength": 1, "maxLength": 4096"#
        ) { $0.line4096 }
    }
}

extension ParameterKind<[String]> {
    /// One to a thousand texts, each of 1 to 4096 bytes without control characters.
    static var texts: Self {
        Self(
            "a list of 1 to 1000 texts, each of 1 to 4096 bytes without line breaks and other control characters", .element,
            schema: #""type": "array", "minItems": 1, "maxItems": 1000, "items": { \#(ParameterKind<String>.text.schema) }"#
        ) {
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
        let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
        return Self(list, .text, choices: names, schema: "\"enum\": [\(list)]") { value in
            value.text.flatMap { names.firstIndex(of: $0) }.map { values[$0] }
        }
    }

    /// Several of these words.
    static func words<Word: RawRepresentable<String> & Sendable>(_ words: [Word]) -> Self where Value == [Word] {
        let one = ParameterKind<Word>.word(words)
        return Self(
            "a list of \(one.expectation)", .element, choices: one.choices,
            schema: #""type": "array", "maxItems": \#(words.count), "items": { \#(one.schema) }"#
        ) {
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
        Self(
            "the number of a track from 1, a language such as \"de\", \"auto\" or \"off\"", .number, choices: ["auto", "off"],
            schema: #""type": ["integer", "string"], "minimum": 1"#
        ) { value in
            value.number == nil ? value.text.flatMap(TrackChoice.init) : value.integer.flatMap { TrackChoice("\($0)") }
        }
    }
}

extension ParameterKind<ItemName> {
    /// An item of the playlist: its place, from 1; or a text: `"id:12"`, its title, its source or the name of its file.
    static var item: Self {
        Self(
            "a place from 1, \"id:\" and an identity, a title, a source or the name of a file", .number,
            schema: #""type": ["integer", "string"], "minimum": 1, "maximum": 1000000, "minLength": 1, "maxLength": 4096"#
        ) { value in
            if let text = value.line4096 { return .text(text) }
            return value.integer.flatMap { 1...1_000_000 ~= $0 ? .place($0) : nil }
        }
    }
}
