import KioskPlatform
import KioskPlayback
import Testing

@testable import Remote

@Suite struct ServiceStateTests {
    private var sight = ServiceState.Sight(framesShown: 0, text: "playing: a")
    private func time(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 0) + .seconds(seconds) }

    @Test func `it is ready with the first frame, and after ten seconds without`() {
        var (state, sight) = (ServiceState(at: time(0)), sight)
        #expect(state.look(sight, at: time(1)) == ["STATUS=playing: a", "WATCHDOG=1"])
        sight.framesShown = 1
        #expect(state.look(sight, at: time(2)) == ["READY=1", "WATCHDOG=1"])
        #expect(state.look(sight, at: time(3)) == ["WATCHDOG=1"])
        var dark = ServiceState(at: time(0))
        sight.framesShown = 0
        #expect(!dark.look(sight, at: time(9)).contains("READY=1"))
        #expect(dark.look(sight, at: time(10)).contains("READY=1"))
    }

    /// Polls every 0.5 s in `seconds`; returns the messages of the last poll.
    private func look(
        _ state: inout ServiceState, _ sight: ServiceState.Sight, _ seconds: ClosedRange<Double>
    ) -> [String] {
        var last: [String] = []
        for time in stride(from: seconds.lowerBound, through: seconds.upperBound, by: 0.5) { last = state.look(sight, at: self.time(time)) }
        return last
    }

    @Test(arguments: PlayerLiveness.Part.allCases) func `what hangs starves the watchdog after its limit`(part: PlayerLiveness.Part) {
        var (state, sight) = (ServiceState(at: time(0)), sight)
        let limit = ServiceState.limit(of: part).seconds
        sight.liveness.beats[part] = Heartbeat.Beat(count: 7, isAtWork: true)
        #expect(look(&state, sight, 0...limit - 1).contains("WATCHDOG=1"))
        #expect(!look(&state, sight, limit - 0.5...limit + 2).contains("WATCHDOG=1"))
        #expect(state.hanging == [part])
        sight.liveness.beats[part]?.count = 9
        #expect(state.look(sight, at: time(limit + 3)).contains("WATCHDOG=1"), "it was only slow")
    }

    @Test func `what has nothing to do may rest for hours`() {
        var (state, sight) = (ServiceState(at: time(0)), sight)
        sight.framesShown = 1
        for part in PlayerLiveness.Part.allCases { sight.liveness.beats[part] = Heartbeat.Beat(count: 8, isAtWork: false) }
        #expect(look(&state, sight, 0...7200).contains("WATCHDOG=1"))
    }

    @Test func `a machine that stood still is no thread that hangs`() {
        var (state, sight) = (ServiceState(at: time(0)), sight)
        sight.liveness.beats[.feeder] = Heartbeat.Beat(count: 7, isAtWork: true)
        #expect(look(&state, sight, 0...2).contains("WATCHDOG=1"))
        #expect(state.look(sight, at: time(3600)).contains("WATCHDOG=1"))
    }
}
