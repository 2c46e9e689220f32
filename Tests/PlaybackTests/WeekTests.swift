import Glibc
import KioskPlatform
import TestSupport
import Testing

@testable import KioskPlayback

/// A player that loops ten seconds of film for days: the scheduler, the clock and the sound's ratio against a display and a card. Both are
/// off and jitter. The display loses vblanks; the card drifts with the day's warmth and runs dry.
private struct LongRun {
    var days = 1.0
    /// By how many parts per million the display and the card are fast, on average.
    var display = 200.0, card = -200.0
    /// How far the card's rate follows the day's warmth, in parts per million.
    var warmth = 20.0
    /// Hours between underruns of a tenth of a second each, and between flips that miss their vblank.
    var underruns = 6.0, lostVblanks = 1.0

    struct Outcome {
        var frames = 0
        /// Frames that were dropped or stood for another vblank: without an excuse, and within a minute after a disturbance.
        var wrong = 0, excused = 0
        /// Those of `wrong` that were at seams.
        var wrongSeams = 0
        var seams = 0
        var offsets = TimeHistogram(upTo: .milliseconds(250))
        var worst = 0.0
        var disturbances = 0
        /// The times of the first five of `wrong`, in seconds.
        var firstWrong: [Int] = []
    }

    private static let rate = 24.0
    private static let loop = 240

    func run() -> Outcome {
        var outcome = Outcome()
        var random = SeededRandom(seed: 11)
        let frameTime = 1 / Self.rate
        var scheduler = FrameScheduler(refreshPeriod: .seconds(frameTime))
        var clock = DeviceClock(sampleRate: 48_000)
        let period = frameTime / (1 + display * 1e-6)
        // The card's clock: device seconds at `now`. `runs` maps it to the timeline; a new ratio is heard a tenth of a second later.
        var device = 0.0
        var runs = [(device: 0.0, heard: 0.0, ratio: 1.0)]
        var now = 1.0
        var vblank = 1.0
        var shown = -1
        var nextReport = now
        var nextUnderrun = underruns * 3600, nextLost = lostVblanks * 3600 + 7
        var quietFrom = 3.0  // the card's clock has to settle once
        let vblanks = Int(days * 86_400 / period)
        scheduler.flipped(at: host(vblank))
        for turn in 0..<vblanks {
            // The runner takes a test that is silent for long for a hang.
            if turn % max(1, vblanks / 50) == 0 {
                print("\(Int(now / 3600)) hours of \(Int(24 * days))")
                fflush(nil)
            }
            let next = vblank + period
            let instant = vblank + 0.25 * period
            let rate = 1 + (card + warmth * triangle(instant / 86_400)) * 1e-6
            device += (instant - now) * rate
            now = instant
            if instant > nextUnderrun {
                // Written sound is heard a tenth of a second later; the card's count of frames goes on.
                nextUnderrun += underruns * 3600
                let standing = timeline(device, runs)
                runs.append((device, standing, 0))
                runs.append((device + 0.1, standing, scheduler.soundRatio))
                outcome.disturbances += 1
                quietFrom = instant + 60
            }
            if now >= nextReport {
                let coarse = (device * 48_000 / 192).rounded(.down) * 192
                clock.report(frames: coarse, at: host(now - 0.0005 * abs(random.unit())))
                nextReport += 0.1
            }
            let candidates = [frame(shown + 1), frame(shown + 2)]
            let decision = scheduler.decide(now: host(now), ready: candidates) { time in
                clock.frames(at: time).map { .seconds(timeline($0 / 48_000, runs)) }
            }
            var stood = true
            if case .show(let index, _, _) = decision {
                stood = false
                outcome.frames += 1
                let number = shown + 1 + index
                let isSeam = number % Self.loop == 0
                if isSeam { outcome.seams += 1 }
                if index > 0 {
                    count(&outcome, isSeam, at: now, isExcused: now < quietFrom)
                }
                shown = number
                var flip = next
                if next > nextLost {
                    flip += period  // the commit missed it
                    nextLost += lostVblanks * 3600
                    quietFrom = next + 60
                    outcome.disturbances += 1
                }
                let lead = Double(number) * frameTime - timeline(device + (next - now) * rate, runs)
                if now >= quietFrom, now > 30 {
                    outcome.offsets.count(.seconds(lead))
                    outcome.worst = max(outcome.worst, abs(lead))
                }
                scheduler.flipped(at: host(flip + 0.0002 * random.unit()))
                if flip > next { vblank += period }
            }
            if stood, shown >= 0 { count(&outcome, (shown + 1) % Self.loop == 0, at: now, isExcused: now < quietFrom) }
            if runs[runs.count - 1].ratio != scheduler.soundRatio {
                runs.append((device + 0.1, timeline(device + 0.1, runs), scheduler.soundRatio))
                if runs.count > 16 { runs.removeFirst(8) }
            }
            vblank += period
        }
        return outcome
    }

    private func count(_ outcome: inout Outcome, _ isSeam: Bool, at time: Double, isExcused: Bool) {
        if isExcused {
            outcome.excused += 1
        } else {
            outcome.wrong += 1
            if outcome.firstWrong.count < 5 { outcome.firstWrong.append(Int(time)) }
            if isSeam { outcome.wrongSeams += 1 }
        }
    }

    private func host(_ seconds: Double) -> HostTime { HostTime(nanoseconds: Int64(seconds * 1e9)) }

    private func frame(_ number: Int) -> FrameScheduler.Frame {
        .init(start: .seconds(Double(number) / Self.rate), cadence: .seconds(1 / Self.rate))
    }

    private func timeline(_ device: Double, _ runs: [(device: Double, heard: Double, ratio: Double)]) -> Double {
        let run = runs.last { $0.device <= device } ?? runs[0]
        return run.heard + (device - run.device) * run.ratio
    }

    /// −1…1, once up and down a day.
    private func triangle(_ days: Double) -> Double { 4 * abs(days - days.rounded(.down) - 0.5) - 1 }
}

@Suite struct WeekTests {
    // make test-all runs a whole week, two minutes of arithmetic in a debug build; make test runs a day.
    @Test(arguments: Proof.some([(Proof.isThorough ? 7.0 : 1, 200.0, -200.0), (1, -200, 200), (1, 0, 300)]))
    func aLoop(days: Double, display: Double, card: Double) {
        let outcome = LongRun(days: days, display: display, card: card).run()
        #expect(
            outcome.wrong == 0 && outcome.wrongSeams == 0,
            "\(outcome.wrong) wrong, \(outcome.wrongSeams) seams, \(outcome.excused) excused, \(outcome.disturbances) disturbances, worst \(outcome.worst), \(outcome.firstWrong)"
        )
        #expect(outcome.seams > Int(8600 * days))
        #expect(outcome.disturbances > 20 && outcome.excused > 0 && outcome.excused <= 6 * outcome.disturbances)
        #expect(outcome.offsets.span(within: 0.99).map { $0 <= .milliseconds(20) } == true)
        #expect(outcome.worst < 0.045)
    }
}
