import KioskPlatform

/// The one of `candidates` that `word` was most likely meant to be; nil when none is near.
///
/// Near is one slip in a short word, two in one of five letters or more; a slip is a letter too many, missing, wrong, or two letters
/// swapped. Near is a word that begins alike, too, with four letters or more that are most of the shorter one: `rotate`, `rotation`. Of two that are
/// near, a beginning of two letters makes up for a slip. Case does not count.
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
