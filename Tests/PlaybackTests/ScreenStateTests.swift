import KioskMedia
import KioskPlatform
import Testing

@testable import KioskPlayback

@Suite struct ScreenStateTests {
    private func frame(_ number: Int64) -> EnqueuedFrame {
        EnqueuedFrame(
            nil,
            at: FramePlace(
                start: .seconds(Double(number)), end: .seconds(Double(number + 1)), itemTime: .zero, rate: 1, cadence: nil,
                playthrough: nil,
                isFirst: false))
    }

    private func buffer(_ number: Int) -> PreparedScene { PreparedScene(buffer: number, generation: 1) }

    /// Returns the number of a frame that the screen gives up.
    private func number(_ frame: consuming EnqueuedFrame?) -> Int? {
        switch consume frame {
        case .some(let frame): Int(frame.place.start.seconds)
        case .none: nil
        }
    }

    @Test func theFrameBeforeIsGivenUp() {
        var screen = ScreenState()
        #expect(screen.place == nil && screen.serial == 0)
        #expect(number(screen.show(frame(1), mark: .init())) == nil)
        #expect(number(screen.show(frame(2), mark: .init())) == 1)
        #expect(screen.place?.start == .seconds(2) && screen.serial == 2)
    }

    @Test func aFrameIsComposedAgain() {
        var screen = ScreenState()
        screen.setRepaint(true)
        #expect(screen.canRepaint == false, "there is none")
        _ = screen.show(frame(1), mark: .init())
        #expect(screen.canRepaint == false, "it was composed for the display as it is")
        screen.setRepaint(true)
        screen.setRepaint(false)
        #expect(screen.canRepaint == false)
        screen.setRepaint(true)
        #expect(screen.canRepaint == true)
        #expect(number(screen.beginRepaint()) == 1)
        #expect(screen.canRepaint == false && number(screen.beginRepaint()) == nil)
        #expect(screen.place?.start == .seconds(1), "known while it is out")
        #expect(number(screen.endRepaint(frame(1), serial: 1, composed: buffer(7), mark: .init(), isShort: false)) == nil)
        #expect(screen.takeWaiting() == buffer(7) && screen.takeWaiting() == nil && screen.canRepaint == false)
        #expect(number(screen.show(frame(2), mark: .init())) == 1)
    }

    @Test func whatComesBackTooLateIsGivenUp() {
        var screen = ScreenState()
        _ = screen.show(frame(1), mark: .init())
        screen.setRepaint(true)
        _ = screen.beginRepaint()
        #expect(number(screen.show(frame(2), mark: .init())) == nil, "the one before is out")
        #expect(number(screen.endRepaint(frame(1), serial: 1, composed: buffer(7), mark: .init(), isShort: false)) == 1)
        #expect(screen.takeWaiting() == nil && screen.canRepaint == false)
        #expect(screen.place?.start == .seconds(2))
    }

    @Test func aDisplayThatChangesMeanwhileIsDrawnOnceMore() {
        var screen = ScreenState()
        _ = screen.show(frame(1), mark: .init())
        screen.setRepaint(true)
        _ = screen.beginRepaint()
        screen.setRepaint(true)
        #expect(screen.canRepaint == false, "it is out")
        _ = screen.endRepaint(frame(1), serial: 1, composed: nil, mark: .init(), isShort: false)
        #expect(screen.canRepaint == true)
    }

    @Test func itIsTriedAgainWhereThereWasNoBuffer() {
        var screen = ScreenState()
        _ = screen.show(frame(1), mark: .init())
        screen.setRepaint(true)
        _ = screen.beginRepaint()
        _ = screen.endRepaint(frame(1), serial: 1, composed: nil, mark: .init(), isShort: true)
        #expect(screen.canRepaint == true)
    }

    /// A frame painted for an overlay waits for a vblank without a due frame. If the next frame is shown first, it is dropped.
    @Test func anOverlayIsNotUrgent() {
        let (bare, marked) = (OverlayMark(), OverlayMark(number: 3, content: 3))
        var screen = ScreenState()
        #expect(screen.canTakeOverlay == false && number(screen.beginOverlay()) == nil, "there is none")
        _ = screen.show(frame(1), mark: bare)
        #expect(screen.canTakeOverlay == true && number(screen.beginOverlay()) == 1)
        #expect(screen.canTakeOverlay == false && screen.canRepaint == false && number(screen.beginOverlay()) == nil)
        #expect(number(screen.endRepaint(frame(1), serial: 1, composed: buffer(7), mark: marked, isShort: false)) == nil)
        #expect(screen.waiting?.isUrgent == false && screen.mark == bare, "it is not on the screen yet")
        #expect(screen.canTakeOverlay == false, "one at a time")
        #expect(screen.takeWaiting() == buffer(7) && screen.mark == marked)
        #expect(number(screen.beginOverlay()) == 1)
        _ = screen.endRepaint(frame(1), serial: 1, composed: buffer(8), mark: marked, isShort: false)
        #expect(screen.dropWaiting() == buffer(8) && screen.waiting == nil)
        #expect(number(screen.beginOverlay()) == 1)
        _ = screen.endRepaint(frame(1), serial: 1, composed: nil, mark: marked, isShort: true)
        #expect(screen.canRepaint == false && screen.canTakeOverlay == true, "where there was no buffer the plan decides anew")
    }

    /// If the display changes while a frame is out for an overlay, the frame is painted again at once.
    @Test func aDisplayThatChangesComesBeforeAnOverlay() {
        var screen = ScreenState()
        _ = screen.show(frame(1), mark: .init())
        _ = screen.beginOverlay()
        screen.setRepaint(true)
        _ = screen.endRepaint(frame(1), serial: 1, composed: nil, mark: .init(), isShort: false)
        #expect(screen.canRepaint == true && screen.canTakeOverlay == false)
        _ = screen.beginRepaint()
        _ = screen.endRepaint(frame(1), serial: 1, composed: buffer(7), mark: .init(), isShort: false)
        #expect(screen.waiting?.isUrgent == true)
    }

    @Test func whatTheOutputWasTooBusyForIsKept() {
        var screen = ScreenState()
        screen.keep(buffer(3))
        #expect(
            screen.waiting?.scene == buffer(3) && screen.waiting?.isUrgent == true && screen.takeWaiting() == buffer(3)
                && screen.waiting == nil)
    }

    @Test func buffersAreLookedForAgainWhenOneCameBack() {
        var buffers = SpareBuffers()
        let before = buffers.returns
        buffers.wereNotThere(asOf: before)
        #expect(!buffers.mayBeThere)
        buffers.cameBack()
        #expect(buffers.mayBeThere)
        buffers.wereNotThere(asOf: before)
        #expect(buffers.mayBeThere, "one came back while it was looked for")
    }
}
