import Foundation
import KioskPlatform
import TestSupport
import Testing

@testable import KioskPlayback

/// A live stream in simulated time: a sender with its own clock, a network, and a player that follows the ratio of ``LiveClock``.
private struct LiveStream {
    /// By which fraction the sender's clock runs fast.
    var drift = 0.0
    /// The mean delay of packets beyond the shortest way, in seconds; the delay is exponential.
    var jitter = 0.02
    /// The length of the stream's parts, in seconds; 0 for packet by packet.
    var part = 0.0
    /// The level that the stream is to keep in hand, in seconds.
    var goal = 1.0
    var keepsFirst = false
    var hours = 48.0
    /// The times without data, in seconds. The data sent meanwhile arrives afterwards, or is lost.
    var outages: [(from: Double, to: Double)] = []
    var isOutageLost = false

    struct Outcome {
        /// The lowest and the highest level from `settled` on.
        var least = Double.infinity, most = -Double.infinity
        /// The number of stalls and of skips, and the longest skip in seconds.
        var stalls = 0, skips = 0, longestSkip = 0.0
        var ratios: ClosedRange<Double> = 1...1
        /// The highest level of each hour.
        var hourly: [Double] = []
    }

    func run(settled: Double = 7200) -> Outcome {
        let step = 0.2
        var clock = LiveClock(keepsFirst: keepsFirst)
        var random = SeededRandom(seed: 11)
        var outcome = Outcome()
        var (received, played, time) = (goal, 0.0, 0.0)
        var isFilling = false
        var gaps = 0
        var hour = -Double.infinity
        var lost = 0.0
        while time < hours * 3600 {
            time += step
            let outage = outages.first { $0.from <= time && time < $0.to }
            if outage == nil {
                let uniform = max(1e-9, (random.unit() + 1) / 2)
                var sent = (time - min(3, -log(uniform) * jitter)) * (1 + drift) + goal - lost
                if part > 0 { sent = (sent / part).rounded(.down) * part }
                received = max(received, sent)
            } else if isOutageLost {
                lost += step
            }
            var level = received - played
            if isFilling { isFilling = level < goal }
            if !isFilling {
                played += step * clock.ratio
                level -= step * clock.ratio
                if level <= 0 {
                    (played, isFilling, gaps) = (received, true, gaps + 1)
                    outcome.stalls += 1
                    continue
                }
                let now = HostTime(nanoseconds: Int64(time * 1e9))
                if clock.follow(level: .seconds(level), goal: .seconds(goal), gaps: gaps, at: now) {
                    let target = clock.target(.seconds(goal)).seconds
                    outcome.skips += 1
                    outcome.longestSkip = max(outcome.longestSkip, level - target)
                    played = received - target
                }
            }
            outcome.ratios = min(outcome.ratios.lowerBound, clock.ratio)...max(outcome.ratios.upperBound, clock.ratio)
            if time > settled {
                outcome.least = min(outcome.least, level)
                outcome.most = max(outcome.most, level)
            }
            hour = max(hour, level)
            if (time / 3600).rounded(.down) > ((time - step) / 3600).rounded(.down) {
                outcome.hourly.append(hour)
                hour = -.infinity
            }
        }
        return outcome
    }
}

@Suite struct LiveClockTests {
    /// In two days, 100 ppm make 17 seconds without a correction.
    @Test(arguments: Proof.some([-200e-6, 200e-6, 20e-6, -100e-6, -20e-6, 0, 100e-6], 3)) func `the latency neither grows nor runs out`(
        _ drift: Double
    ) {
        let outcome = LiveStream(drift: drift).run()
        #expect(outcome.stalls == 0 && outcome.skips == 0, "\(outcome)")
        #expect(outcome.most < 1.1 && outcome.most > 0.9, "\(outcome.most)")
        #expect(outcome.least > 0.3, "\(outcome.least)")
        #expect(outcome.ratios.lowerBound >= 1 - LiveClock.limit && outcome.ratios.upperBound <= 1 + LiveClock.limit)
        #expect(outcome.hourly.suffix(40).allSatisfy { abs($0 - 1) < 0.1 }, "\(outcome.hourly)")
    }

    @Test func `jitter is not taken for drift`() {
        let outcome = LiveStream(drift: 50e-6, jitter: 0.1, hours: 24).run()
        #expect(outcome.most < 1.1 && outcome.skips == 0, "\(outcome)")
    }

    @Test func `a stream in parts keeps what it began with`() {
        for drift in [-100e-6, 100e-6] {
            let outcome = LiveStream(drift: drift, part: 6, goal: 12, keepsFirst: true, hours: 24).run()
            #expect(outcome.stalls == 0 && outcome.skips == 0, "\(outcome)")
            #expect(outcome.most < 12.5 && outcome.least > 5, "\(outcome)")
        }
    }

    /// The connection stood still, and the sender kept its data.
    @Test func `what a gap leaves behind is left out`() {
        let outcome = LiveStream(drift: 50e-6, hours: 6, outages: [(from: 9000, to: 9010), (from: 12000, to: 12003)]).run(settled: 13000)
        #expect(outcome.stalls == 2 && outcome.skips == 2, "\(outcome)")
        #expect(outcome.longestSkip > 8 && outcome.longestSkip < 11, "\(outcome)")
        #expect(outcome.most < 1.1, "\(outcome)")
    }

    @Test func `nothing is left out where what was sent in a gap is lost`() {
        let outcome = LiveStream(hours: 6, outages: [(from: 9000, to: 9010)], isOutageLost: true).run(settled: 12000)
        #expect(outcome.stalls == 1 && outcome.skips == 0, "\(outcome)")
        #expect(outcome.most < 1.2, "\(outcome)")
    }

    @Test func `a crystal that is wrong by more than can be heard is followed as far as the limit`() {
        let outcome = LiveStream(drift: 3000e-6, hours: 2).run()
        #expect(outcome.ratios.upperBound <= 1 + LiveClock.limit)
        // The player skips the rest, a second or so at a time.
        #expect(outcome.skips > 5 && outcome.most < 1.8, "\(outcome)")
    }
}
