import DequeModule
import Media
import Platform
import TestSupport
import Testing

@testable import Playback

@Suite(.blocking) struct PipelineTests {
    private func place(_ number: Int) -> FramePlace {
        FramePlace(
            start: .milliseconds(Int64(40 * number)), end: .milliseconds(Int64(40 * number + 40)), itemTime: .zero, rate: 1,
            cadence: .milliseconds(40), turn: nil, isFirst: false)
    }

    private func pipeline(frames: Int) -> Pipeline {
        var pipeline = Pipeline(wantsPlay: true, volume: 1, isMuted: false)
        for number in 0..<frames { pipeline.append(LaidFrame(nil, at: place(number))) }
        return pipeline
    }

    /// The frames there are to free, and frees them.
    private func free(_ pipeline: inout Pipeline) -> [Int] {
        var numbers: [Int] = []
        while let frame = pipeline.takeSpent() { numbers.append(Int(frame.place.start.nanoseconds / 40_000_000)) }
        return numbers
    }

    private func show(_ pipeline: inout Pipeline) {
        guard let frame = pipeline.popFrame() else { return }
        pipeline.setOnScreen(frame)
    }

    @Test func theFrameBeforeIsFreedWhenTheNextIsOnTheScreen() {
        var pipeline = pipeline(frames: 3)
        show(&pipeline)
        #expect(free(&pipeline) == [])
        show(&pipeline)
        show(&pipeline)
        #expect(pipeline.shown?.start == .milliseconds(80))
        #expect(free(&pipeline) == [0, 1])
    }

    @Test func aJumpFreesWhatWasQueuedAndLeavesTheScreenAsItIs() {
        var pipeline = pipeline(frames: 5)
        show(&pipeline)
        for number in [1, 2] {
            guard let frame = pipeline.popFrame() else { continue }
            pipeline.ready.append(ReadyFrame(laid: frame, composed: ComposedFrame(buffer: number, generation: 1)))
        }
        let returned = pipeline.begin(.init(position: .init(index: 0), time: nil, precision: .exact)).map(\.buffer)
        #expect(returned == [1, 2])
        #expect(free(&pipeline).sorted() == [1, 2, 3, 4])
        #expect(pipeline.framesAhead == 0 && pipeline.frameBytes == 0 && pipeline.onScreen != nil)
    }
}
