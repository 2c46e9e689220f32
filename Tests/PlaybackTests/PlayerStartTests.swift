import KioskMedia
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

/// Starts and seeks in simulated time, with decoders that are fast, slow at first, and slow for good.
@Suite struct PlayerStartTests {
    /// Two seconds at 60 frames a second, looped on 60 Hz. Each of the first `slow` pictures after a start or a seek takes `share` times
    /// its duration to decode.
    private func scenario(slow: Int = 0, share: Double = 0) -> Scenario {
        var scenario = Scenario(clips: [.init(edges: (0...120).map { Double($0) / 60 }, rate: 60)])
        (scenario.seconds, scenario.decodeShare, scenario.composeTime) = (8, 0.6, 0.002)
        (scenario.slowPictures, scenario.slowShare) = (slow, share)
        return scenario
    }

    /// Returns for how many vblanks each picture of a generation stood.
    private func holds(_ outcome: Outcome, generation: UInt64 = 0) -> [Int] {
        let shown = outcome.shown.filter { outcome.enqueued[$0.number]?.generation == generation }
        return zip(shown, shown.dropFirst()).map { $1.vblank - $0.vblank }
    }

    /// Expensive first pictures do not make the player stop again after the start.
    @Test(arguments: [(8, 2.5), (20, 1.5), (20, 2.5), (12, 6)]) func `a slow start stands once`(slow: Int, share: Double) throws {
        let outcome = SimulatedPlayback.run(scenario(slow: slow, share: share))
        let told = try #require(outcome.snapshot?.statistics)
        #expect(told.stalls == 0, "\(told.stalledTime)")
        let holds = holds(outcome)
        #expect(holds.dropFirst().allSatisfy { $0 == 1 }, "\(holds.prefix(60))")
        // As soon as the queues are full, and no later: 12 pictures wait in the queue, and 3 in buffers.
        #expect(Double(holds[0]) <= 15 * share + 2, "\(holds[0])")
    }

    /// A fast decoder starts as soon as the card has its sound: two periods of 10 ms and the card's own wait.
    @Test func `a fast start stands for a few vblanks`() {
        var scenario = scenario()
        scenario.decodeShare = 0.1
        let holds = holds(SimulatedPlayback.run(scenario))
        #expect(holds[0] <= 4 && holds.dropFirst().allSatisfy { $0 == 1 }, "\(holds.prefix(60))")
    }

    /// The player shows the picture of a seek at once, and the clock waits.
    @Test func `a seek shows its picture at once, and goes on when it can`() throws {
        var scenario = scenario(slow: 10, share: 3)
        scenario.events = [(4, .command(.seekTo(.seconds(1))))]
        let outcome = SimulatedPlayback.run(scenario)
        #expect(outcome.snapshot?.statistics.stalls == 0)
        let jump = try #require(outcome.jumps.first)
        let first = try #require(outcome.shown.first { outcome.enqueued[$0.number]?.generation == jump.generation })
        // Three frame durations to decode, and a vblank.
        #expect(first.time - jump.time < 0.1)
        #expect(holds(outcome, generation: jump.generation).dropFirst().allSatisfy { $0 == 1 })
    }

    /// A decoder at a twentieth of the speed never fills the queues. Play starts all the same, and then stalls again and again.
    @Test func `a stream that never fills starts after two seconds`() throws {
        let outcome = SimulatedPlayback.run(scenario(slow: .max, share: 20))
        let wait = try #require(outcome.shown.dropFirst().first).time - outcome.shown[0].time
        #expect(wait > 1.95 && wait < 2.15, "\(wait) s")
    }
}
