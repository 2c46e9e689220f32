import KioskMedia

/// A script's styles, and its lines with a font for each character.
///
/// libass takes a line's characters from one family. If that family lacks some, the line gets the name of another family before them, and
/// the former one after them: `Größe {\fnNoto Sans CJK JP}大{\fn}`.
struct SubtitleLines {
    /// The family and the look of each style, by style name.
    private var styles: [String: (family: String, isBold: Bool, isItalic: Bool)] = [:]

    /// Reads the styles of a script's header.
    init(header: String) {
        for line in header.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "style" else { continue }
            let fields = line[line.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingSpaces }
            guard fields.count > 8, styles.count < 1000 else { continue }
            styles[fields[0]] = (fields[1], fields[7] != "0", fields[8] != "0")
        }
    }

    /// Loads the fonts of all styles.
    func wantFonts(of book: FontBook) {
        for style in styles.values {
            book.want(style.family)
            if style.isBold || style.isItalic { book.want(style.family, isBold: style.isBold, isItalic: style.isItalic) }
        }
    }

    /// Returns an event's line, with a font for each character.
    func prepared(_ line: String, _ book: FontBook) -> String {
        var fields = line.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false)
        guard fields.count == 9 else { return line }
        let style = styles[String(fields[2])] ?? styles["Default"]
        let text = fields[8].unicodeScalars
        var (written, family) = (String.UnicodeScalarView(), style?.family ?? "")
        var fallback: String?
        var index = text.startIndex
        func end() {
            if fallback != nil { written.append(contentsOf: "{\\fn\(family)}".unicodeScalars) }
            fallback = nil
        }
        while index < text.endIndex {
            let scalar = text[index]
            let next = text.index(after: index)
            switch scalar {
            case "{":
                guard let close = text[index...].firstIndex(of: "}") else { break }
                end()
                follow(text[next..<close], style?.family ?? "", &family, book)
                written.append(contentsOf: text[index...close])
                index = text.index(after: close)
                continue
            case "\\" where next < text.endIndex && ["N", "n", "h"].contains(text[next]):
                written.append(contentsOf: text[index...next])
                index = text.index(after: next)
                continue
            default: break
            }
            if Self.isDrawn(scalar) {
                let other = book.family(for: scalar.value, instead: family)
                if other != fallback {
                    end()
                    if let other { written.append(contentsOf: "{\\fn\(other)}".unicodeScalars) }
                    fallback = other
                }
            }
            written.append(scalar)
            index = next
        }
        fields[8] = Substring(String(written))
        return fields.joined(separator: ",")
    }

    /// Follows the font tags of a line.
    private func follow(_ tags: Substring.UnicodeScalarView, _ styled: String, _ family: inout String, _ book: FontBook) {
        for tag in String(tags).split(separator: "\\") {
            let tag = tag.trimmingSpaces
            if tag.hasPrefix("fn") {
                let name = String(tag.dropFirst(2))
                family = name.isEmpty ? styled : name
                book.want(family)
            } else if tag == "r" || tag.hasPrefix("r") && styles[String(tag.dropFirst())] != nil {
                family = styles[String(tag.dropFirst())]?.family ?? styled
            } else if tag == "b1" {
                book.want(family, isBold: true)
            } else if tag == "i1" {
                book.want(family, isItalic: true)
            }
        }
    }

    /// Whether a character has a shape of its own: marks go with the previous letter.
    private static func isDrawn(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .unassigned, .privateUse, .spaceSeparator, .lineSeparator, .paragraphSeparator, .nonspacingMark,
            .enclosingMark, .spacingMark:
            false
        default: true
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        var rest = drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return String(rest)
    }
}
