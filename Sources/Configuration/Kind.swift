// The types of keys: how to read a value, complain about it, write it, and check it in an editor.
import KioskCommands
import KioskPlatform
import KioskVocabulary

/// The place of a value while it is read.
struct Place {
    /// The name of the key.
    var key: String
    var table: TableReader

    /// The folder that relative paths start from.
    var folder: String { table.folder }

    /// Complains about a value, or about a part of it.
    func refuse(_ value: TOMLValue, _ expected: String, _ advice: String = "") {
        complain("expected \(expected), found \(value.kind.shown)\(advice)", at: value.position)
    }

    func complain(_ text: String, at position: SourcePosition) {
        table.complaints.add("\(table.heading) \(key): \(text)", at: position)
    }
}

/// A type of values.
struct Kind<Value: Sendable>: Sendable {
    /// Returns the value; nil after a complaint if it is invalid.
    let read: @Sendable (TOMLValue, Place) -> Value?
    /// Returns a value in TOML.
    let shown: @Sendable (Value) -> String
    /// Returns the members of a JSON Schema.
    let schema: @Sendable () -> String
    /// The heading of a table that is open to any key.
    var heading: String?

    init(
        schema: @autoclosure @escaping @Sendable () -> String, shown: @escaping @Sendable (Value) -> String,
        heading: String? = nil, read: @escaping @Sendable (TOMLValue, Place) -> Value?
    ) {
        (self.read, self.shown, self.schema, self.heading) = (read, shown, schema, heading)
    }

    /// A type whose values `make` makes of TOML values. `make` also gets the folder that relative paths start from.
    init(
        _ expected: @autoclosure @escaping @Sendable () -> String, schema: @autoclosure @escaping @Sendable () -> String,
        shown: @escaping @Sendable (Value) -> String, make: @escaping @Sendable (TOMLValue.Kind, String) -> Value?
    ) {
        self.init(schema: schema(), shown: shown) { value, place in
            let made = make(value.kind, place.folder)
            if made == nil { place.refuse(value, expected()) }
            return made
        }
    }

    /// Returns this type with its values converted.
    func map<Other>(_ make: @escaping @Sendable (Value) -> Other, back: @escaping @Sendable (Other) -> Value) -> Kind<Other> {
        let kind = self
        return Kind<Other>(schema: kind.schema(), shown: { kind.shown(back($0)) }, read: { kind.read($0, $1).map(make) })
    }
}

extension Kind where Value == Bool {
    /// `true` or `false`.
    static var flag: Self {
        Self("true or false", schema: #""type": "boolean""#, shown: { "\($0)" }) { value, _ in
            if case .boolean(let flag) = value { flag } else { nil }
        }
    }
}

extension Kind where Value == Int {
    /// A whole number in `range`, multiplied by `unit`.
    static func number(in range: ClosedRange<Int>, unit: Int = 1) -> Self {
        Self(
            "a whole number from \(range.lowerBound) to \(range.upperBound)",
            schema: "\"type\": \"integer\", \"minimum\": \(range.lowerBound), \"maximum\": \(range.upperBound)", shown: { "\($0 / unit)" }
        ) { value, _ in
            guard case .integer(let number) = value, let number = Int(exactly: number), range.contains(number) else { return nil }
            return number * unit
        }
    }
}

extension Kind where Value == Double {
    /// 0…1.
    static var fraction: Self { number(in: 0...1) }

    /// A number in `range`.
    static func number(in range: ClosedRange<Double>) -> Self {
        let (least, most) = (decimal(range.lowerBound), decimal(range.upperBound))
        return Self(
            "a number from \(least) to \(most)", schema: "\"type\": \"number\", \"minimum\": \(least), \"maximum\": \(most)",
            shown: { "\($0)" }
        ) { value, _ in
            switch value {
            case .integer(let number): range ~= Double(number) ? Double(number) : nil
            case .float(let number): range ~= number ? number : nil
            default: nil
            }
        }
    }
}

extension Kind where Value: CaseIterable {
    /// A case of an enumeration, by its word.
    static func word(_ word: @escaping @Sendable (Value) -> String) -> Self {
        let words = { @Sendable in Value.allCases.map { quoted(word($0)) } }
        return Self(alternatives(words()), schema: "\"enum\": [\(words().joined(separator: ", "))]", shown: { quoted(word($0)) }) {
            value, _ in value.string.flatMap { text in Value.allCases.first { word($0) == text } }
        }
    }
}

extension Kind where Value: RawRepresentable<String> & CaseIterable {
    static var word: Self { word { $0.rawValue } }
}

extension Kind where Value == VideoGravity {
    static var gravity: Self { word { $0.word } }
}

extension Kind where Value == Region {
    static var region: Self {
        Self(
            "left, top, width and height in hundredths of the display, such as \"60 60 35 35\"", schema: #""type": "string""#,
            shown: { quoted($0.text) }
        ) { value, _ in value.string.flatMap { Region($0) } }
    }
}

extension Kind where Value == Rotation {
    /// Degrees clockwise.
    static var rotation: Self {
        let angles = { @Sendable in Rotation.allCases.map { "\($0.rawValue)" } }
        return Self(alternatives(angles()), schema: "\"enum\": [\(angles().joined(separator: ", "))]", shown: { "\($0.rawValue)" }) {
            value, _ in
            guard case .integer(let degrees) = value else { return nil }
            return Int(exactly: degrees).flatMap(Rotation.init(rawValue:))
        }
    }
}

extension Kind where Value: LosslessStringConvertible {
    /// A string that makes a `Value`; `pattern` is a regular expression (ECMA 262) for editors, which may accept more.
    static func text(_ expected: String, pattern: String? = nil) -> Self {
        let schema = { @Sendable in #""type": "string""# + (pattern.map { ", \"pattern\": \(quoted($0))" } ?? "") }
        return Self(expected, schema: schema(), shown: { quoted($0.description) }) { value, _ in value.string.flatMap(Value.init) }
    }
}

extension Kind {
    /// A string that makes a valid value, or `"off"`, which becomes nil.
    static func orOff<Wrapped: LosslessStringConvertible>(
        _ expected: String, pattern: String? = nil, _ isGood: @escaping @Sendable (Wrapped) -> Bool
    ) -> Self where Value == Wrapped? {
        let kind = Kind<Wrapped>.text(expected, pattern: pattern)
        return Self(expected, schema: kind.schema(), shown: { $0.map(kind.shown) ?? quoted("off") }) { value, _ in
            guard let text = value.string, text != "off" else { return value.string.map { _ in nil } }
            return Wrapped(text).flatMap { isGood($0) ? .some($0) : nil }
        }
    }
}

extension Kind where Value == ByteCount? {
    /// A cache's size limit: less than a megabyte would keep nothing useful.
    static func cacheSize(_ example: String) -> Self {
        orOff("\"off\" or a size such as \"\(example)\", at least 1 MB") { $0 >= ByteCount(1_000_000) }
    }
}

extension Kind where Value == Color {
    /// `#rrggbb`.
    static func color(_ example: String) -> Self { text("a colour such as \"\(example)\"", pattern: "^#[0-9A-Fa-f]{6}$") }
}

extension Kind where Value == TrackChoice {
    /// The track of a kind to play.
    static var track: Self {
        Self(
            "\"auto\", \"off\", the number of a track from 1, or a language such as \"de\"",
            schema: #""type": ["string", "integer"], "minimum": 1, "maximum": \#(TrackChoice.numbers.upperBound)"#,
            shown: { quoted($0.description) }
        ) { value, _ in
            switch value {
            case .integer(let number): Int(exactly: number).flatMap { TrackChoice.numbers ~= $0 ? .number($0) : nil }
            case .string(let text): TrackChoice(text)
            default: nil
            }
        }
    }
}

extension Kind where Value == FrameRate {
    /// Frames a second.
    static var frameRate: Self {
        Self(
            "pictures a second from 10 to 240, such as 25, \"29.97\" or \"30000/1001\"", schema: #""type": ["string", "number"]"#,
            shown: { quoted($0.description) }
        ) { value, _ in
            switch value {
            case .integer(let number): Int(exactly: number).flatMap { FrameRate($0) }
            case .float(let number): FrameRate(number)
            case .string(let text): FrameRate(text)
            default: nil
            }
        }
    }
}

extension Kind where Value == MediaTime {
    /// A time above zero: seconds, or a clock time in a string.
    static var time: Self { time(orZero: false) }
    /// A time of zero or more, likewise.
    static var timeOrZero: Self { time(orZero: true) }

    private static func time(orZero: Bool) -> Self {
        let clock = quoted(#"^([0-9]{1,4}:[0-5][0-9]|[0-9]{1,6}):[0-5][0-9](\.[0-9]{1,9})?$"#)
        let schema = { @Sendable in
            "\"anyOf\": [{ \"type\": \"number\", \"minimum\": \(orZero ? "0" : "0.000000001"), \"maximum\": 3600000 }, "
                + "{ \"type\": \"string\", \"pattern\": \(clock) }]"
        }
        return Self(
            "seconds \(orZero ? "(0 or more)" : "(more than 0)") or \"mm:ss\", at most 1000 hours", schema: schema(),
            shown: { $0.seconds == $0.seconds.rounded() ? "\(Int($0.seconds))" : "\($0.seconds)" }
        ) { value, _ in
            let time: MediaTime? =
                switch value {
                case .integer(let seconds): 0...3_600_000 ~= seconds ? MediaTime(nanoseconds: seconds * 1_000_000_000) : nil
                case .float(let seconds): 0...3_600_000 ~= seconds ? .seconds(seconds) : nil
                case .string(let text): MediaTime(clock: text)
                default: nil
                }
            return time.flatMap { $0 <= .longest && ($0 > .zero || orZero) ? $0 : nil }
        }
    }
}

extension Kind where Value == MediaTime? {
    /// A time after which something happens; zero becomes nil, for never.
    static var timeOrNever: Self { Kind<MediaTime>.timeOrZero.map({ $0 > .zero ? $0 : nil }, back: { $0 ?? .zero }) }
}

extension Kind where Value == PlaylistSource {
    /// A path, relative to the file's folder, or a URL.
    static func source(_ expected: String) -> Self {
        Self(expected, schema: #""type": "string", "minLength": 1"#, shown: { quoted($0.location) }) { value, folder in
            guard let text = value.string, !text.isEmpty, !text.contains("\0") else { return nil }
            return PlaylistSource(text, relativeTo: folder)
        }
    }
}

extension Kind where Value == String {
    /// A path, relative to the file's folder, or a URL. The result is an absolute path, or the URL.
    static func pathOrURL(_ expected: String) -> Self {
        Kind<PlaylistSource>.source(expected).map({ $0.location }, back: { PlaylistSource($0, relativeTo: "/") })
    }

    /// A path, relative to the file's folder. The result is an absolute path.
    static func path(_ expected: String) -> Self {
        let kind = pathOrURL(expected)
        return Self(schema: kind.schema(), shown: kind.shown) { value, place in
            guard value.kind.string.map(isURL) != true else {
                place.refuse(value, expected)
                return nil
            }
            return kind.read(value, place)
        }
    }

    /// An absolute path with this beginning.
    static func path(beginning start: String, _ expected: String) -> Self {
        Self(expected, schema: "\"type\": \"string\", \"minLength\": 2, \"pattern\": \(quoted("^\(start)"))", shown: quoted) { value, _ in
            guard let path = value.string, path.hasPrefix(start), path.utf8.count > 1, !path.contains("\0") else { return nil }
            return path
        }
    }

    /// The absolute path of a folder.
    static var folder: Self { path(beginning: "/", "the absolute path of a folder") }

    /// One line of text, not empty, at most `longest` characters, without control characters.
    static func line(_ expected: String, longest: Int) -> Self {
        Self(
            "\(expected), at most \(longest) characters", schema: "\"type\": \"string\", \"minLength\": 1, \"maxLength\": \(longest)",
            shown: quoted
        ) { value, _ in
            guard let text = value.string, 1...longest ~= text.unicodeScalars.count else { return nil }
            return text.unicodeScalars.contains { $0.properties.generalCategory == .control } ? nil : text
        }
    }
}

extension Kind where Value == [String] {
    /// A list of FFmpeg's short names, such as `example`.
    static func names(_ example: String) -> Self {
        Self(
            "a list of FFmpeg’s names, such as \(example)",
            schema: #""type": "array", "maxItems": 100, "items": { "type": "string", "pattern": "^[a-z0-9_]{1,40}$" }"#,
            shown: { "[\($0.map(quoted).joined(separator: ", "))]" }
        ) { value, _ in
            guard case .array(let items) = value, items.count <= 100 else { return nil }
            let names = items.compactMap { $0.kind.string }.filter { name in
                1...40 ~= name.utf8.count && name.utf8.allSatisfy { 0x61...0x7a ~= $0 || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "_") }
            }
            return names.count == items.count ? names : nil
        }
    }

    /// Header lines of a request: `{ NAME = "TEXT", … }`, limited to valid HTTP.
    static var headers: Self {
        Self(
            "names and texts, such as { Authorization = \"Bearer 0123\" }",
            schema: #""type": "object", "maxProperties": 50, "additionalProperties": { "type": "string" }"#, shown: { _ in "{}" }
        ) { value, _ in
            guard case .table(let entries) = value, entries.count <= 50 else { return nil }
            let lines = entries.compactMap { entry in entry.value.kind.string.flatMap { StreamSettings.header(entry.key, $0) } }
            return lines.count == entries.count ? lines : nil
        }
    }

    /// Paths of folders, relative to the file's folder; the word `usb` stands for the folder of sticks.
    static var folders: Self {
        list(
            "[\"/srv/videos\", \"usb\"]", of: "the path of a folder or \"usb\"", schema: #", "minLength": 1"#,
            shown: { "[\($0.map(quoted).joined(separator: ", "))]" }
        ) { text, folder in
            if text.isEmpty || text.contains("\0") || isURL(text) { return nil }
            return text == "usb" ? StickMounts.folder : PlaylistSource(text, relativeTo: folder).location
        }
    }
}

extension Kind {
    /// A list of strings. `make` converts each one, given the folder that relative paths start from; it returns nil for an invalid one.
    static func list<Element: Sendable>(
        _ example: String, of expected: String, schema: String = "", shown: @escaping @Sendable (Value) -> String,
        _ make: @escaping @Sendable (String, _ folder: String) -> Element?, advice: @escaping @Sendable (String) -> String = { _ in "" }
    ) -> Self where Value == [Element] {
        Self(schema: "\"type\": \"array\", \"items\": { \"type\": \"string\"\(schema) }", shown: shown) { value, place in
            guard case .array(let items) = value.kind else {
                place.refuse(value, "a list such as \(example)")
                return nil
            }
            return items.compactMap { item in
                let text = item.kind.string
                let element = text.flatMap { make($0, place.folder) }
                if element == nil { place.refuse(item, expected, text.map(advice) ?? "") }
                return element
            }
        }
    }
}

extension Kind where Value == Command? {
    /// A command in words, or `none`.
    static var commandOrNone: Self { commandOrNone { CommandWords(folder: $0) } }

    fileprivate static func commandOrNone(_ words: @escaping @Sendable (_ folder: String) -> CommandWords) -> Self {
        Self(schema: #""type": "string""#, shown: { $0.map(shownCommand) ?? quoted("none") }) { value, place in
            do throws(CommandFault) { return .some(try words(place.folder).command(value.kind)) } catch {
                place.complain(error.text, at: value.position)
                return nil
            }
        }
    }
}

extension Kind where Value == Command {
    /// A command in words; `advice` says what to do instead of `none`.
    static func command(
        otherwise advice: String, _ words: @escaping @Sendable (_ folder: String) -> CommandWords
    ) -> Self {
        let kind = Kind<Command?>.commandOrNone(words)
        return Self(schema: kind.schema(), shown: { kind.shown($0) }) { value, place in
            guard let read = kind.read(value, place) else { return nil }
            if read == nil { place.complain("expected a command; \(advice)", at: value.position) }
            return read
        }
    }
}

/// Returns a default command as kiosk.conf writes it.
private func shownCommand(_ command: Command) -> String {
    if case .player(.selectItem(let number)) = command { return quoted("item \(number)") }
    for entry in CommandTable.ofViewers {
        for case .plain(command, _, _) in entry.forms { return quoted(entry.name) }
    }
    return quoted("none")
}

/// `a, b or c`.
package func alternatives(_ words: [String]) -> String {
    words.count < 2 ? words.joined() : words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1]
}

/// Returns a basic string of TOML, which is also a JSON string.
func quoted(_ text: String) -> String { JSONValue.string(text).line }
