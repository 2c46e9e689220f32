import KioskVocabulary

/// An index of the entries whose title, file name or folder has every word of the search. It ignores case and accents, since not every
/// keyboard can type them (``folded(_:)``). A pure value.
struct ShelfIndex: Sendable {
    /// The text of each entry, folded.
    private var texts: [[UInt8]]

    /// An index of `entries`.
    init(_ entries: [ShelfEntry] = []) { texts = entries.map { folded("\($0.title) \($0.name) \($0.folder)") } }

    /// Adds the title from a file's metadata to the entry at `place`.
    mutating func add(_ title: String, at place: Int) {
        let words = folded(title)
        if texts.indices.contains(place), !Self.has(texts[place], words[...]) { texts[place] += [32] + words }
    }

    /// Returns the entries that match `text`, in their order; all of them if it is empty.
    func places(_ text: String) -> [Int] {
        let words = folded(text).split(separator: 32).map { Array($0) }
        if words.isEmpty { return Array(texts.indices) }
        return texts.indices.filter { place in words.allSatisfy { Self.has(texts[place], $0[...]) } }
    }

    private static func has(_ text: [UInt8], _ word: ArraySlice<UInt8>) -> Bool {
        guard let first = word.first, text.count >= word.count else { return word.isEmpty }
        var start = 0
        let last = text.count - word.count
        while start <= last {
            if text[start] == first, text[start..<start + word.count] == word { return true }
            start += 1
        }
        return false
    }
}
