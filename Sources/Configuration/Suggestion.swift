import KioskPlatform

/// Returns the candidate that `word` most likely means; nil if none is near.
///
/// A candidate is near after one slip in a short word, or two in a word of five letters or more. A slip is an additional, missing or wrong
/// letter, or two swapped letters. A candidate with a common beginning is near, too, if that has four letters or more, and is most of the
/// shorter word: `rotate`, `rotation`. Between near candidates, a common beginning of two letters outweighs a slip. Case is ignored.
package func suggestion(for word: String, among candidates: some Sequence<String>) -> String? {
    let word = Array(word.lowercased().unicodeScalars.prefix(64))
    var best: (candidate: String, score: Int)?
    for candidate in candidates {
        let letters = Array(candidate.lowercased().unicodeScalars)
        let distance = editDistance(word, letters)
        let alike = zip(word, letters).prefix { $0 == $1 }.count
        let beginsAlike = alike >= 4 && 3 * alike >= 2 * min(word.count, letters.count)
        let score = distance - alike / 2
        guard distance <= (letters.count < 5 ? 1 : 2) || beginsAlike, score < best?.score ?? .max else { continue }
        best = (candidate, score)
    }
    return best?.candidate
}
