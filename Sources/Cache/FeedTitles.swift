import KioskPlatform

/// The titles of a news feed: of each `item` of RSS, and each `entry` of Atom (RFC 4287). Pure.
///
/// It parses only the XML that titles need: tags, CDATA and character references. It knows no entities of a document, and loads nothing
/// external. It reads malformed text as far as possible, in one pass over the given bytes.
struct FeedTitles {
    private(set) var titles: [String] = []

    /// The most titles, and the most characters of a title.
    static let most = 50, longest = 300

    private let bytes: ArraySlice<UInt8>
    private var offset: Int
    private let isLatin: Bool

    /// Returns the titles in these bytes, in order.
    static func titles(in bytes: [UInt8]) -> [String] {
        var reader = FeedTitles(bytes)
        reader.read()
        return reader.titles
    }

    private init(_ bytes: [UInt8]) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        self.bytes = bytes.starts(with: mark) ? bytes[3...] : bytes[...]
        offset = self.bytes.startIndex
        let head = String(decoding: self.bytes.prefix(200), as: UTF8.self).lowercased()
        isLatin = head.hasPrefix("<?xml") && (head.contains("iso-8859-1") || head.contains("windows-1252"))
    }

    /// A piece of the document.
    private enum Piece {
        case text(String)
        case begin(String, isEmpty: Bool)
        case end(String)
        case other
    }

    private mutating func read() {
        // The open elements on the way to a title.
        var path: [String] = []
        var depth = 0
        var title: String?
        while titles.count < Self.most, let piece = next() {
            switch piece {
            case .other: break
            case .text(let text):
                // A title may have a megabyte.
                if let before = title, depth == path.count, before.utf8.count < 16 * Self.longest { title = before + text }
            case .begin(let name, let isEmpty):
                depth += 1
                if depth == path.count + 1, Self.isWanted(name, in: path) {
                    path.append(name)
                    if name == "title" { title = "" }
                }
                if isEmpty { end(&path, &depth, &title) }
            case .end: if depth > 0 { end(&path, &depth, &title) }
            }
        }
    }

    /// Returns whether an element leads to a title.
    private static func isWanted(_ name: String, in path: [String]) -> Bool {
        switch name {
        case "title": path.last == "item" || path.last == "entry"
        case "item", "entry": !path.contains { $0 == "item" || $0 == "entry" }
        case "rss", "channel", "feed", "rdf:rdf": true
        default: false
        }
    }

    private mutating func end(_ path: inout [String], _ depth: inout Int, _ title: inout String?) {
        if depth == path.count {
            if let whole = title, path.last == "title" {
                let text = Self.plain(whole)
                if !text.isEmpty { titles.append(text) }
                title = nil
            }
            path.removeLast()
        }
        depth -= 1
    }

    // MARK: Pieces

    private mutating func next() -> Piece? {
        guard offset < bytes.endIndex else { return nil }
        if bytes[offset] != UInt8(ascii: "<") {
            let end = bytes[offset...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.endIndex
            defer { offset = end }
            return .text(Self.unescaped(text(bytes[offset..<end])))
        }
        if skip("<![CDATA[") {
            let end = index(of: "]]>")
            defer { offset = min(end + 3, bytes.endIndex) }
            return .text(text(bytes[offset..<end]))
        }
        if skip("<!--") {
            offset = min(index(of: "-->") + 3, bytes.endIndex)
            return .other
        }
        // A “>” in quotes does not end the tag.
        var (end, quote) = (offset + 1, UInt8(0))
        while end < bytes.endIndex, quote != 0 || bytes[end] != UInt8(ascii: ">") {
            let byte = bytes[end]
            if quote == 0, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { quote = byte } else if byte == quote { quote = 0 }
            end += 1
        }
        let tag = bytes[(offset + 1)..<end]
        offset = min(end + 1, bytes.endIndex)
        guard let first = tag.first, first != UInt8(ascii: "?"), first != UInt8(ascii: "!") else { return .other }
        let isEnd = first == UInt8(ascii: "/")
        let name = tag.dropFirst(isEnd ? 1 : 0).prefix { !" \t\r\n/".utf8.contains($0) }.prefix(40)
        let text = String(decoding: name, as: UTF8.self).lowercased()
        return isEnd ? .end(text) : .begin(text, isEmpty: tag.last == UInt8(ascii: "/"))
    }

    private mutating func skip(_ mark: String) -> Bool {
        guard bytes[offset...].starts(with: mark.utf8) else { return false }
        offset += mark.utf8.count
        return true
    }

    /// Returns the place of a mark of three bytes; the end if there is none.
    private func index(of mark: String) -> Int {
        let mark = Array(mark.utf8)
        var place = offset
        while place + mark.count <= bytes.endIndex {
            if bytes[place..<place + mark.count].elementsEqual(mark) { return place }
            place += 1
        }
        return bytes.endIndex
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String {
        let bytes = bytes.prefix(16 * Self.longest)
        return isLatin ? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })) : String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Text

    /// Returns the text with `&amp;`, `&#8217;` and other references replaced.
    static func unescaped(_ text: String) -> String {
        guard text.contains("&") else { return text }
        var (result, rest) = ("", text[...])
        while let sign = rest.firstIndex(of: "&") {
            result += rest[..<sign]
            rest = rest[sign...]
            guard let end = rest.prefix(12).firstIndex(of: ";"), let scalar = scalar(rest[rest.index(after: sign)..<end]) else {
                result.append("&")
                rest = rest.dropFirst()
                continue
            }
            result.unicodeScalars.append(scalar)
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func scalar(_ name: Substring) -> Unicode.Scalar? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case "nbsp": "\u{a0}"
        default:
            if name.hasPrefix("#x") || name.hasPrefix("#X") {
                UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
            } else if name.hasPrefix("#") {
                UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
            } else {
                nil
            }
        }
    }

    /// Returns one line without HTML tags, which Atom titles contain in escaped form, and without control characters.
    static func plain(_ text: String) -> String {
        var (result, isMark, isSpace) = ("", false, false)
        let characters = Array(text)
        // An unclosed “<” is an ordinary character.
        let lastEnd = characters.lastIndex(of: ">") ?? -1
        for (index, character) in characters.enumerated() {
            if character == "<", index + 1 < lastEnd, characters[index + 1].isLetter || characters[index + 1] == "/" { isMark = true }
            if !isMark {
                if character.isWhitespace {
                    isSpace = true
                } else if !character.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
                    if isSpace, !result.isEmpty { result.append(" ") }
                    isSpace = false
                    result.append(character)
                }
            } else if character == ">" {
                isMark = false
            }
        }
        return String(unescaped(result).prefix(longest))
    }
}
