import KioskPlatform

/// Pictures a second, as a fraction: `25`, `29.97` (which is 30000/1001) or `30000/1001`; from 10 to 240.
package struct FrameRate: Hashable, Sendable, LosslessStringConvertible {
    /// The number of pictures, and the seconds that they take.
    package let numerator: Int, denominator: Int

    /// nil unless the rate is from 10 to 240.
    package init?(_ numerator: Int, _ denominator: Int = 1) {
        guard 1...1_000_000 ~= numerator, 1...100_000 ~= denominator, 10...240 ~= Double(numerator) / Double(denominator) else {
            return nil
        }
        (self.numerator, self.denominator) = (numerator, denominator)
    }

    /// Finds the nearest usual rate: a whole number, an NTSC rate, else a thousandth.
    package init?(_ rate: Double) {
        guard rate.isFinite, 9...241 ~= rate else { return nil }
        let whole = rate.rounded()
        if abs(rate - whole) < 0.002 {
            self.init(Int(whole))
        } else if abs(rate - rate.rounded(.up) * 1000 / 1001) < 0.006 {
            self.init(Int(rate.rounded(.up)) * 1000, 1001)
        } else {
            self.init(Int((rate * 1000).rounded()), 1000)
        }
    }

    /// nil if `text` is no such rate.
    package init?(_ text: String) {
        if let match = text.wholeMatch(of: /([0-9]{1,7})\/([0-9]{1,6})/), let numerator = Int(match.1), let denominator = Int(match.2) {
            self.init(numerator, denominator)
        } else if text.wholeMatch(of: /[0-9]{1,3}(\.[0-9]{1,6})?/) != nil, let rate = Double(text) {
            self.init(rate)
        } else {
            return nil
        }
    }

    /// `25`, or `30000/1001`.
    package var description: String { denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)" }
    package var hertz: Double { Double(numerator) / Double(denominator) }

    /// Returns the start of picture `index`; the first one is at zero.
    package func time(of index: Int64) -> MediaTime {
        let (seconds, rest) = (index * Int64(denominator)).quotientAndRemainder(dividingBy: Int64(numerator))
        return MediaTime(nanoseconds: seconds * 1_000_000_000 + (rest * 1_000_000_000 + Int64(numerator) / 2) / Int64(numerator))
    }

    /// Returns the sample at the start of picture `index`.
    package func sample(at index: Int64, sampleRate: Int) -> Int64 {
        (index * Int64(denominator) * Int64(sampleRate) + Int64(numerator) / 2) / Int64(numerator)
    }
}
