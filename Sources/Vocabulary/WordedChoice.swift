/// What is written in kiosk.conf, or on the command line, as one of some words, or as a text of another shape.
package protocol WordedChoice: Hashable, Sendable, LosslessStringConvertible {
    /// The words, and what they stand for.
    static var words: KeyValuePairs<String, Self> { get }
    /// What a text that is none of the words stands for; nil for nothing.
    static func other(_ text: String) -> Self?
    /// The text of what no word stands for.
    var otherText: String { get }
}

extension WordedChoice {
    /// nil when `text` is none of the words, and has not the shape of anything else.
    package init?(_ text: String) {
        guard let choice = Self.words.first(where: { $0.key == text })?.value ?? Self.other(text) else { return nil }
        self = choice
    }

    package var description: String { Self.words.first { $0.value == self }?.key ?? otherText }
}

/// Whether a text can be a name: neither empty nor longer than 256 bytes, and of one line.
func isName(_ text: String) -> Bool {
    1...256 ~= text.utf8.count && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
}
