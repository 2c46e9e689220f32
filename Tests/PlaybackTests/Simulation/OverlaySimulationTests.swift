import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskPlayback

/// Controls appear, change and disappear at random while pictures play and stand. Some displays have a plane for them; on others the scenes
/// contain them.
@Suite struct OverlaySimulationTests {
    struct Case: CustomStringConvertible, Sendable {
        var rate: Double, refreshRate: Double
        var way: Scenario.OverlayWay
        var seed: UInt64
        var description: String { "\(rate) on \(refreshRate) Hz, \(way), \(seed)" }
    }

    static let cases: [Case] = [24.0, 25, 30, 50, 60].flatMap { rate in
        [50.0, 60].flatMap { refreshRate in
            Scenario.OverlayWay.allCases.map { Case(rate: rate, refreshRate: refreshRate, way: $0, seed: UInt64(rate + refreshRate)) }
        }
    }

    /// Returns a looped clip with changes of the overlay: single ones, and steps at every vblank, as when controls fade.
    private func scenario(_ given: Case, pauses: Bool, seconds: Double = 36) -> Scenario {
        var random = SeededRandom(seed: given.seed)
        for _ in 0..<8 { _ = random.unit() }
        func number(_ range: ClosedRange<Double>) -> Double {
            range.lowerBound + (random.unit() + 1) / 2 * (range.upperBound - range.lowerBound)
        }
        let frames = Int(given.rate * 2)
        var scenario = Scenario(seed: given.seed)
        scenario.clips = [.init(edges: (0...frames).map { Double($0) / given.rate }, rate: given.rate)]
        (scenario.refreshRate, scenario.overlayWay) = (given.refreshRate, given.way)
        (scenario.displayError, scenario.cardError, scenario.vblankJitter) = (number(-100...100), number(-100...100), 0.0003)
        scenario.composeTime = 0.35 / given.refreshRate
        scenario.decodeShare = 0.4
        scenario.seconds = seconds
        var (time, value) = (1.5, 0)
        while time < scenario.seconds - 3 {
            let steps = random.unit() > 0.5 ? Int(number(4...16)) : 1
            for _ in 0..<steps {
                value += 1
                scenario.overlays.append((time, value))
                time += 1 / given.refreshRate
            }
            time += number(0.01...0.5)
            if random.unit() > 0 {
                scenario.overlays.append((time, 0))
                time += number(0.01...0.5)
            }
        }
        if pauses {
            for begin in stride(from: 4.0, to: scenario.seconds - 6, by: 5) {
                scenario.events += [(begin + number(0...0.5), .command(.pause)), (begin + 2 + number(0...0.5), .command(.play))]
            }
        }
        return scenario
    }

    /// Every picture stands for its vblanks as without an overlay, and each overlay shows within two periods.
    @Test(arguments: cases) func whilePicturesPlay(given: Case) {
        let check = SimulationCheck(scenario(given, pauses: false))
        check.order()
        check.accounts()
        check.cadence()
        check.soundIsWhole()
        check.overlaysAreSeen(within: 2)
        check.overlaysDoNotGoBack()
        check.theLastOverlayStays()
        if given.rate <= given.refreshRate {
            check.nothingIsLost()
            check.noPictureIsMissed()
        }
        // A frame at every vblank brings the overlay along.
        if given.way == .plane, given.rate <= given.refreshRate {
            #expect(check.outcome.overlays.contains { $0.isAlone } == (given.rate < given.refreshRate))
        }
    }

    @Test(arguments: cases) func whilePicturesStandAndPlay(given: Case) {
        let check = SimulationCheck(scenario(given, pauses: true))
        check.order()
        check.accounts()
        check.cadence()
        check.overlaysAreSeen(within: 2)
        check.overlaysDoNotGoBack()
        check.theLastOverlayStays()
        check.pausesStand()
        if given.rate <= given.refreshRate {
            check.nothingIsLost()
            check.noPictureIsMissed()
        }
    }

    /// Controls fade while play resumes. The next frame may be several vblanks away, and the controls do not wait for it. Scenes that
    /// contain the controls need painting first; the clock's first readings may then delay that frame by a vblank.
    @Test(arguments: [(25, 50, 75), (10, 60, 1), (10, 50, 2), (12, 60, 3)], Scenario.OverlayWay.allCases)
    func playingGoesOnUnderAFade(given: (rate: Double, refreshRate: Double, seed: UInt64), way: Scenario.OverlayWay) {
        var scenario = scenario(
            .init(rate: given.rate, refreshRate: given.refreshRate, way: way, seed: given.seed), pauses: true, seconds: 22)
        if given.rate < 25 {
            scenario.overlays = []
            for event in scenario.events {
                guard case .command(.play) = event.event else { continue }
                for step in 0..<40 {
                    scenario.overlays.append((event.time + Double(step - 10) / given.refreshRate, scenario.overlays.count + 1))
                }
            }
        }
        let check = SimulationCheck(scenario)
        check.order()
        check.accounts()
        check.cadence()
        check.overlaysAreSeen(within: way == .plane || given.rate == 25 ? 2 : 3)
        check.overlaysDoNotGoBack()
        check.theLastOverlayStays()
        check.pausesStand()
        check.noPictureIsMissed()
    }

    /// A display that reconnects shows the overlay again.
    @Test(arguments: Scenario.OverlayWay.allCases) func aDisplayThatComesBack(way: Scenario.OverlayWay) throws {
        var scenario = scenario(.init(rate: 30, refreshRate: 60, way: way, seed: 5), pauses: false)
        scenario.overlays = [(2, 7)]
        scenario.seconds = 12
        scenario.events = [(4, .display(isConnected: false)), (5, .display(isConnected: true)), (7, .command(.pause))]
        scenario.events += [(8, .display(isConnected: false)), (9, .display(isConnected: true))]
        let outcome = SimulatedPlayback.run(scenario)
        #expect(outcome.violations == [])
        for begin in [5.0, 9] {
            let seen = outcome.overlays.filter { $0.time > begin }
            let first = try #require(seen.first { $0.value == 7 })
            #expect(first.time < begin + 0.1 && seen.drop { $0.value != 7 }.allSatisfy { $0.value == 7 })
        }
    }

    /// Two buffers are too few to keep one ready while it is prepared again. Even so, the player misses nothing.
    @Test(arguments: Scenario.OverlayWay.allCases) func twoBuffers(way: Scenario.OverlayWay) {
        var scenario = scenario(.init(rate: 30, refreshRate: 60, way: way, seed: 6), pauses: true)
        scenario.buffers = 2
        let check = SimulationCheck(scenario)
        check.cadence()
        check.nothingIsLost()
        check.noPictureIsMissed()
        check.overlaysAreSeen(within: way == .plane ? 2 : 5)
        check.theLastOverlayStays()
    }

    /// A machine that needs most of a frame's time to prepare it cannot prepare it twice. The overlay comes later, but no picture does.
    @Test(arguments: [0.7, 0.9]) func aSlowBox(share: Double) {
        var scenario = scenario(.init(rate: 30, refreshRate: 60, way: .blended, seed: 7), pauses: false)
        scenario.composeTime = share / 30
        let check = SimulationCheck(scenario)
        check.cadence()
        check.nothingIsLost()
        check.noPictureIsMissed()
        check.overlaysAreSeen(within: 9)
        check.theLastOverlayStays()
    }

    /// The overlay may be the first thing on the screen: before the first picture, or without any.
    @Test(arguments: Scenario.OverlayWay.allCases) func beforeTheFirstPicture(way: Scenario.OverlayWay) {
        var scenario = scenario(.init(rate: 30, refreshRate: 60, way: way, seed: 8), pauses: false)
        scenario.overlays = [(0, 3)]
        scenario.seconds = 3
        let outcome = SimulatedPlayback.run(scenario)
        #expect(outcome.violations == [] && outcome.overlays.last?.value == 3)
        #expect(outcome.shown.count > 50)
    }

    /// A still stands for an hour, and nothing follows it in that time.
    @Test(arguments: Scenario.OverlayWay.allCases) func overAStill(way: Scenario.OverlayWay) {
        var scenario = scenario(.init(rate: 30, refreshRate: 60, way: way, seed: 9), pauses: false)
        scenario.clips = [.init(edges: [0, 3600], rate: 1.0 / 3600)]
        scenario.overlays = [(2, 3), (4, 5)]
        scenario.seconds = 6
        let outcome = SimulatedPlayback.run(scenario)
        #expect(outcome.violations == [] && outcome.overlays.last?.value == 5, "\(outcome.overlays)")
        #expect(outcome.overlays.contains { $0.value == 3 })
    }
}
