import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// At which rate a film shows every picture of a clip: pure functions.
///
/// Where pictures follow each other evenly that is the clip's own rate. Telephones, screen recorders and edited films leave some out, or change
/// between rates: such a clip has no rate of its own, and its average would be too low where it is fast. The rate is then the lowest of those that
/// are usual at which no picture is left out (``FilmGrid``).
enum FilmRate {
    /// Rates that displays and encoders know.
    static let usual = [
        FrameRate(24000, 1001)!, FrameRate(24)!, FrameRate(25)!, FrameRate(30000, 1001)!, FrameRate(30)!, FrameRate(50)!,
        FrameRate(60000, 1001)!, FrameRate(60)!,
    ]
    /// No film has a higher rate, unless it is asked for; a clip's own may be a little above.
    private static let highest = 60.0, margin = 1.01

    /// What comes of a clip.
    struct Choice: Hashable {
        var rate: FrameRate
        /// Whether there are more pictures than that, of which some are left out.
        var isTooLow = false
    }

    /// The rate for pictures that begin at `times`, in order; nil where there are too few to tell.
    static func choice(for times: [MediaTime]) -> Choice? {
        let steps = zip(times.dropFirst(), times).map { ($0 - $1).seconds }.filter { $0 > 0 }
        guard let first = times.first, let last = times.last, !steps.isEmpty else { return nil }
        let average = Double(steps.count) / (last - first).seconds
        // Without the gaps that a camera leaves in the dark.
        let median = steps.sorted()[steps.count / 2]
        let typical = steps.filter { abs($0 / median - 1) < 0.25 }
        let typicalRate = Double(typical.count) / typical.reduce(0, +)
        let own = [average, typicalRate].compactMap { FrameRate(max($0, 10)) }.filter { $0.hertz <= highest * margin }
        var lowest = own.first.flatMap { typical.count == steps.count && isLossless($0, times) ? $0 : nil }
        lowest = lowest ?? (own + usual).sorted { $0.hertz < $1.hertz }.first { isLossless($0, times) }
        guard let lowest else { return choice(forAverage: typicalRate) }
        // One that is usual, where it is nearly that.
        let near = usual.filter { $0.hertz >= lowest.hertz / 1.0005 && $0.hertz <= lowest.hertz * margin && isLossless($0, times) }
        return Choice(rate: near.min { abs($0.hertz - typicalRate) < abs($1.hertz - typicalRate) } ?? lowest)
    }

    /// The rate where no more is known than how many pictures there are a second: that, or of a higher one than films have what divides it, 60 of
    /// 120.
    static func choice(forAverage average: Double) -> Choice? {
        guard average.isFinite, average > 0 else { return nil }
        let isTooLow = average > highest * margin
        let rate = FrameRate(max(isTooLow ? average / (average / highest).rounded(.up) : average, 10))
        return rate.map { Choice(rate: $0, isTooLow: isTooLow) }
    }

    private static func isLossless(_ rate: FrameRate, _ times: [MediaTime]) -> Bool { FilmGrid(rate).lostCount(of: times) == 0 }
}
