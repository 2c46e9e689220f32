import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

/// Items that do not open in time. Each holds up the others once; from then on the player opens it beside them.
@Suite struct LateItemTests {
    /// Returns a clip of `seconds` at 30 frames a second.
    private func clip(_ seconds: Double) -> Scenario.Clip { .init(edges: (0...Int(seconds * 30)).map { Double($0) / 30 }, rate: 30) }

    /// A source that never answers; the time limit ends each try.
    private static let silent = Scenario.Opening(failing: 10, worksFrom: .infinity)

    private struct Run {
        let scenario: Scenario
        let outcome: Outcome

        init(_ scenario: Scenario) {
            (self.scenario, outcome) = (scenario, SimulatedPlayback.run(scenario))
            #expect(outcome.violations == [])
        }

        /// The clips that came on the screen, with their times in seconds; the clip is nil for the background.
        var playthroughs: [(clip: Int?, time: Double)] {
            var list: [(clip: Int?, time: Double)] = []
            var reading: Int??
            for shown in outcome.shown {
                let next = outcome.pictures[shown.number]?.reading
                if next != reading { list.append((next.map { outcome.readings[$0].clip }, shown.time)) }
                reading = .some(next)
            }
            return list
        }

        func clips(from time: Double) -> [Int?] { playthroughs.filter { $0.time >= time }.map(\.clip) }

        /// Returns how long a picture that came at `time` or later stood at most, in seconds.
        func longestHold(from time: Double) -> Double {
            let times = outcome.shown.map(\.time).filter { $0 >= time } + [scenario.seconds]
            return zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .infinity
        }
    }

    @Test func whatNeverAnswersIsWaitedForOnce() {
        var scenario = Scenario(seconds: 120, clips: [clip(2), clip(2)])
        scenario.openings = [1: Self.silent]
        let run = Run(scenario)
        #expect(run.longestHold(from: 13) < 0.05)
        #expect(run.playthroughs.count > 52 && run.clips(from: 0).allSatisfy { $0 == 0 }, "\(run.playthroughs)")
        #expect(run.outcome.snapshot?.statistics.stalls == 1)
        // The player retries it less and less often, and complains once.
        let tries = run.outcome.opened.filter { $0.clip == 1 }.map(\.time)
        #expect((4...7).contains(tries.count), "\(tries)")
        #expect(run.outcome.events.count { if case .itemFailed = $0 { true } else { false } } == 1)
    }

    @Test func severalAreEachWaitedForOnce() {
        var scenario = Scenario(seconds: 120, clips: [clip(2), clip(2), clip(2), clip(3)])
        scenario.openings = [1: Self.silent, 2: Self.silent]
        let run = Run(scenario)
        #expect(run.longestHold(from: 23) < 0.05)
        #expect(run.clips(from: 30).allSatisfy { $0 == 0 || $0 == 3 } && run.clips(from: 30).count > 30)
    }

    @Test func whatAnswersAgainIsPlayedInItsTurn() {
        var scenario = Scenario(seconds: 120, clips: [clip(2), clip(2), clip(3)])
        scenario.openings = [1: .init(failing: 10, worksFrom: 40)]
        let run = Run(scenario)
        #expect(run.longestHold(from: 13) < 0.05)
        #expect(run.clips(from: 0).dropFirst().prefix(10).allSatisfy { $0 != 1 })
        // At the latest after half a minute and the last try, and in order.
        let back = run.clips(from: 85)
        #expect(back.contains(1) && zip(back, back.dropFirst()).allSatisfy { $1 == ($0! + 1) % 3 }, "\(back)")
    }

    /// It has played, and then its source stops answering.
    @Test func whatStopsAnsweringIsWaitedForOnce() {
        var scenario = Scenario(seconds: 90, clips: [clip(2), clip(2)])
        scenario.openings = [1: .init(failing: 10, worksUntil: 20)]
        let run = Run(scenario)
        #expect(run.longestHold(from: 0) > 7 && run.longestHold(from: 35) < 0.05)
    }

    /// A server far away, or a slow disk: it works, but takes longer than the clip before it lasts.
    @Test func whatOpensSlowlyIsPlayedWhenItLiesReady() {
        var scenario = Scenario(seconds: 120, clips: [clip(2), clip(4)])
        scenario.openings = [1: .init(working: 5)]
        let run = Run(scenario)
        #expect(run.longestHold(from: 8) < 0.05)
        let clips = run.clips(from: 8)
        #expect(clips.count { $0 == 1 } > 8, "\(clips)")
        #expect(clips.count { $0 == 0 } > 3 * clips.count { $0 == 1 } - 4, "\(clips)")
    }

    /// Two slow ones: each opens while the other plays.
    @Test func onesThatOpenSlowlyTakeTurns() {
        var scenario = Scenario(seconds: 120, clips: [clip(10), clip(10)])
        scenario.openings = [0: .init(working: 5), 1: .init(working: 5)]
        let run = Run(scenario)
        #expect(run.longestHold(from: 18) < 0.05)
        let clips = run.clips(from: 18)
        #expect(clips.count > 8 && zip(clips, clips.dropFirst()).allSatisfy { $0 != $1 }, "\(clips)")
    }

    /// Once it has opened quickly, it is an item like the others.
    @Test func whatWasSlowOnceKeepsItsTurn() {
        var scenario = Scenario(seconds: 60, clips: [clip(2), clip(2)])
        scenario.openings = [1: .init(failing: 3, worksFrom: 5)]
        let run = Run(scenario)
        let clips = run.clips(from: 12)
        #expect(clips.count > 20 && zip(clips, clips.dropFirst()).allSatisfy { $0 != $1 }, "\(clips)")
    }

    /// Nothing plays: the background shows, and the first item that answers is on the screen at once.
    @Test func whereEverythingIsLateWhatAnswersFirstIsPlayed() {
        var scenario = Scenario(seconds: 90, clips: [clip(2), clip(2), clip(2)])
        scenario.openings = [0: Self.silent, 1: Self.silent, 2: .init(failing: 10, worksFrom: 45)]
        let run = Run(scenario)
        #expect(run.outcome.events.contains { if case .nothingPlayable = $0 { true } else { false } })
        let first = run.playthroughs.first { $0.clip != nil }
        #expect(first.map { $0.clip == 2 && $0.time < 66 } ?? false, "\(first as Any)")
        #expect(run.longestHold(from: 66) < 0.05)
    }

    /// The last one that played now fails at once, and another one never answers. The player still retries the first every two seconds.
    @Test func whatIsLateDoesNotHoldUpWhatComesBack() {
        var scenario = Scenario(seconds: 90, clips: [clip(2), clip(2)])
        scenario.openings = [0: .init(failing: 0.01, worksUntil: 30), 1: Self.silent]
        let gone = Run(scenario)
        #expect(gone.playthroughs.last.map { $0.clip == nil && $0.time < 36 } ?? false, "\(gone.playthroughs)")
        let tries = gone.outcome.opened.filter { $0.clip == 0 && $0.time > 40 }.map(\.time)
        #expect(zip(tries, tries.dropFirst()).allSatisfy { $1 - $0 < 2.1 } && tries.count > 20, "\(tries)")
    }

    /// If a viewer asks for the item, the player opens it at once.
    @Test func whoAsksForItGetsIt() {
        var scenario = Scenario(seconds: 60, clips: [clip(2), clip(30)])
        scenario.openings = [1: .init(failing: 10, worksFrom: 29)]
        scenario.events = [(30, .command(.nextItem))]
        let run = Run(scenario)
        #expect(run.clips(from: 30.01) == [1], "\(run.playthroughs)")
    }
}
