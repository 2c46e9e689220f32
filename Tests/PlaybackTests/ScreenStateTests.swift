import Media
import Platform
import Testing

@testable import Playback

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

    /// The number of a frame that is given up.
    private func number(_ frame: consuming EnqueuedFrame?) -> Int? {
        switch consume frame {
        case .some(let frame): Int(frame.place.start.seconds)
        case .none: nil
        }
    }

    @Test func theFrameBeforeIsGivenUp() {
        var screen = ScreenState()
        #expect(screen.place == nil && screen.serial == 0)
        #expect(number(screen.show(frame(1))) == nil)
        #expect(number(screen.show(frame(2))) == 1)
        #expect(screen.place?.start == .seconds(2) && screen.serial == 2)
    }

    @Test func aFrameIsComposedAgain() {
        var screen = ScreenState()
        screen.setRepaint(true)
        #expect(screen.canRepaint == false, "there is none")
        _ = screen.show(frame(1))
        #expect(screen.canRepaint == false, "it was composed for the display as it is")
        screen.setRepaint(true)
        screen.setRepaint(false)
        #expect(screen.canRepaint == false)
        screen.setRepaint(true)
        #expect(screen.canRepaint == true)
        #expect(number(screen.beginRepaint()) == 1)
        #expect(screen.canRepaint == false && number(screen.beginRepaint()) == nil)
        #expect(screen.place?.start == .seconds(1), "known while it is out")
        #expect(number(screen.endRepaint(frame(1), serial: 1, composed: buffer(7), isShort: false)) == nil)
        #expect(screen.takeWaiting() == buffer(7) && screen.takeWaiting() == nil && screen.canRepaint == false)
        #expect(number(screen.show(frame(2))) == 1)
    }

    @Test func whatComesBackTooLateIsGivenUp() {
        var screen = ScreenState()
        _ = screen.show(frame(1))
        screen.setRepaint(true)
        _ = screen.beginRepaint()
        #expect(number(screen.show(frame(2))) == nil, "the one before is out")
        #expect(number(screen.endRepaint(frame(1), serial: 1, composed: buffer(7), isShort: false)) == 1)
        #expect(screen.takeWaiting() == nil && screen.canRepaint == false)
        #expect(screen.place?.start == .seconds(2))
    }

    @Test func aDisplayThatChangesMeanwhileIsDrawnOnceMore() {
        var screen = ScreenState()
        _ = screen.show(frame(1))
        screen.setRepaint(true)
        _ = screen.beginRepaint()
        screen.setRepaint(true)
        #expect(screen.canRepaint == false, "it is out")
        _ = screen.endRepaint(frame(1), serial: 1, composed: nil, isShort: false)
        #expect(screen.canRepaint == true)
    }

    @Test func itIsTriedAgainWhereThereWasNoBuffer() {
        var screen = ScreenState()
        _ = screen.show(frame(1))
        screen.setRepaint(true)
        _ = screen.beginRepaint()
        _ = screen.endRepaint(frame(1), serial: 1, composed: nil, isShort: true)
        #expect(screen.canRepaint == true)
    }

    @Test func whatTheOutputWasTooBusyForIsKept() {
        var screen = ScreenState()
        screen.keep(buffer(3))
        #expect(screen.waiting == buffer(3) && screen.takeWaiting() == buffer(3) && screen.waiting == nil)
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
