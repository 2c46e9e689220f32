import Commands
import KioskPlatform
import KioskVocabulary

/// The complaints about a file while it is being read.
final class ComplaintList {
    let path: String
    private(set) var all: [Complaint]
    /// Whether lines that could not be read were left out, so that what seems to be missing may have been in them.
    let lacksLines: Bool

    /// Begins with the complaints about the text's syntax.
    init(path: String, _ complaints: [Complaint]) {
        self.path = path
        all = complaints
        lacksLines = !complaints.isEmpty
    }

    func add(_ text: String, at position: SourcePosition) { all.append(Complaint(path: path, position: position, text: text)) }
}

/// One table of kiosk.conf while it is being read. Each value is nil where the file does not give it, or gives one that is complained
/// about.
struct TableReader {
    /// As it is written: `[display]`.
    let heading: String
    let position: SourcePosition
    private let entries: [String: TOMLEntry]
    private let keys: [String]
    private let complaints: ComplaintList

    /// Complains about every entry whose key is not one of `keys`.
    init(_ table: Grammar.Table, _ entries: [TOMLEntry], at position: SourcePosition, _ complaints: ComplaintList) {
        heading = table.heading
        keys = table.keys
        self.position = position
        self.complaints = complaints
        self.entries = Dictionary(entries.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        for entry in entries where !keys.contains(entry.key) {
            let name = shownKey(entry.key)
            complaints.add("\(heading) \(name): unknown key\(Grammar.advice(entry.key, in: table))", at: entry.position)
        }
    }

    /// The value of `key` as `read` understands it; what it does not (nil) is complained about with what was `expected`.
    func value<Value>(_ key: String, _ expected: @autoclosure () -> String, _ read: (TOMLValue.Kind) -> Value?) -> Value? {
        assert(keys.contains(key), "\(heading) \(key) is not in the grammar")
        guard let entry = entries[key] else { return nil }
        if let value = read(entry.value.kind) { return value }
        complaints.add("\(heading) \(key): expected \(expected()), found \(entry.value.kind.shown)", at: entry.value.position)
        return nil
    }

    /// The entry of `key`, unread.
    func entry(_ key: String) -> TOMLEntry? { entries[key] }

    /// A complaint about the value of `key`.
    func complain(_ text: String, about key: String) {
        complaints.add("\(heading) \(key): \(text)", at: entries[key]?.value.position ?? position)
    }

    /// A complaint where `key` is not given, at the table's heading.
    func require(_ key: String, _ advice: String) {
        if entries[key] == nil, !complaints.lacksLines { complain("missing; \(advice)", about: key) }
    }

    /// `true` or `false`.
    func flag(_ key: String) -> Bool? {
        value(key, "true or false") { if case .boolean(let flag) = $0 { flag } else { nil } }
    }

    /// A whole number of `range`.
    func number(_ key: String, in range: ClosedRange<Int>) -> Int? {
        value(key, "a whole number from \(range.lowerBound) to \(range.upperBound)") {
            guard case .integer(let number) = $0, let number = Int(exactly: number), range.contains(number) else { return nil }
            return number
        }
    }

    /// One of the words of an enumeration.
    func word<Word: RawRepresentable<String> & CaseIterable>(_ key: String, _ type: Word.Type) -> Word? {
        value(key, alternatives(type.allCases.map { "\"\($0.rawValue)\"" })) { $0.string.flatMap(Word.init(rawValue:)) }
    }

    /// Which track of a kind is played.
    func track(_ key: String) -> TrackChoice? {
        value(key, "\"auto\", \"off\", the number of a track from 1, or a language such as \"de\"") { kind in
            switch kind {
            case .integer(let number): Int(exactly: number).flatMap { TrackChoice.numbers ~= $0 ? .number($0) : nil }
            case .string(let text): TrackChoice(text)
            default: nil
            }
        }
    }

    /// A string that `Value` can be made of.
    func text<Value: LosslessStringConvertible>(_ key: String, _ type: Value.Type, _ expected: @autoclosure () -> String) -> Value? {
        value(key, expected()) { $0.string.flatMap(Value.init) }
    }

    /// A text of one line, neither empty nor longer than `longest` characters, without control characters.
    func line(_ key: String, _ expected: @autoclosure () -> String, longest: Int) -> String? {
        value(key, "\(expected()), at most \(longest) characters") { kind in
            guard let text = kind.string, 1...longest ~= text.unicodeScalars.count else { return nil }
            return text.unicodeScalars.contains { $0.properties.generalCategory == .control } ? nil : text
        }
    }

    /// A list of FFmpeg's short names, such as `example`.
    func names(_ key: String, _ example: @autoclosure () -> String) -> [String]? {
        value(key, "a list of FFmpeg’s names, such as \(example())") { kind in
            guard case .array(let items) = kind, items.count <= 100 else { return nil }
            let names = items.compactMap { $0.kind.string }.filter { name in
                1...40 ~= name.utf8.count && name.utf8.allSatisfy { 0x61...0x7a ~= $0 || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "_") }
            }
            return names.count == items.count ? names : nil
        }
    }

    /// A path, relative to `folder`, or a URL: an absolute path, or the URL.
    func path(_ key: String, _ expected: @autoclosure () -> String, folder: String) -> String? {
        value(key, expected()) { kind in
            guard let text = kind.string, !text.isEmpty, !text.contains("\0") else { return nil }
            return PlaylistSource(text, relativeTo: folder).location
        }
    }

    /// A command, as `words` reads it; a command of nil is `none`.
    func command(_ key: String, _ words: CommandWords) -> Command?? {
        assert(keys.contains(key), "\(heading) \(key) is not in the grammar")
        guard let entry = entries[key] else { return nil }
        do throws(CommandFault) { return .some(try words.command(entry.value.kind)) } catch {
            complain(error.text, about: key)
            return nil
        }
    }

    /// Seconds, or a clock time in a string; zero only where `orZero`.
    func time(_ key: String, orZero: Bool = false) -> MediaTime? {
        value(key, "seconds \(orZero ? "(0 or more)" : "(more than 0)") or \"mm:ss\", at most 1000 hours") { kind in
            let time: MediaTime
            switch kind {
            case .integer(let seconds):
                guard 0...3_600_000 ~= seconds else { return nil }
                time = MediaTime(nanoseconds: seconds * 1_000_000_000)
            case .float(let seconds):
                guard 0...3_600_000 ~= seconds else { return nil }
                time = MediaTime(seconds: seconds)
            case .string(let text):
                guard let clock = MediaTime(clock: text), clock <= .longest else { return nil }
                time = clock
            default: return nil
            }
            return time > .zero || orZero ? time : nil
        }
    }
}

/// `a, b or c`.
func alternatives(_ words: [String]) -> String {
    words.count < 2 ? words.joined() : words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1]
}

extension TOMLValue.Kind {
    var string: String? { if case .string(let text) = self { text } else { nil } }

    /// What was found, for a complaint; as it stands in the file where that is short.
    var shown: String {
        switch self {
        case .string(let text): "\"\(oneLine(text, longest: 60))\""
        case .integer(let number): "\(number)"
        case .float(let number): "\(number)"
        case .boolean(let flag): "\(flag)"
        case .date: "a date or time without quotes"
        case .array: "an array"
        case .table: "a table"
        }
    }
}
