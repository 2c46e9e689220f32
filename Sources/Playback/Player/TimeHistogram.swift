import KioskPlatform

/// Spans of time, counted by the millisecond up to a limit, so that years fit.
package struct TimeHistogram: Hashable, Sendable {
    /// The longest span told apart, in milliseconds; longer ones count as this.
    private let reach: Int
    private var counts: [Int] = []
    /// How many spans have been counted.
    package private(set) var total = 0

    /// None yet; spans up to `longest` are told apart.
    package init(upTo longest: MediaTime) { reach = max(1, Int(saturating: longest.seconds * 1000)) }

    /// Counts a span, whatever its sign, as so many milliseconds, rounded up.
    package mutating func count(_ span: MediaTime) {
        if counts.isEmpty { counts = [Int](repeating: 0, count: reach + 1) }
        let milliseconds = (abs(span.seconds) * 1000).rounded(.up)
        counts[Int(min(milliseconds, Double(reach)))] += 1
        total += 1
    }

    /// The span that `share` (0…1) of those counted do not exceed, to the millisecond above; nil when there are none.
    package func span(within share: Double) -> MediaTime? {
        guard total > 0 else { return nil }
        let wanted = Int((Double(total) * min(max(share, 0), 1)).rounded(.up))
        var seen = 0
        for (milliseconds, count) in counts.enumerated() {
            seen += count
            if seen >= wanted { return .milliseconds(Int64(milliseconds)) }
        }
        return .milliseconds(Int64(reach))
    }
}
