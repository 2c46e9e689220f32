import KioskPlatform

/// A JSON value (RFC 8259), within the needs of the control socket: at most 16 levels of nesting, numbers as `Double`, the last of several
/// equal keys.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The member of an object with this key; nil if there is none, or the value is no object.
    package subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    package var text: String? { if case .string(let text) = self { text } else { nil } }
    /// The value as a whole number.
    package var integer: Int? { if case .number(let number) = self { Int(exactly: number) } else { nil } }

    package var number: Double? { if case .number(let number) = self { number } else { nil } }
    /// The members of an object, sorted by key; empty for other values.
    package var members: [(name: String, value: JSONValue)] {
        if case .object(let members) = self { members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } } else { [] }
    }
    /// The value for people: strings without quotes.
    package var shown: String { text ?? line }

    /// Parses a text that is a single value; nil for anything else.
    package init?(_ text: some StringProtocol) {
        var reader = JSONReader(Array(text.utf8))
        guard let value = reader.document() else { return nil }
        self = value
    }

    /// The value on one line: sorted keys, whole numbers without a decimal point.
    package var line: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): value.isFinite ? Int(exactly: value).map { "\($0)" } ?? "\(value)" : "null"
        case .string(let text): Self.quoted(text)
        case .array(let values): "[" + values.map(\.line).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { Self.quoted($0.key) + ":" + $0.value.line }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var line = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": line += "\\\""
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case _ where scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value:
                line += "\\u" + scalar.value.padded(to: 4, radix: 16)
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line + "\""
    }
}

/// A type that converts to JSON: strings, numbers, flags, arrays, and null for nil.
package protocol JSONConvertible {
    var json: JSONValue { get }
}

extension String: JSONConvertible { package var json: JSONValue { .string(self) } }
extension Bool: JSONConvertible { package var json: JSONValue { .bool(self) } }
extension Double: JSONConvertible { package var json: JSONValue { .number(self) } }
extension Float: JSONConvertible { package var json: JSONValue { .number(Double(self)) } }
extension Int: JSONConvertible { package var json: JSONValue { .number(Double(self)) } }
extension Int64: JSONConvertible { package var json: JSONValue { .number(Double(self)) } }
extension JSONValue: JSONConvertible { package var json: JSONValue { self } }
extension Dictionary: JSONConvertible where Key == String, Value == JSONValue { package var json: JSONValue { .object(self) } }
extension Array: JSONConvertible where Element: JSONConvertible { package var json: JSONValue { .array(map(\.json)) } }
extension Optional: JSONConvertible where Wrapped: JSONConvertible { package var json: JSONValue { map(\.json) ?? .null } }

/// A parser of one value.
private struct JSONReader {
    private let bytes: [UInt8]
    private var place = 0
    private static let deepest = 16

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    mutating func document() -> JSONValue? {
        guard let value = value(depth: 0) else { return nil }
        skipBlanks()
        return place == bytes.count ? value : nil
    }

    private mutating func skipBlanks() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { place += 1 }
    }

    private mutating func take(_ byte: Character) -> Bool {
        guard next == byte.asciiValue else { return false }
        place += 1
        return true
    }

    private mutating func takeWord(_ word: String) -> Bool {
        guard bytes[place...].starts(with: word.utf8) else { return false }
        place += word.utf8.count
        return true
    }

    private mutating func value(depth: Int) -> JSONValue? {
        guard depth < Self.deepest else { return nil }
        skipBlanks()
        switch next.map({ Character(Unicode.Scalar($0)) }) {
        case "{": return object(depth: depth)
        case "[": return array(depth: depth)
        case "\"": return string().map { .string($0) }
        case "t": return takeWord("true") ? .bool(true) : nil
        case "f": return takeWord("false") ? .bool(false) : nil
        case "n": return takeWord("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> JSONValue? {
        place += 1
        var members: [String: JSONValue] = [:]
        skipBlanks()
        if take("}") { return .object(members) }
        repeat {
            skipBlanks()
            guard next == 0x22, let key = string() else { return nil }
            skipBlanks()
            guard take(":"), let member = value(depth: depth + 1) else { return nil }
            members[key] = member
            skipBlanks()
        } while take(",")
        return take("}") ? .object(members) : nil
    }

    private mutating func array(depth: Int) -> JSONValue? {
        place += 1
        var values: [JSONValue] = []
        skipBlanks()
        if take("]") { return .array(values) }
        repeat {
            guard let element = value(depth: depth + 1) else { return nil }
            values.append(element)
            skipBlanks()
        } while take(",")
        return take("]") ? .array(values) : nil
    }

    private mutating func digits() -> Bool {
        let begin = place
        while let byte = next, 0x30...0x39 ~= byte { place += 1 }
        return place > begin
    }

    private mutating func number() -> JSONValue? {
        let begin = place
        _ = take("-")
        if !take("0"), !digits() { return nil }
        if take("."), !digits() { return nil }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            if !digits() { return nil }
        }
        guard let value = Double(String(decoding: bytes[begin..<place], as: UTF8.self)), value.isFinite else { return nil }
        return .number(value)
    }

    private mutating func string() -> String? {
        place += 1
        var text: [UInt8] = []
        while let byte = next {
            place += 1
            switch byte {
            case 0x22: return String(validating: text, as: UTF8.self)
            case 0x5C:
                guard let scalar = escape() else { return nil }
                text += UTF8.encode(scalar)!
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        place += 1
        switch Character(Unicode.Scalar(byte)) {
        case "\"": return "\""
        case "\\": return "\\"
        case "/": return "/"
        case "b": return "\u{8}"
        case "f": return "\u{c}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u":
            guard let first = fourDigits() else { return nil }
            guard UTF16.isLeadSurrogate(UInt16(first)) else { return Unicode.Scalar(first) }
            guard take("\\"), take("u"), let second = fourDigits(), UTF16.isTrailSurrogate(UInt16(second)) else { return nil }
            return Unicode.Scalar(0x10000 + (first & 0x3FF) << 10 + second & 0x3FF)
        default: return nil
        }
    }

    private mutating func fourDigits() -> UInt32? {
        guard place + 4 <= bytes.count else { return nil }
        let digits = bytes[place..<place + 4]
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        place += 4
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
