import KioskPlatform
import KioskPlayback
import Testing

@testable import Remote

@Suite struct ServiceStateTests {
    private var sight = ServiceState.Sight(
        hasDisplay: true, status: .playing, framesShown: 0, seams: 0, time: .zero, duration: .seconds(60), text: "playing: a")
    private func time(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 0) + .seconds(seconds) }

    @Test func `it is ready with the first frame, and after ten seconds without`() {
        var (state, sight) = (ServiceState(at: time(0)), sight)
        #expect(state.look(sight, at: time(1)) == ["STATUS=playing: a", "WATCHDOG=1"])
        sight.framesShown = 1
        #expect(state.look(sight, at: time(2)) == ["READY=1", "WATCHDOG=1"])
        #expect(state.look(sight, at: time(3)) == ["WATCHDOG=1"])
        var dark = ServiceState(at: time(0))
        sight.framesShown = 0
        sight.hasDisplay = false
        #expect(!dark.look(sight, at: time(9)).contains("READY=1"))
        #expect(dark.look(sight, at: time(10)).contains("READY=1"))
    }

    @Test func `moving pictures that stand starve the watchdog`() {
        var (state, sight) = (ServiceState(at: time(0)), sight)
        for second in 0..<10 {
            sight.framesShown += 30
            #expect(state.look(sight, at: time(Double(second))).contains("WATCHDOG=1"))
        }
        #expect(state.look(sight, at: time(13)).contains("WATCHDOG=1"))
        #expect(!state.look(sight, at: time(15)).contains("WATCHDOG=1"))
        var paused = sight
        paused.status = .paused
        #expect(state.look(paused, at: time(16)).contains("WATCHDOG=1"))
        var dark = sight
        dark.hasDisplay = false
        #expect(state.look(dark, at: time(30)).contains("WATCHDOG=1"))
        #expect(!state.look(sight, at: time(36)).contains("WATCHDOG=1"))
    }

    @Test func `a still stands to its end and not longer`() {
        var (state, sight) = (ServiceState(at: time(0)), sight)
        sight.framesShown = 1
        for second in stride(from: 0.0, through: 60, by: 1) {
            sight.time = .seconds(second)
            #expect(state.look(sight, at: time(second)).contains("WATCHDOG=1"))
        }
        #expect(!state.look(sight, at: time(70)).contains("WATCHDOG=1"))
    }
}
