import KioskPlatform
import TestSupport
import Testing

@testable import KioskPlayback

/// The scheduler against a simulated display and clock: for how many vblanks each frame stood.
struct Simulation {
    var frameRate = 30.0
    var refreshRate = 60.0
    /// The nominal rate in the container; `.none` for `frameRate`, `.some(nil)` for no nominal rate.
    var toldRate: Double?? = .none
    /// By how many parts per million the card runs fast.
    var clockDrift = 0.0
    /// Whether the sound follows the scheduler's ratio; otherwise the card plays at its own rate.
    var soundFollows = true
    /// By how many parts per million the sender of a live stream runs fast; nil for a file.
    var senderDrift: Double?
    /// The number of frames ready at a decision. If one, the compositor skips overdue frames after each frame shown.
    var readyFrames = 2
    /// The lead of the sound over the picture at the beginning, in seconds; for example, an error of the clock's first readings.
    var initialError = 0.0
    /// Peak jitter of the clock's readings, in seconds.
    var clockJitter = 0.0
    /// Peak jitter of the vblank timestamps, in seconds.
    var vblankJitter = 0.0
    var seconds = 20.0
    /// The unit to which frame times are rounded, in seconds, as in a container with a coarse time base; 0 for none.
    var timestampUnit = 0.0

    struct Outcome {
        /// Each frame shown, and for how many vblanks it stood. Dropped frames are missing.
        var holds: [(frame: Int, vblanks: Int)] = []
        /// For each frame shown: the lead of the picture over the sound by the true clock, in seconds, and the sound's ratio.
        var leads: [(seconds: Double, ratio: Double)] = []
    }

    func holds() -> [(frame: Int, vblanks: Int)] { run().holds }

    func run() -> Outcome {
        var scheduler = FrameScheduler(refreshPeriod: .seconds(1 / refreshRate))
        var random = SeededRandom(seed: 7)
        var outcome = Outcome()
        var next = 0
        if let senderDrift { scheduler.senderRatio = 1 + senderDrift * 1e-6 }
        let told: Double? = toldRate ?? frameRate
        func frame(_ number: Int) -> FrameScheduler.Frame {
            var start = Double(number) / frameRate
            if timestampUnit > 0 { start = (start / timestampUnit).rounded() * timestampUnit }
            return .init(start: .seconds(start), cadence: told.map { .seconds(1 / $0) })
        }
        var now = HostTime(nanoseconds: 1_000_000_000)
        let begin = now
        scheduler.flipped(at: now)
        let vblanks = Int(seconds * refreshRate)
        let cardRate = 1 + clockDrift * 1e-6
        // A new ratio is heard when the card's buffer has played, a tenth of a second later.
        let latency = Int(0.1 * refreshRate) + 1
        var ratios = [Double](repeating: 1, count: latency)
        var heard = initialError  // timeline seconds at `now`
        for vblank in 1...vblanks {
            // Decide a quarter of a period after each vblank, as the presenter does.
            let previous = now
            now = begin + .seconds((Double(vblank) - 0.75) / refreshRate)
            let flip = begin + .seconds(Double(vblank) / refreshRate)
            let rate = cardRate * (soundFollows ? ratios.removeFirst() : 1)
            heard += (now - previous).seconds * rate
            let jitter = clockJitter * random.unit()
            if readyFrames == 1, let overdue = scheduler.overdue {
                while frame(next + 1).start <= overdue { next += 1 }
            }
            let decision = scheduler.decide(now: now, ready: (0..<readyFrames).map { frame(next + $0) }) { host in
                .seconds(heard + (host - now).seconds * rate + jitter)
            }
            if soundFollows { ratios.append(scheduler.soundRatio) }
            if case .show(let index, _, _) = decision {
                next += index + 1
                outcome.holds.append((next - 1, 1))
                outcome.leads.append((Double(next - 1) / frameRate - heard - (flip - now).seconds * rate, scheduler.soundRatio))
                scheduler.flipped(at: flip + .seconds(vblankJitter * random.unit()))
            } else if !outcome.holds.isEmpty {
                outcome.holds[outcome.holds.count - 1].vblanks += 1
            }
        }
        return outcome
    }

    /// Returns how many frames stood otherwise than the repeated `expected`, without the first two and the last.
    func wrongHolds(_ expected: [Int]) -> Int {
        Self.wrongHolds(holds(), expected)
    }

    static func wrongHolds(_ holds: [(frame: Int, vblanks: Int)], _ expected: [Int]) -> Int {
        let inner = holds.dropFirst(2).dropLast()
        let best = expected.indices.map { offset in
            inner.enumerated().count { $1.vblanks != expected[($0 + offset) % expected.count] }
        }
        return best.min() ?? 0
    }
}

@Suite struct FrameSchedulerTests {
    @Test(arguments: [
        (24.0, 24.0, [1]), (24, 48, [2]), (24, 60, [3, 2]), (25, 50, [2]), (25, 60, [2, 2, 3, 2, 3]), (30, 60, [2]), (50, 50, [1]),
        (60, 60, [1]), (30, 30, [1]), (23.976, 24, [1]), (59.94, 60, [1]), (29.97, 60, [2]), (30, 59.94, [2]), (25, 50.03, [2]),
        (15, 60, [4]), (24, 144, [6]), (30, 75, [3, 2]),
    ])
    func framesStandForTheirVblanks(rate: Double, refresh: Double, pattern: [Int]) {
        for drift in [-200.0, 0, 200] {
            let simulation = Simulation(
                frameRate: rate, refreshRate: refresh, clockDrift: drift, initialError: 0.015, clockJitter: 0.002, vblankJitter: 0.0005,
                seconds: 120)
            let outcome = simulation.run()
            #expect(Simulation.wrongHolds(outcome.holds, pattern) == 0)
            let settled = outcome.leads.dropFirst(outcome.leads.count / 2)
            #expect(settled.allSatisfy { abs($0.seconds) < 0.5 / refresh + 0.003 }, "sound and picture together")
            #expect(outcome.leads.allSatisfy { abs($0.ratio - 1) <= 0.00125 })
        }
    }

    @Test func aCoarseTimeBaseDoesNotShow() {
        #expect(Simulation(frameRate: 30, clockJitter: 0.002, timestampUnit: 0.001).wrongHolds([2]) == 0)
    }

    @Test func driftThatTheSoundCannotFollowIsCaughtUpInWholeVblanks() {
        // 500 ppm for 200 s is 100 ms, six vblanks.
        let simulation = Simulation(clockDrift: 500, soundFollows: false, clockJitter: 0.001, seconds: 200)
        #expect((2...6).contains(simulation.wrongHolds([2])))
    }

    /// The sound of a live stream keeps to its sender. The picture follows one vblank at a time, as often as the two have drifted apart by
    /// one. It is never further from the sound than half a vblank plus the hysteresis.
    @Test(arguments: [(24.0, 48.0), (25, 50), (30, 60), (50, 50), (60, 60), (15, 60), (24, 60), (25, 60), (50, 60)], [-300.0, 300])
    func aSenderIsFollowedAVblankAtATime(rates: (frame: Double, refresh: Double), drift: Double) {
        for ready in 1...2 {
            let seconds = Proof.isThorough ? 400.0 : 150
            let simulation = Simulation(
                frameRate: rates.frame, refreshRate: rates.refresh, senderDrift: drift, readyFrames: ready, clockJitter: 0.002,
                vblankJitter: 0.0002, seconds: seconds)
            let outcome = simulation.run()
            let holds = outcome.holds.dropFirst(2).dropLast()
            let ideal = rates.refresh / rates.frame
            let slips = Int((seconds * abs(drift) * 1e-6 * rates.refresh).rounded())
            // If a frame lasts a whole number of vblanks, a slip adds or removes one. Otherwise a slip changes only the order of the holds.
            let others = holds.filter { !(Int(ideal.rounded(.down))...Int(ideal.rounded(.up)) ~= $0.vblanks) }
            let left = zip(holds, holds.dropFirst()).map { $1.frame - $0.frame - 1 }
            let isWhole = ideal == ideal.rounded()
            #expect(others.allSatisfy { abs(Double($0.vblanks) - ideal) <= 1 })
            #expect(left.allSatisfy { $0 <= 1 })
            let leftOut = left.reduce(0, +)
            #expect(leftOut == 0 || ideal == 1 && drift > 0, "\(leftOut) left out")
            #expect(
                isWhole ? abs(others.count + leftOut - slips) <= 1 : others.isEmpty, "\(others.count), \(leftOut) left out, of \(slips)")
            let most = outcome.leads.dropFirst(10).map { abs($0.seconds) }.max() ?? 1
            #expect(most < 0.5 / rates.refresh + 0.0065, "\(most) s apart")
        }
    }

    /// The rest of the clock's jitter moves no frame, however long it lasts.
    @Test func aSenderThatKeepsOurTimeIsNotFollowedToAndFro() {
        for error in stride(from: -0.015, through: 0.015, by: 0.001) {
            let outcome = Simulation(senderDrift: 0, initialError: error, clockJitter: 0.0019, seconds: 120).run()
            #expect(outcome.holds.dropFirst(8).dropLast().allSatisfy { $0.vblanks == 2 }, "\(error)")
        }
    }

    @Test func everyFrameOfASlowClipIsShownInOrder() {
        for rate in [7.0, 12.5, 23.0, 31.0, 47.0, 59.0] {
            let frames = Simulation(frameRate: rate, initialError: -1 / 60, clockJitter: 0.001).holds().map(\.frame)
            #expect(frames == Array(0..<frames.count), "\(rate) frames a second on 60 Hz")
        }
    }

    @Test func framesFasterThanTheDisplayAreDroppedEvenly() {
        let frames = Simulation(frameRate: 120).holds().map(\.frame)
        let steps = zip(frames, frames.dropFirst()).map { $1 - $0 }.dropFirst()
        #expect(steps.allSatisfy { $0 == 2 })
    }

    @Test func withoutANominalRateTheNearestVblankIsTaken() {
        let holds = Simulation(frameRate: 30, toldRate: .some(nil), clockJitter: 0.0005).holds().dropFirst().dropLast()
        #expect(holds.allSatisfy { (1...3).contains($0.vblanks) })
    }

    @Test func aStallDropsWhatHasPassedAndGoesOn() {
        var scheduler = FrameScheduler(refreshPeriod: .milliseconds(20))
        let begin = HostTime(nanoseconds: 1_000_000_000)
        scheduler.flipped(at: begin)
        func frame(_ n: Int64) -> FrameScheduler.Frame { .init(start: .milliseconds(40 * n), cadence: .milliseconds(40)) }
        let clock: (HostTime) -> MediaTime? = { $0 - begin }
        _ = scheduler.decide(now: begin + .milliseconds(5), ready: [frame(0)], clock: clock)
        // Three seconds later, the old frames are still waiting.
        let decision = scheduler.decide(now: begin + .milliseconds(3005), ready: [frame(1), frame(2)], clock: clock)
        guard case .show(1, let late, _) = decision else {
            Issue.record("expected the newest frame, got \(decision)")
            return
        }
        #expect(late > 100)
    }

    /// Otherwise the compositor would drop frames that are still to come.
    @Test(arguments: [true, false]) func nothingIsOverdueWhileNothingIsDue(clockStands: Bool) {
        var scheduler = FrameScheduler(refreshPeriod: .milliseconds(20))
        let begin = HostTime(nanoseconds: 1_000_000_000)
        scheduler.flipped(at: begin)
        func frame(_ n: Int64) -> FrameScheduler.Frame { .init(start: .milliseconds(40 * n), cadence: .milliseconds(40)) }
        _ = scheduler.decide(now: begin + .milliseconds(5), ready: [frame(0)]) { $0 - begin }
        _ = scheduler.decide(now: begin + .milliseconds(1005), ready: [frame(1)]) { $0 - begin }
        #expect(scheduler.overdue != nil)
        _ = scheduler.decide(now: begin + .milliseconds(1025), ready: []) { $0 - begin }
        #expect(scheduler.overdue != nil, "the next is still being prepared")
        // The clock goes back.
        _ = scheduler.decide(now: begin + .milliseconds(1045), ready: [frame(2)]) { clockStands ? nil : $0 - begin - .milliseconds(1000) }
        #expect(scheduler.overdue == nil)
    }

    /// A card that has just started corrects its first reports, as a rule by less than one of its periods.
    @Test(arguments: [(30.0, 60.0, [2]), (24, 60, [2, 3]), (25, 50, [2]), (60, 60, [1])], [-15, -5, 0, 5, 10, 15])
    func theFirstFramesStandForTheirTimeWhenTheClockCorrectsItself(rates: (rate: Double, refresh: Double, holds: [Int]), jump: Int64) {
        for offset in 0..<10 {
            var scheduler = FrameScheduler(refreshPeriod: .seconds(1 / rates.refresh))
            let begin = HostTime(nanoseconds: 1_000_000_000)
            scheduler.flipped(at: begin)
            func frame(_ n: Int) -> FrameScheduler.Frame {
                .init(start: .seconds(Double(n) / rates.rate), cadence: .seconds(1 / rates.rate))
            }
            // Frame 0 was shown while the clock stood; its sound begins now.
            var (next, shownAt) = (1, [Int]())
            for vblank in 1...30 {
                let now = begin + .seconds((Double(vblank) - 0.75) / rates.refresh)
                let error = vblank < 2 ? MediaTime.zero : .milliseconds(jump)
                let decision = scheduler.decide(now: now, ready: [frame(next), frame(next + 1), frame(next + 2)]) {
                    $0 - begin + error + .milliseconds(Int64(offset))
                }
                guard case .show(let index, let late, _) = decision else { continue }
                #expect(index == 0 && late == 0)
                next += index + 1
                shownAt.append(vblank)
                scheduler.flipped(at: begin + .seconds(Double(vblank) / rates.refresh))
            }
            let holds = zip(shownAt, shownAt.dropFirst()).map { $1 - $0 }
            let begins = rates.holds.indices.contains { first in
                holds.indices.allSatisfy { holds[$0] == rates.holds[($0 + first) % rates.holds.count] }
            }
            #expect(begins && holds.count > 5, "\(offset) ms: \(holds)")
        }
    }

    @Test func nothingIsDueWhileTheClockStands() {
        var scheduler = FrameScheduler(refreshPeriod: .milliseconds(20))
        let decision = scheduler.decide(now: HostTime(nanoseconds: 0), ready: [.init(start: .zero)]) { _ in nil }
        #expect(decision == .idle)
    }

    @Test(arguments: [(30.0, 60.0, true), (23.976, 24, true), (24, 60, true), (23.0, 60, false), (29.0, 60, false), (30, 59.6, false)])
    func rateFitsRefresh(rate: Double, refresh: Double, fits: Bool) {
        #expect((FrameScheduler.step(cadence: .seconds(1 / rate), period: 1e9 / refresh).phase != nil) == fits)
    }
}
