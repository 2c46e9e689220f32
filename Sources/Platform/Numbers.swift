/// The hash FNV-1a: the standard library's hashes differ between runs.
package enum FNV {
    package static func hash(_ bytes: some Sequence<UInt8>, from start: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
        bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension BinaryInteger {
    /// Returns the digits, with leading zeros up to `width`.
    package func padded(to width: Int, radix: Int = 10) -> String {
        let text = String(self, radix: radix)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}

/// Returns the least number of insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (no letter changes
/// twice).
package func editDistance<Element: Equatable>(_ a: [Element], _ b: [Element]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...b.count)
    for i in a.indices {
        var current = [i + 1]
        for j in b.indices {
            var least = min(previous[j] + (a[i] == b[j] ? 0 : 1), previous[j + 1] + 1, current[j] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, beforePrevious[j - 1] + 1) }
            current.append(least)
        }
        (beforePrevious, previous) = (previous, current)
    }
    return previous[b.count]
}
