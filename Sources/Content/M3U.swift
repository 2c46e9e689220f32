/// The text of an .m3u or .m3u8 file: a list of paths and URLs, one a line, or an HLS playlist, which kiosk leaves to libavformat.
struct M3U: Equatable {
    /// The longest list that kiosk reads, in bytes.
    static let longestText = 4 << 20

    /// A path or a URL.
    struct Entry: Hashable, ExpressibleByStringLiteral {
        /// The text as in the file.
        var text: String
        /// The line, from 1, if it is not UTF-8: its bytes then count as Latin-1.
        var foreignLine: Int?

        init(_ text: String, foreignLine: Int? = nil) { (self.text, self.foreignLine) = (text, foreignLine) }
        init(stringLiteral value: String) { self.init(value) }
    }

    var entries: [Entry] = []
    /// Lines, from 1, that cannot be paths.
    var unreadableLines: [Int] = []
    /// Whether it is an HLS playlist, whose entries are segments of one stream.
    var isHLS = false

    /// Parses any bytes: UTF-8, UTF-16 with a byte-order mark, and Latin-1 line by line. Skips comments and `#EXTINF` lines, and trims
    /// blanks around an entry. Lines may end in LF, CRLF or CR.
    init(_ text: [UInt8]) {
        let text = Self.fromUTF16(text) ?? text
        var rest = text.starts(with: [0xEF, 0xBB, 0xBF]) ? text[3...] : text[...]
        var number = 0
        while !rest.isEmpty {
            number += 1
            let line = rest.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            rest = rest[line.endIndex...]
            rest = rest.dropFirst(rest.starts(with: "\r\n".utf8) ? 2 : 1)
            let content = line.drop { $0 == 0x20 || $0 == 0x09 }
            guard let first = content.first else { continue }
            if first == UInt8(ascii: "#") {
                if content.starts(with: "#EXT-X-".utf8) { isHLS = true }
                continue
            }
            let entry = String(validating: content, as: UTF8.self)
            var scalars = entry?.unicodeScalars ?? String.UnicodeScalarView(content.map { UnicodeScalar($0) })
            while scalars.last == " " || scalars.last == "\t" { scalars.removeLast() }
            // File names cannot contain a zero byte, and the system would cut the path there.
            if scalars.contains("\0") {
                unreadableLines.append(number)
            } else {
                entries.append(Entry(String(scalars), foreignLine: entry == nil ? number : nil))
            }
        }
    }

    /// Returns the text in UTF-8 if it begins with the byte-order mark of UTF-16; else nil.
    private static func fromUTF16(_ text: [UInt8]) -> [UInt8]? {
        let isLittle = text.starts(with: [0xFF, 0xFE])
        guard isLittle || text.starts(with: [0xFE, 0xFF]) else { return nil }
        let units = stride(from: 2, to: text.count - 1, by: 2).map { index in
            UInt16(text[index + (isLittle ? 1 : 0)]) << 8 | UInt16(text[index + (isLittle ? 0 : 1)])
        }
        return Array(String(decoding: units, as: UTF16.self).utf8)
    }
}
