import KioskPlatform
import Testing

@testable import KioskPlayer

/// Compares times as fractions with sums calculated by hand.
@Suite struct CMTimeTests {
    @Test("A fraction stays exact where a decimal is not") func exact() {
        let frame = CMTime(value: 1001, timescale: 30000)
        #expect((1..<30000).reduce(frame) { sum, _ in sum + frame } == CMTime(value: 1001, timescale: 1))
        #expect(frame * 30000 == CMTime(value: 1001, timescale: 1))
        #expect(CMTime(value: 1, timescale: 24) + CMTime(value: 1, timescale: 25) == CMTime(value: 49, timescale: 600))
        #expect((CMTime(value: 1, timescale: 24) + CMTime(value: 1, timescale: 25)).timescale == 600)
        #expect(frame - frame == .zero && -frame + frame == .zero)
        #expect(!(frame + frame).hasBeenRounded)
        #expect(frame.multiplied(by: 30000, over: 1001) == CMTime(value: 1, timescale: 1))
    }

    @Test("The same number is the same time, and hashes alike") func equality() {
        let (a, b) = (CMTime(value: 1, timescale: 2), CMTime(value: 300, timescale: 600))
        #expect(a == b && Set([a, b]).count == 1)
        #expect(CMTime(value: 0, timescale: 600) == .zero && Set([CMTime(value: 0, timescale: 600), .zero]).count == 1)
        #expect(CMTime(value: -1, timescale: 3) < CMTime(value: -33, timescale: 100))
        #expect(CMTime(value: .max, timescale: .max) < CMTime(value: .max, timescale: .max - 1))
    }

    @Test("Special values order and add as in CoreMedia") func specialValues() {
        let order = [
            CMTime.negativeInfinity, CMTime(value: .min, timescale: 1), .zero, CMTime(value: .max, timescale: 1), .positiveInfinity,
            .indefinite, .invalid,
        ]
        #expect(order.shuffled().sorted() == order)
        #expect(CMTime() == .invalid && CMTime(value: 1, timescale: 0) == .invalid && CMTime(value: 1, timescale: -5) == .invalid)
        #expect((CMTime.positiveInfinity - .positiveInfinity) == .invalid && (CMTime.positiveInfinity + .zero) == .positiveInfinity)
        #expect((CMTime.indefinite + .positiveInfinity) == .indefinite && (CMTime.invalid + .indefinite) == .invalid)
        #expect((CMTime.zero - .positiveInfinity) == .negativeInfinity)
        #expect(CMTime.indefinite.seconds.isNaN && CMTime.positiveInfinity.seconds == .infinity && CMTime.invalid.duration == nil)
        #expect(CMTime.positiveInfinity.multiplied(by: 0, over: 1) == .invalid && CMTime.zero.multiplied(by: 1, over: 0) == .invalid)
    }

    @Test("What is too large is rounded, and says so, or is infinite") func overflow() {
        let large = CMTime(value: .max, timescale: 1)
        #expect(large + large == .positiveInfinity && -large - large == .negativeInfinity)
        #expect(-CMTime(value: .min, timescale: 1) == .positiveInfinity)
        let fine = CMTime(value: 1, timescale: .max) + CMTime(value: 1, timescale: .max - 1)
        #expect(fine.hasBeenRounded && abs(fine.seconds - 2 / Double(Int32.max)) < 1e-9)
        #expect((CMTime(value: .max, timescale: 600) + CMTime(value: 1, timescale: 7)).hasBeenRounded)
        #expect(CMTime(value: .min, timescale: .max).multiplied(by: .min, over: .max).isNumeric)
    }

    @Test("Seconds become the nearest fraction") func seconds() {
        #expect(CMTime(seconds: 0.5, preferredTimescale: 600) == CMTime(value: 300, timescale: 600))
        #expect(
            CMTime(seconds: 1.0 / 3, preferredTimescale: 10).value == 3 && CMTime(seconds: 1.0 / 3, preferredTimescale: 10).hasBeenRounded)
        #expect(CMTime(seconds: .nan, preferredTimescale: 600) == .invalid && CMTime(seconds: 1, preferredTimescale: 0) == .invalid)
        #expect(CMTime(seconds: -.infinity, preferredTimescale: 600) == .negativeInfinity)
        #expect(CMTime(seconds: 1e300, preferredTimescale: 600) == .positiveInfinity)
        #expect(abs(CMTime(seconds: 1e18, preferredTimescale: 600).seconds - 1e18) < 1000)
        #expect(CMTime.seconds(1.5) == .milliseconds(1500))
    }

    @Test("A conversion rounds by its rule") func scales() {
        let (half, minus) = (CMTime(value: 5, timescale: 2), CMTime(value: -5, timescale: 2))
        let rules: [(CMTime.RoundingMethod, Int64, Int64)] = [
            (.roundHalfAwayFromZero, 3, -3), (.roundTowardZero, 2, -2), (.roundAwayFromZero, 3, -3), (.roundTowardPositiveInfinity, 3, -2),
            (.roundTowardNegativeInfinity, 2, -3),
        ]
        for (rule, up, down) in rules {
            #expect(half.convertScale(1, method: rule).value == up && minus.convertScale(1, method: rule).value == down, "\(rule)")
        }
        #expect(half.convertScale(600, method: .default).value == 1500 && !half.convertScale(600, method: .default).hasBeenRounded)
        #expect(CMTime(value: .max, timescale: 1).convertScale(2, method: .default) == .positiveInfinity)
    }

    @Test("Durations and the engine's times go there and back") func conversions() {
        #expect(CMTime(Duration.milliseconds(1500)) == .milliseconds(1500) && CMTime.milliseconds(-1500).duration == .milliseconds(-1500))
        #expect(CMTime(Duration.seconds(Int64.max)).isNumeric)
        #expect(CMTime(value: 1001, timescale: 30000).duration == .nanoseconds(33_366_667))
        #expect(MediaTime(CMTime(value: 1001, timescale: 30000)) == MediaTime(nanoseconds: 33_366_667))
        #expect(MediaTime(CMTime.indefinite) == nil && MediaTime(CMTime.invalid) == nil)
        #expect(
            MediaTime(CMTime.positiveInfinity)?.nanoseconds == .max && MediaTime(CMTime(value: .min, timescale: 1))?.nanoseconds == .min)
        #expect(CMTime(MediaTime.milliseconds(20)) == .milliseconds(20))
    }

    @Test("Ranges contain, meet and join") func ranges() {
        let range = CMTimeRange(start: .seconds(1), end: .seconds(3))
        #expect(range.duration == .seconds(2) && range.containsTime(.seconds(1)) && !range.containsTime(.seconds(3)))
        #expect(
            range.intersection(CMTimeRange(start: .seconds(2), duration: .seconds(5))) == CMTimeRange(start: .seconds(2), end: .seconds(3)))
        #expect(range.intersection(CMTimeRange(start: .seconds(4), duration: .seconds(5))).isEmpty)
        #expect(range.union(CMTimeRange(start: .seconds(5), end: .seconds(6))) == CMTimeRange(start: .seconds(1), end: .seconds(6)))
        #expect(!CMTimeRange.invalid.isValid && CMTimeRange.invalid.isEmpty && range.union(.invalid) == .invalid)
        #expect(range.containsTimeRange(range) && !range.containsTimeRange(CMTimeRange(start: .zero, end: .seconds(2))))
    }
}
