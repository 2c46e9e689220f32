import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// Chooses the rate at which a film shows every frame of a clip: pure functions.
///
/// For evenly spaced frames that is the clip's own rate. Telephones, screen recorders and edited films skip frames, or change the rate:
/// such a clip has no single rate, and its average would be too low for the fast parts. The choice is then the lowest usual rate that skips
/// no frame (``FilmGrid``).
enum FilmRate {
    /// Rates that displays and encoders support.
    static let usual = [
        FrameRate(24000, 1001)!, FrameRate(24)!, FrameRate(25)!, FrameRate(30000, 1001)!, FrameRate(30)!, FrameRate(50)!,
        FrameRate(60000, 1001)!, FrameRate(60)!,
    ]
    /// The highest rate without a request; a clip's own rate may be slightly above.
    private static let highest = 60.0, margin = 1.01

    /// The choice for a clip.
    struct Choice: Hashable {
        var rate: FrameRate
        /// Whether the clip's rate is higher, so that frames are skipped.
        var isTooLow = false
    }

    /// Returns the rate for frames that begin at `times`, in order; nil if there are too few.
    static func choice(for times: [MediaTime]) -> Choice? {
        let steps = zip(times.dropFirst(), times).map { ($0 - $1).seconds }.filter { $0 > 0 }
        guard let first = times.first, let last = times.last, !steps.isEmpty else { return nil }
        let average = Double(steps.count) / (last - first).seconds
        // Ignores the gaps that cameras leave in the dark.
        let median = steps.sorted()[steps.count / 2]
        let typical = steps.filter { abs($0 / median - 1) < 0.25 }
        let typicalRate = Double(typical.count) / typical.reduce(0, +)
        let own = [average, typicalRate].compactMap { FrameRate(max($0, 10)) }.filter { $0.hertz <= highest * margin }
        var lowest = own.first.flatMap { typical.count == steps.count && isLossless($0, times) ? $0 : nil }
        lowest = lowest ?? (own + usual).sorted { $0.hertz < $1.hertz }.first { isLossless($0, times) }
        guard let lowest else { return choice(forAverage: typicalRate) }
        // Prefers a usual rate that is nearly the same.
        let near = usual.filter { $0.hertz >= lowest.hertz / 1.0005 && $0.hertz <= lowest.hertz * margin && isLossless($0, times) }
        return Choice(rate: near.min { abs($0.hertz - typicalRate) < abs($1.hertz - typicalRate) } ?? lowest)
    }

    /// Returns the rate for an average frame rate: that rate, or an integer fraction of it if it exceeds the limit, such as 60 for 120.
    static func choice(forAverage average: Double) -> Choice? {
        guard average.isFinite, average > 0 else { return nil }
        let isTooLow = average > highest * margin
        let rate = FrameRate(max(isTooLow ? average / (average / highest).rounded(.up) : average, 10))
        return rate.map { Choice(rate: $0, isTooLow: isTooLow) }
    }

    private static func isLossless(_ rate: FrameRate, _ times: [MediaTime]) -> Bool { FilmGrid(rate).lostCount(of: times) == 0 }
}
