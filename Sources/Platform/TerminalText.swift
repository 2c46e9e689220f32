// Text for a terminal: its width in columns, and the removal of control characters.

extension Character {
    /// The columns that it takes: 2 for wide East Asian characters and for emoji, else 1.
    fileprivate var columns: Int {
        guard let first = unicodeScalars.first else { return 0 }
        switch first.value {
        case 0..<0x1100: return 1
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default: return first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}") ? 2 : 1
        }
    }
}

extension String {
    /// The columns that it takes on a terminal.
    package var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Returns its beginning in at most `columns` columns, with an ellipsis if something was cut off.
    package func cut(toColumns columns: Int) -> String {
        if self.columns <= columns { return self }
        var result = ""
        var rest = columns - 1
        for character in self {
            rest -= character.columns
            if rest < 0 { break }
            result.append(character)
        }
        return columns > 0 ? result + "…" : ""
    }

    /// Returns its beginning and its end in at most `columns` columns, with an ellipsis between them if it is cut. A file's suffix stays.
    package func cutInside(toColumns columns: Int) -> String {
        guard self.columns > columns else { return self }
        func fitting(_ characters: some Sequence<Character>, _ room: Int) -> [Character] {
            var used = 0
            return characters.prefix {
                used += $0.columns
                return used <= room
            }
        }
        return String(fitting(self, columns / 2)) + "…" + String(fitting(reversed(), (columns - 1) / 2).reversed())
    }

    /// The text ``withoutCredentials``, with control characters, line separators and direction overrides replaced. File names may come from
    /// anybody's USB stick, and must not move the cursor, change colours or imitate others.
    package var printable: String { withoutCredentials.replacingControls { _ in false } }

    /// The same for a text of several lines, which keeps its newlines and tabs.
    package var printableLines: String { withoutCredentials.replacingControls { $0 == "\n" || $0 == "\t" } }

    private func replacingControls(but isWanted: (Unicode.Scalar) -> Bool) -> String {
        func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: isWanted(scalar)
            default: !(0x202A...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value)
            }
        }
        if unicodeScalars.allSatisfy(isHarmless) { return self }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars { result.append(isHarmless(scalar) ? scalar : "\u{FFFD}") }
        return String(result)
    }
}
