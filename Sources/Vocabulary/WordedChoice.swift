/// A value in kiosk.conf or on the command line: one of some words, or a text of another form.
package protocol WordedChoice: Hashable, Sendable, LosslessStringConvertible {
    /// The words and their values.
    static var words: KeyValuePairs<String, Self> { get }
    /// Parses a text that is none of the words; nil if it is invalid.
    static func other(_ text: String) -> Self?
    /// The text of a value without a word.
    var otherText: String { get }
}

extension WordedChoice {
    /// nil if `text` is none of the words, and has no other valid form.
    package init?(_ text: String) {
        guard let choice = Self.words.first(where: { $0.key == text })?.value ?? Self.other(text) else { return nil }
        self = choice
    }

    package var description: String { Self.words.first { $0.value == self }?.key ?? otherText }
}

/// Whether a text can be a name: one line of 1 to 256 bytes.
func isName(_ text: String) -> Bool {
    1...256 ~= text.utf8.count && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
}
