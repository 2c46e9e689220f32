import KioskPlatform
import KioskVocabulary

/// The visible subtitles from one item time to another.
package enum SubtitleCue: Sendable {
    /// An event of a script, as its line in Matroska: `ReadOrder,Layer,Style,Name,MarginL,MarginR,MarginV,Effect,Text`.
    case line(String, start: MediaTime, end: MediaTime)
    /// Pictures, until the next cue at the latest; an empty list ends the one before. Their places are on `canvas`.
    case pictures([SubtitlePicture], canvas: PixelSize, start: MediaTime, end: MediaTime?)
}

/// A picture of a subtitle.
package struct SubtitlePicture: Sendable {
    package var x: Int, y: Int, width: Int, height: Int
    /// Row by row without gaps, 0xAARRGGBB, premultiplied.
    package var pixels: [UInt32]

    package init(x: Int, y: Int, width: Int, height: Int, pixels: [UInt32]) {
        (self.x, self.y, self.width, self.height, self.pixels) = (x, y, width, height, pixels)
    }
}

/// The script of a text track, for drawing.
package struct SubtitleScript: Sendable {
    /// The headers and styles of the script; nil for a track without, which has the player's look.
    package var header: [UInt8]?
    /// The fonts in the file, by their names.
    package var fonts: [(name: String, bytes: [UInt8])] = []

    package init(header: [UInt8]?) { self.header = header }
}

extension SubtitleCue {
    /// Returns the text of a script's event without its styling. A newline separates lines.
    package static func plainText(ofLine line: String) -> String {
        let fields = line.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false)
        guard fields.count == 9 else { return "" }
        var text = "", isDrawing = false
        var rest = fields[8][...]
        while let character = rest.popFirst() {
            switch character {
            case "{":
                guard let end = rest.firstIndex(of: "}") else {
                    text.append(character)
                    continue
                }
                // `\p1` begins a drawing, `\p0` ends it.
                for tag in rest[..<end].split(separator: "\\") where tag.first == "p" {
                    if let scale = Int(tag.dropFirst()) { isDrawing = scale > 0 }
                }
                rest = rest[rest.index(after: end)...]
            case "\\":
                switch rest.first {
                case "N", "n":
                    rest.removeFirst()
                    text.append("\n")
                case "h":
                    rest.removeFirst()
                    text.append("\u{a0}")
                default: text.append(character)
                }
            default: if !isDrawing { text.append(character) }
            }
        }
        return text.split(separator: "\n").map { $0.trimmingSpaces }.filter { !$0.isEmpty }.joined(separator: "\n")
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        var rest = drop { $0 == " " }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
