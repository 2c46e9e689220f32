import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

@Suite struct PlaybackStateTests {
    /// Returns a state in a phase.
    private func state(_ phase: PlaybackState.Phase) -> PlaybackState {
        var state = PlaybackState()
        if phase == .waiting { return state }
        if phase == .paused(hasStarted: false) {
            _ = state.pause()
            return state
        }
        state.clockStarted()
        if phase == .paused(hasStarted: true) { _ = state.pause() }
        if phase == .ended { state.playedOut() }
        return state
    }

    private static let phases: [PlaybackState.Phase] = [.paused(hasStarted: false), .paused(hasStarted: true), .waiting, .playing, .ended]

    @Test(
        arguments: zip(
            phases,
            [
                (PlaybackState.Phase.waiting, PlaybackState.Action.changed), (.playing, .changed),
                (.waiting, .none), (.playing, .none), (.waiting, .replay),
            ]))
    func play(from phase: PlaybackState.Phase, to: (phase: PlaybackState.Phase, action: PlaybackState.Action)) {
        var state = state(phase)
        #expect(state.phase == phase)
        #expect(state.play(canReplay: true) == to.action && state.phase == to.phase)
    }

    @Test func nothingIsReplayedOfAnEmptyList() {
        var state = state(.ended)
        #expect(state.play(canReplay: false) == .none && state.phase == .ended)
    }

    @Test(
        arguments: zip(
            phases,
            [
                (PlaybackState.Phase.paused(hasStarted: false), PlaybackState.Action.none), (.paused(hasStarted: true), .none),
                (.paused(hasStarted: false), .changed), (.paused(hasStarted: true), .changed),
                (.ended, .none),
            ]))
    func pause(from phase: PlaybackState.Phase, to: (phase: PlaybackState.Phase, action: PlaybackState.Action)) {
        var state = state(phase)
        #expect(state.pause() == to.action && state.phase == to.phase)
    }

    /// A seek: a player that was to play plays on, and one that stood stays paused.
    @Test(
        arguments: zip(
            phases,
            [
                PlaybackState.Phase.paused(hasStarted: false), .paused(hasStarted: false), .waiting, .waiting, .paused(hasStarted: false),
            ]))
    func aGenerationBegins(in phase: PlaybackState.Phase, to: PlaybackState.Phase) {
        var state = state(phase)
        state.completed()
        state.began()
        #expect(state.phase == to && !state.isComplete && !state.hasStarted)
    }

    /// The clock starts only a waiting player, and only a playing one can end.
    @Test(arguments: phases) func clockAndEnd(phase: PlaybackState.Phase) {
        var started = state(phase)
        started.clockStarted()
        #expect(started.phase == (phase == .waiting ? .playing : phase))
        var ended = state(phase)
        ended.playedOut()
        #expect(ended.phase == (phase == .playing ? .ended : phase))
    }

    @Test(arguments: zip(phases, [(false, false), (false, true), (true, false), (true, true), (false, true)]))
    func whatIsKnown(phase: PlaybackState.Phase, expected: (wantsPlay: Bool, hasStarted: Bool)) {
        let state = state(phase)
        #expect(state.wantsPlay == expected.wantsPlay && state.hasStarted == expected.hasStarted)
        #expect(state.isPlaying == (phase == .playing))
    }

    @Test func changesOfStatusAreToldOnce() {
        var state = PlaybackState()
        #expect(state.statusChange(ranDry: false) == nil && state.status == .waitingToPlay)
        state.clockStarted()
        #expect(state.statusChange(ranDry: false) == .playing && state.statusChange(ranDry: false) == nil)
        #expect(state.statusChange(ranDry: true) == .waitingToPlay && state.status == .waitingToPlay)
        #expect(state.statusChange(ranDry: false) == .playing)
        _ = state.pause()
        #expect(state.status == .playing, "as observers were told")
        #expect(state.statusChange(ranDry: true) == .paused)
        _ = state.play(canReplay: true)
        #expect(state.statusChange(ranDry: false) == .playing)
        state.playedOut()
        #expect(state.statusChange(ranDry: true) == .paused)
    }
}

extension PlaybackStateTests {
    @Test("While it is held the clock stands in every phase; what is asked for meanwhile holds afterwards") func held() {
        var state = PlaybackState()
        state.clockStarted()
        #expect(state.hold(true) == .changed && state.hold(true) == .none)
        #expect(!state.isPlaying && state.wantsPlay && state.statusChange(ranDry: false) == .paused)
        #expect(state.pause() == .changed && state.hold(false) == .changed)
        #expect(!state.isPlaying && state.phase == .paused(hasStarted: true))
        _ = state.hold(true)
        #expect(state.play(canReplay: true) == .changed && !state.isPlaying)
        #expect(state.hold(false) == .changed && state.isPlaying)
        state.began()
        _ = state.hold(true)
        #expect(!state.awaitsClock && state.hold(false) == .changed && state.awaitsClock)
    }
}
