/// The text of an .m3u or .m3u8 file: a list of paths and URLs, one a line, or an HLS playlist, which is not for us to read.
struct M3U: Equatable {
    /// The longest list that is read, in bytes.
    static let longestText = 4 << 20

    /// Paths and URLs as they stand there, in order.
    var entries: [String] = []
    /// Lines, from 1, that are not UTF-8.
    var unreadableLines: [Int] = []
    /// Whether it is an HLS playlist, whose entries are pieces of one stream.
    var isHLS = false

    /// Reads any bytes. Comments and `#EXTINF` lines are skipped, blanks around an entry dropped; lines may end in LF, CRLF or CR.
    init(_ text: [UInt8]) {
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
            guard let entry = String(validating: content, as: UTF8.self) else {
                unreadableLines.append(number)
                continue
            }
            var scalars = entry.unicodeScalars
            while scalars.last == " " || scalars.last == "\t" { scalars.removeLast() }
            // No file name contains one, and the system would cut the path there.
            if scalars.contains("\0") { unreadableLines.append(number) } else { entries.append(String(scalars)) }
        }
    }
}
