import KioskPlatform
import Testing

@testable import KioskPlayback

@Suite struct StreamRecoveryTests {
    private let begin = HostTime(nanoseconds: 1_000_000_000)
    private let position = PlaylistCursor.Position(item: 0)

    @Test func theDelaysDoubleUpToThirtySeconds() {
        var (recovery, now) = (StreamRecovery(position, reconnect: .seconds(1000), at: begin), begin)
        var delays: [Double] = []
        for _ in 0..<9 {
            guard let attemptAt = recovery.attemptAt else { break }
            delays.append((attemptAt - now).seconds)
            now = attemptAt
            recovery.began()
            recovery.failed(at: now)
        }
        #expect(delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30])
    }

    @Test func itIsDueWhenItIsToBeOpenedOrItsTimeIsOver() {
        var recovery = StreamRecovery(position, reconnect: .seconds(2), at: begin)
        #expect(recovery.due == begin + .seconds(0.5) && !recovery.isOver(at: recovery.due))
        recovery.began()
        #expect(recovery.due == begin + .seconds(2), "an attempt that hangs is given up")
        recovery.failed(at: begin + .seconds(1.5))
        #expect(recovery.due == begin + .seconds(2) && recovery.isOver(at: recovery.due))
    }

    @Test func withoutTimeItIsOverAtOnce() {
        #expect(StreamRecovery(position, reconnect: .zero, at: begin).isOver(at: begin))
    }
}
