import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskPlayback

/// Random playlists on random displays and cards. Some rules hold for any rates, crystals, card steps and events.
@Suite struct TimelineSimulationTests {
    /// Without events, every picture is shown, in order, for its own time, with its sound.
    @Test(arguments: Proof.some(Array(0..<40), 16)) func calm(seed: UInt64) {
        let check = SimulationCheck(.random(seed, rough: false))
        check.whatAlwaysHolds()
        check.soundIsWhole()
        check.soundOfEveryClipIsWhole()
        #expect(check.outcome.snapshot?.status == .playing)
        #expect(check.outcome.snapshot?.statistics.stalls == 0)
        // An engine that keeps up has something ready at all times.
        #expect(check.outcome.snapshot?.statistics.leastBuffered.map { $0.frames > 0 && $0.sound > .zero } != false)
        #expect(check.outcome.snapshot?.statistics.framesLate == 0 && check.outcome.snapshot?.statistics.framesDropped == 0)
    }

    /// One clip fades into the next, with the real planner and the real fade. Some clips are shorter than the fade, some longer.
    @Test(arguments: Proof.some(Array(100..<112), 6)) func fades(seed: UInt64) {
        var scenario = Scenario.random(seed, rough: false)
        scenario.transition = .milliseconds(300)
        // The engine decodes two pictures for each one shown.
        scenario.decodeShare *= 0.5
        let check = SimulationCheck(scenario)
        check.order()
        check.accounts()
        check.bounds()
        check.fades()
        let told = check.outcome.snapshot?.statistics
        #expect(check.outcome.snapshot?.status == .playing && told?.stalls == 0)
        // A picture that stands for long has more pieces than a slow display has vblanks.
        if scenario.refreshRate > 30 { #expect(told?.framesDropped == 0) }
    }

    /// One second at 30 frames a second, looped on 60 Hz.
    private static var aSecond: Scenario {
        Scenario(clips: [.init(edges: (0...30).map { Double($0) / 30 }, rate: 30)])
    }

    /// The reported stalls match the silence.
    @Test func stalls() throws {
        var scenario = Self.aSecond
        scenario.events = [
            (4, .decoderStalls(0.9)), (8, .command(.pause)), (9, .command(.play)), (12, .decoderStalls(1.5)), (16, .cardRunsDry(0.3)),
        ]
        let outcome = SimulatedPlayback.run(scenario)
        let told = try #require(outcome.snapshot?.statistics)
        let played = outcome.played
        let begins = played.indices.dropFirst().filter { played[$0] == nil && played[$0 - 1] != nil }
        let silence = begins.map { played[$0...].prefix { $0 == nil }.count }
        // The second silence is the pause.
        #expect(silence.count == 3 && told.stalls == 2, "\(silence), \(told.stalls)")
        #expect(abs(told.stalledTime.seconds - Double(silence[0] + silence[2]) / Double(SimulatedCard.sampleRate)) < 0.002)
        #expect(told.stalledTime > .seconds(1))
    }

    /// A flip after its intended vblank counts as late, and nothing else does.
    @Test func lostVblanks() throws {
        var scenario = Self.aSecond
        scenario.events = [(4, .vblanksLost(1)), (8, .vblanksLost(1)), (12, .vblanksLost(1))]
        let outcome = SimulatedPlayback.run(scenario)
        let holds = zip(outcome.shown, outcome.shown.dropFirst()).map { $1.vblank - $0.vblank }.dropFirst()
        #expect(holds.count { $0 > 2 } == 3)
        #expect(outcome.snapshot?.statistics.framesLate == 3 && outcome.snapshot?.statistics.framesDropped == 0)
    }

    /// A flip that the driver does not report counts as lost, and play goes on.
    @Test func flipsThatNobodyTellsOf() throws {
        var scenario = Self.aSecond
        scenario.events = [(4, .flipUnreported), (8, .flipUnreported)]
        let outcome = SimulatedPlayback.run(scenario)
        #expect(outcome.snapshot?.statistics.flipsLost == 2 && outcome.violations == [])
        let later = outcome.shown.filter { $0.time > 9 }
        #expect(later.count > 300 && zip(later, later.dropFirst()).allSatisfy { $1.vblank - $0.vblank == 2 })
    }

    /// The driver turns out to count no vblanks: the pictures go on, timed by the timer.
    @Test func vblanksThatNobodyCounts() throws {
        var scenario = Self.aSecond
        scenario.events = [(4, .vblanksUncounted)]
        let outcome = SimulatedPlayback.run(scenario)
        let later = outcome.shown.filter { $0.time > 5 }
        #expect(later.count > 440 && zip(later, later.dropFirst()).allSatisfy { $1.vblank - $0.vblank == 2 })
        #expect(outcome.snapshot?.statistics.framesDropped == 0)
    }

    /// At another rate, each picture stands for proportionally longer or shorter, and the item time follows.
    @Test(arguments: [(2.0, 1), (0.5, 4)]) func rates(rate: Double, vblanks: Int) throws {
        var scenario = Self.aSecond
        scenario.events = [(4, .command(.setRate(rate)))]
        let outcome = SimulatedPlayback.run(scenario)
        let later = outcome.shown.filter { $0.time > 6 }
        #expect(later.count > 800 / vblanks && zip(later, later.dropFirst()).allSatisfy { $1.vblank - $0.vblank == vblanks })
        #expect(outcome.violations == [] && outcome.snapshot?.statistics.framesDropped == 0)
    }

    /// A flip that is reported late because no thread ran does not count as lost.
    @Test func stops() throws {
        var scenario = Self.aSecond
        scenario.events = [(4, .everythingStops(1.7)), (9, .everythingStops(0.5))]
        let outcome = SimulatedPlayback.run(scenario)
        #expect(outcome.snapshot?.statistics.flipsLost == 0)
        #expect(outcome.violations == [] && outcome.snapshot?.status == .playing)
    }

    /// While the whole process stands (a debugger, a freezer), the card plays what it holds and no more. The player drops no more pictures
    /// than that sound covers.
    @Test(arguments: [0.5, 2, 60]) func frozen(seconds: Double) throws {
        var scenario = Self.aSecond
        scenario.seconds = 90
        scenario.events = [(8.005, .frozen(seconds))]
        let check = SimulationCheck(scenario)
        check.order()
        check.accounts()
        check.nothingIsLost()
        check.cadence()
        check.together()
        check.soundGoesOn()
        let held = Double(scenario.cardPeriod * scenario.cardPeriods) / Double(SimulatedCard.sampleRate)
        let dropped = try #require(check.outcome.snapshot?.statistics.framesDropped)
        #expect(dropped <= Int(held * 30) + 1, "\(held) s of sound")
        let after = check.outcome.shown.filter { $0.time > 8 + seconds }
        let holds = zip(after, after.dropFirst()).map { $1.vblank - $0.vblank }
        #expect(holds.max()! <= 6, "no standing still afterwards")
    }

    /// Decoders stall, vblanks are lost, the card runs dry, the display disconnects and reconnects, and viewers press keys. One second
    /// after each, playback is as before.
    @Test(arguments: Proof.some(Array(1000..<1060), 24)) func rough(seed: UInt64) {
        let check = SimulationCheck(.random(seed, rough: true))
        check.whatAlwaysHolds()
        check.soundGoesOn()
        check.seeksLand()
        check.commandsLand()
        check.pausesStand()
        #expect(check.outcome.snapshot?.status == .playing)
    }

    /// Items open late: the last picture stands until the next one is ready, and no longer.
    @Test(arguments: Proof.some(Array(2000..<2012), 5)) func lateOpenings(seed: UInt64) {
        var scenario = Scenario.random(seed, rough: true)
        scenario.seconds = 60
        scenario.openingTime = 0.2...3
        let outcome = SimulatedPlayback.run(scenario)
        #expect(outcome.violations == [])
        // Before the first picture there is the background, number 0.
        let shown = outcome.shown.filter { $0.number > 0 }
        #expect(zip(shown, shown.dropFirst()).allSatisfy { $0.number <= $1.number })
        #expect(outcome.snapshot?.statistics.framesShown == outcome.shown.count)
        let times = shown.map(\.time) + [scenario.seconds]
        let longest = zip(times, times.dropFirst()).map { (seconds: $1 - $0, since: $0) }.max { $0.seconds < $1.seconds }
        #expect(longest.map { $0.seconds < 6 } ?? false, "\(longest as Any)")
    }
}
