import KioskMedia
import KioskPlatform
import Testing

@testable import KioskPlayback

/// Every edge of the state machine; a request is an item and a second.
@Suite struct SeekStateTests {
    private func seek(_ item: Int, _ second: Double?, _ precision: MediaReader.SeekPrecision = .exact) -> SeekRequest {
        SeekRequest(position: .init(item: .init(item)), time: second.map { .seconds($0) }, precision: precision)
    }

    /// Returns a state in which the first request is carried out and waits for its frame, and the others follow.
    private func underWay(_ requests: SeekRequest...) -> SeekState {
        var state = SeekState.none
        #expect(state.request(requests[0]) == .begin(requests[0]))
        #expect(state.take() == requests[0])
        for request in requests.dropFirst() { #expect(state.request(request) == .none) }
        return state
    }

    @Test func aSeekBeginsAtOnce() {
        var state = SeekState.none
        #expect(state.target == nil && state.underWay == nil && state.pending == nil && state.take() == nil)
        #expect(state.request(seek(0, 3)) == .begin(seek(0, 3)))
        #expect(state == .requested(seek(0, 3), then: nil))
        #expect(state.pending == seek(0, 3) && state.underWay == seek(0, 3) && state.target == seek(0, 3))
    }

    @Test func itIsTakenOnceAndDoneWhenItsFrameIsShown() {
        var state = SeekState.none
        _ = state.request(seek(0, 3))
        #expect(state.take() == seek(0, 3) && state.take() == nil)
        #expect(state == .carriedOut(seek(0, 3), then: nil) && state.pending == nil && state.underWay == seek(0, 3))
        #expect(state.followUp(in: 0, at: .zero) == .none, "the background is shown first")
        state.frameShown()
        #expect(state == .none)
        state.frameShown()
        #expect(state == .none && state.followUp(in: 0, at: .zero) == .none)
    }

    /// Frames of older generations are dropped earlier. A frame shown before the feeder takes the request does not belong to it.
    @Test func nothingIsShownOfWhatWasNotTaken() {
        var state = SeekState.none
        _ = state.request(seek(0, 3))
        state.frameShown()
        #expect(state == .requested(seek(0, 3), then: nil))
        #expect(state.followUp(in: 0, at: .zero) == .none)
        #expect(state == .requested(seek(0, 3), then: nil))
    }

    @Test func aSecondSeekWaitsForTheFrameOfTheFirst() {
        var state = underWay(seek(0, 3), seek(0, 4))
        #expect(state == .carriedOut(seek(0, 3), then: .next(seek(0, 4))))
        #expect(state.target == seek(0, 4) && state.underWay == seek(0, 3))
        _ = state.request(seek(0, 5))
        #expect(state.target == seek(0, 5), "the last one counts")
        state.frameShown()
        #expect(state == .followed(.next(seek(0, 5))) && state.underWay == nil && state.target == seek(0, 5))
    }

    @Test func itWaitsAsWellBeforeTheFirstWasTaken() {
        var state = SeekState.none
        _ = state.request(seek(0, 3))
        #expect(state.request(seek(0, 4)) == .none)
        #expect(state == .requested(seek(0, 3), then: .next(seek(0, 4))))
        #expect(state.take() == seek(0, 3))
        #expect(state == .carriedOut(seek(0, 3), then: .next(seek(0, 4))))
    }

    /// First a key frame, behind the picture on the screen if the seek goes forward; then the target itself.
    @Test(arguments: [(4.0, 3.0, MediaReader.SeekPrecision.keyFrame(after: .seconds(3))), (4, 4, .keyFrame()), (2, 3, .keyFrame())])
    func aRowGoesByKeyFramesAndEndsExactly(target: Double, now: Double, precision: MediaReader.SeekPrecision) {
        var state = underWay(seek(0, 3), seek(0, target))
        state.frameShown()
        let quick = seek(0, target, precision)
        #expect(state.followUp(in: 0, at: .seconds(now)) == .begin(quick))
        #expect(state == .requested(quick, then: .settle(seek(0, target))) && state.target == seek(0, target))
        #expect(state.take() == quick)
        state.frameShown()
        #expect(state == .followed(.settle(seek(0, target))))
        #expect(state.followUp(in: 0, at: .seconds(target)) == .begin(seek(0, target)))
        #expect(state == .requested(seek(0, target), then: nil))
    }

    @Test func aRowGoesOnWhileSeeksCome() {
        var state = underWay(seek(0, 3), seek(0, 4))
        state.frameShown()
        _ = state.followUp(in: 0, at: .seconds(3))
        #expect(state.request(seek(0, 5)) == .none)
        #expect(state == .requested(seek(0, 4, .keyFrame(after: .seconds(3))), then: .further(seek(0, 5))))
        _ = state.take()
        _ = state.request(seek(0, 6))
        state.frameShown()
        #expect(state == .followed(.further(seek(0, 6))))
        #expect(state.request(seek(0, 7)) == .none, "its frame is committed and not yet seen")
        #expect(state == .followed(.further(seek(0, 7))))
        #expect(state.followUp(in: 0, at: .seconds(4)) == .begin(seek(0, 7, .keyFrame(after: .seconds(4)))))
    }

    @Test func aSeekBeforeTheExactOneOfARowReplacesIt() {
        var state = underWay(seek(0, 3), seek(0, 4))
        state.frameShown()
        _ = state.followUp(in: 0, at: .seconds(3))
        _ = state.take()
        state.frameShown()
        #expect(state.request(seek(0, 5)) == .none)
        #expect(state == .followed(.further(seek(0, 5))))
    }

    /// No row has begun: the newest seek goes at once, and exactly.
    @Test func aSeekAfterTheFrameOfASingleOneWaitsForNothing() {
        var state = underWay(seek(0, 3), seek(0, 4))
        state.frameShown()
        #expect(state.request(seek(0, 5)) == .begin(seek(0, 5)))
        #expect(state == .requested(seek(0, 5), then: nil))
    }

    @Test func whatGoesToAKeyFrameAnywayIsNotMadeQuicker() {
        var state = underWay(seek(0, 3), seek(0, 4, .keyFrame()))
        state.frameShown()
        #expect(state.followUp(in: 0, at: .zero) == .begin(seek(0, 4, .keyFrame())))
        #expect(state == .requested(seek(0, 4, .keyFrame()), then: nil))
    }

    /// A seek waits neither for an item that opens at its beginning nor for another item; a skip waits for nothing.
    @Test func whatIsNotWaitedFor() {
        var state = SeekState.none
        _ = state.skip(to: seek(0, nil))
        #expect(state.request(seek(0, 3)) == .begin(seek(0, 3)))
        #expect(state.request(seek(1, 3)) == .begin(seek(1, 3)))
        state = underWay(seek(0, 3), seek(0, 4))
        #expect(state.request(seek(1, 3)) == .begin(seek(1, 3)))
        for index in 0..<4 {
            state = underWay(seek(0, 3), seek(0, 4))
            if index > 0 { state.frameShown() }
            if index > 1 { _ = state.followUp(in: 0, at: .zero) }
            if index > 2 {
                _ = state.take()
                state.frameShown()
                #expect(state.request(seek(1, 2)) == .begin(seek(1, 2)))
            }
            #expect(state.skip(to: seek(0, nil)) == .begin(seek(0, nil)))
            #expect(state == .requested(seek(0, nil), then: nil))
        }
    }

    /// The item of the seek failed, and the next one or the background shows.
    @Test(arguments: [1, nil] as [QueueItem.ID?]) func whatFollowsIsDroppedWhereAnotherItemIsShown(item: QueueItem.ID?) {
        var state = underWay(seek(0, 3), seek(0, 4))
        #expect(state.followUp(in: item, at: .zero) == .drop)
        #expect(state == .carriedOut(seek(0, 3), then: nil), "its frame is still awaited")
        state = underWay(seek(0, 3), seek(0, 4))
        state.frameShown()
        #expect(state.followUp(in: item, at: .zero) == .drop)
        #expect(state == .none)
    }

    @Test func theFeederBeginsByItself() {
        var state = SeekState.none
        state.expect(seek(0, nil))
        #expect(state.take() == nil && state.underWay == seek(0, nil) && state.target == seek(0, nil))
        state.frameShown()
        #expect(state == .none)
    }

    /// Any events in any order: each seek that begins is the last one requested, and every row ends exactly there.
    @Test(arguments: 0..<50) func anyEvents(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var state = SeekState.none
        var last: SeekRequest?
        for _ in 0..<500 {
            switch Int(abs(random.unit()) * 5) {
            case 0:
                last = seek(0, (abs(random.unit()) * 100).rounded())
                _ = state.request(last!)
            case 1:
                last = seek(0, nil)
                _ = state.skip(to: last!)
            case 2: _ = state.take()
            case 3: state.frameShown()
            default: if state.pending == nil { _ = state.followUp(in: 0, at: .zero) }
            }
            #expect(state.target == nil || state.target == last)
        }
        var exact: SeekRequest?
        for _ in 0..<4 {
            exact = state.take() ?? exact
            state.frameShown()
            _ = state.followUp(in: 0, at: .zero)
        }
        #expect(state == .none && (exact == nil || exact == last))
    }
}
