import KioskPlatform
import Testing

@testable import KioskPlayback

@Suite struct OverlayStateTests {
    private let surface = Surface(width: 1, height: 1, pixels: [0])
    private func overlay(_ number: Int) -> Overlay { Overlay(pictures: [.init(surface: surface, x: number, y: 0)]) }
    private func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: milliseconds * 1_000_000) }

    private func set(_ state: inout OverlayState, _ overlay: Overlay) -> Bool { state.set(overlay, by: .init(.controls)) }

    /// Gives the overlay to the display, as the compositor does.
    private func give(_ state: inout OverlayState, _ placement: OverlayPlacement) {
        guard let (overlay, number) = state.toGive(frameWaits: false) else { return }
        state.gave(number, isEmpty: overlay.pictures.isEmpty, placement: placement)
    }

    @Test func nothingIsDoneWhileNothingLiesThere() {
        var state = OverlayState()
        #expect(state.toGive(frameWaits: false) == nil && !state.awaitsCommit(over: OverlayMark()) && !state.isComing(at: at(0)))
        #expect(state.mark == OverlayMark())
        #expect(!set(&state, Overlay()) && state.toGive(frameWaits: false) == nil)
        state.displayChanged()
        #expect(state.toGive(frameWaits: false) == nil && !state.awaitsCommit(over: OverlayMark()))
    }

    @Test func onAPlaneNothingIsStaleAndOneCommitIsAwaited() {
        var state = OverlayState()
        #expect(set(&state, overlay(1)) && state.toGive(frameWaits: false)?.number == 1 && state.isComing(at: at(0)))
        give(&state, .plane)
        #expect(state.toGive(frameWaits: false) == nil && !state.isComing(at: at(0)) && state.awaitsCommit(over: OverlayMark()))
        #expect(!state.isStale(OverlayMark()) && !state.hasToLeavePlane)
        #expect(state.commit(OverlayMark()) == 1, "a frame brings it along")
        #expect(!state.awaitsCommit(over: OverlayMark()))
        #expect(!set(&state, overlay(1)), "the same again")
        #expect(set(&state, Overlay()))
        give(&state, .plane)
        #expect(state.awaitsCommit(over: OverlayMark()) && state.commit(nil) == 2 && !state.awaitsCommit(over: OverlayMark()))
    }

    @Test func blendedWhatWasPreparedBeforeIsStale() {
        var state = OverlayState()
        _ = set(&state, overlay(1))
        #expect(!state.isStale(OverlayMark()), "the output has not taken it over")
        give(&state, .blended)
        #expect(state.isStale(OverlayMark()) && !state.awaitsCommit(over: OverlayMark()))
        #expect(state.mark == OverlayMark(number: 1, content: 1))
        #expect(!state.isStale(state.mark))
        let first = state.mark
        _ = set(&state, Overlay())
        give(&state, .blended)
        #expect(state.isStale(first) && !state.isStale(OverlayMark()), "bare scenes are right again")
        #expect(state.commit(OverlayMark()) == 0, "prepared before the first")
        #expect(state.commit(state.mark) == 2)
    }

    /// Scenes are stale only if their part of the overlay has changed, and planes wait for those scenes.
    @Test func theFrontOnPlanesAndTheRestInScenes() {
        var state = OverlayState()
        _ = set(&state, overlay(1))
        give(&state, .both(painting: 5))
        let first = state.mark
        #expect(state.isStale(OverlayMark()) && first.content == 1)
        #expect(!state.awaitsCommit(over: OverlayMark()), "the scene on the screen has nothing in it")
        #expect(state.commit(OverlayMark()) == 0 && state.awaitsCommit(over: first))
        #expect(state.commit(first) == 1 && !state.awaitsCommit(over: first))
        _ = set(&state, overlay(2))
        give(&state, .both(painting: 5))
        #expect(!state.isStale(first) && state.awaitsCommit(over: first) && state.commit(nil) == 2)
        _ = set(&state, overlay(3))
        give(&state, .both(painting: 6))
        #expect(state.isStale(first) && !state.awaitsCommit(over: first) && state.commit(first) == 1)
        #expect(state.commit(state.mark) == 3 && !state.hasToLeavePlane)
        _ = set(&state, overlay(4))
        give(&state, .blended)
        #expect(state.hasToLeavePlane && state.isStale(OverlayMark(content: 3)) && state.commit(state.mark) == 4 && !state.hasToLeavePlane)
    }

    /// An overlay that no longer fits its plane leaves it with a scene.
    @Test func fromAPlaneIntoTheScene() {
        var state = OverlayState()
        _ = set(&state, overlay(1))
        give(&state, .plane)
        _ = state.commit(OverlayMark())
        _ = set(&state, Overlay())
        give(&state, .blended)
        #expect(!state.isStale(OverlayMark()) && state.hasToLeavePlane)
        _ = state.commit(OverlayMark())
        #expect(!state.hasToLeavePlane)
    }

    @Test(arguments: [OverlayPlacement.plane, .blended]) func aDisplayThatChangesIsGivenItAgain(placement: OverlayPlacement) {
        var state = OverlayState()
        _ = set(&state, overlay(1))
        give(&state, placement)
        let before = state.mark
        _ = state.commit(before)
        state.displayChanged()
        #expect(state.toGive(frameWaits: false)?.overlay == overlay(1) && !state.awaitsCommit(over: OverlayMark()))
        give(&state, placement)
        #expect(state.awaitsCommit(over: OverlayMark()) == (placement == .plane) && state.isStale(before) == (placement == .blended))
    }

    @Test func whatTheOutputWasTooBusyForIsTriedAgain() {
        var state = OverlayState()
        _ = set(&state, overlay(1))
        give(&state, .plane)
        _ = state.commit(nil)
        state.wasBusy()
        #expect(state.awaitsCommit(over: OverlayMark()))
    }

    @Test func whatIsExpectedIsWaitedForUntilItComes() {
        var state = OverlayState()
        state.expect(in: at(0)..<at(16), by: .init(.controls), period: .milliseconds(16))
        #expect(state.isComing(at: at(15)) && !state.isComing(at: at(16)))
        _ = set(&state, overlay(1))
        give(&state, .plane)
        #expect(!state.isComing(at: at(15)))
    }

    @Test func severalOfOneVblankAreGivenTogether() {
        var state = OverlayState()
        let (first, second) = (Overlay.Source(.zones, 1), Overlay.Source(.zones, 2))
        for source in [first, second] { state.expect(in: at(16)..<at(48), by: source, period: .milliseconds(16)) }
        #expect(state.patienceEnds(at: at(17)) == nil)
        _ = state.set(overlay(1), by: first)
        // The wait ends less than half a period after each vblank at which the other one may come.
        #expect(state.patienceEnds(at: at(17)) == at(16) + MediaTime(nanoseconds: 7_200_000) && state.patienceEnds(at: at(24)) == nil)
        #expect(state.patienceEnds(at: at(33)) == at(32) + MediaTime(nanoseconds: 7_200_000) && state.patienceEnds(at: at(48)) == nil)
        _ = state.set(overlay(2), by: second)
        #expect(state.patienceEnds(at: at(17)) == nil && state.toGive(frameWaits: false)?.number == 2)
    }

    /// With an overlay at every vblank, each frame still has its turn.
    @Test func aFrameThatWaitsComesBetweenTwoOverlays() {
        var state = OverlayState()
        _ = set(&state, overlay(1))
        #expect(state.toGive(frameWaits: true)?.number == 1)
        give(&state, .plane)
        _ = set(&state, overlay(2))
        #expect(state.toGive(frameWaits: true)?.number == nil && state.toGive(frameWaits: false)?.number == 2)
        state.frameTaken()
        #expect(state.toGive(frameWaits: true)?.number == 2)
    }
}
