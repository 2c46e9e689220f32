import CKioskFFmpeg
import DequeModule
import KioskMedia
import KioskPlatform
import TestSupport
import Testing

@testable import KioskPlayback

@Suite(.blocking) struct PipelineTests {
    private func place(_ number: Int) -> FramePlace {
        FramePlace(
            start: .milliseconds(Int64(40 * number)), end: .milliseconds(Int64(40 * number + 40)), itemTime: .zero, rate: 1,
            cadence: .milliseconds(40), playthrough: nil, isFirst: false)
    }

    private func pipeline(frames: Int) -> Pipeline {
        var pipeline = Pipeline()
        for number in 0..<frames { pipeline.frames.append(EnqueuedFrame(nil, at: place(number))) }
        return pipeline
    }

    /// Frees the released frames, and returns their numbers.
    private func free(_ pipeline: inout Pipeline) -> [Int] {
        var numbers: [Int] = []
        while let frame = pipeline.takeReleased() { numbers.append(Int(frame.place.start.nanoseconds / 40_000_000)) }
        return numbers
    }

    private func compose(_ pipeline: inout Pipeline, _ buffer: PreparedScene?) {
        guard let frame = pipeline.takeFrameToCompose() else { return }
        #expect(pipeline.isComposing == true)
        #expect(pipeline.composed(frame, as: buffer, generation: pipeline.generation) == nil && pipeline.isComposing == false)
    }

    private func show(_ pipeline: inout Pipeline) {
        compose(&pipeline, nil)
        _ = pipeline.showReady()
    }

    /// A move keeps the reader of its item. It interrupts the other readers, such as one ahead or one that fades out, instead of waiting
    /// for them.
    @Test func aMoveEndsTheWaitingForOtherItems() {
        var pipeline = pipeline(frames: 0)
        let readers = [Interruption(), Interruption(), Interruption()]
        pipeline.setReadings(zip(readers, [0, 1, nil]).map { Pipeline.Reading(interruption: $0, item: $1) })
        #expect(pipeline.request(SeekRequest(position: .init(item: 0), time: .seconds(1))) == [])
        #expect(readers.map(\.cancelled) == [false, true, true])
        _ = pipeline.skip(to: SeekRequest(position: .init(item: 0)))
        #expect(readers.map(\.cancelled) == [true, true, true])
    }

    @Test func theFrameBeforeIsFreedWhenTheNextIsOnTheScreen() {
        var pipeline = pipeline(frames: 3)
        show(&pipeline)
        #expect(free(&pipeline) == [])
        show(&pipeline)
        show(&pipeline)
        #expect(pipeline.screen.place?.start == .milliseconds(80))
        #expect(free(&pipeline) == [0, 1])
    }

    /// Enqueues frames of `bytes` bytes and `milliseconds` each while there is room; returns how many.
    private func fill(_ pipeline: inout Pipeline, bytes: Int, milliseconds: Int64) -> Int {
        var number: Int64 = 0
        while pipeline.frames.hasRoom, number < 1000 {
            let av = av_frame_alloc()!
            (av.pointee.format, av.pointee.width, av.pointee.height) = (AV_PIX_FMT_GRAY8.rawValue, 1024, Int32(bytes / 1024))
            precondition(av_frame_get_buffer(av, 0) == 0, "out of memory")
            var place = place(0)
            (place.start, place.end) = (.milliseconds(number * milliseconds), .milliseconds((number + 1) * milliseconds))
            pipeline.frames.append(EnqueuedFrame(VideoFrame(adopting: av), at: place))
            number += 1
        }
        return Int(number)
    }

    /// The queue holds 14 MB of short frames, or a fifth of a second of long ones, but at least four.
    @Test(arguments: [(3 << 20, 1, 5), (1 << 10, 1, 200), (1 << 10, 60, 4), (20 << 20, 60, 4)] as [(Int, Int64, Int)])
    func whatIsQueuedIsBounded(bytes: Int, milliseconds: Int64, count: Int) {
        var pipeline = pipeline(frames: 0)
        #expect(fill(&pipeline, bytes: bytes, milliseconds: milliseconds) == count)
    }

    /// A full queue has room again when it is short, and then fills up: the feeder wakes for several frames at once.
    @Test(arguments: [(33, 3), (17, 7), (40, 3)] as [(Int64, Int)]) func aFullQueueIsLetRunShort(milliseconds: Int64, short: Int) {
        var pipeline = pipeline(frames: 0)
        var number: Int64 = 0
        func fill() {
            while pipeline.frames.hasRoom, number < 1000 {
                var place = place(0)
                (place.start, place.end) = (.milliseconds(number * milliseconds), .milliseconds((number + 1) * milliseconds))
                pipeline.frames.append(EnqueuedFrame(nil, at: place))
                number += 1
            }
        }
        fill()
        let full = pipeline.frames.count
        while !pipeline.frames.hasRoom, pipeline.frames.popFirst() != nil {}
        let left = pipeline.frames.count
        #expect(left == short && left < full)
        fill()
        let again = pipeline.frames.count
        #expect(again == full)
    }

    /// The sound is heard six pictures early. Beyond these, the queue holds as much as otherwise in all.
    @Test(arguments: [(12 << 20, 10, 9), (1 << 16, 18, 13)] as [(Int, Int, Int)])
    func aSoundLeadIsHeldAsWell(bytes: Int, full: Int, short: Int) {
        var pipeline = Pipeline(soundLead: .milliseconds(6 * 17))
        #expect(fill(&pipeline, bytes: bytes, milliseconds: 17) == full)
        while !pipeline.frames.hasRoom, pipeline.frames.popFirst() != nil {}
        let left = pipeline.frames.count
        #expect(left == short)
    }

    /// A hardware decoder has few pictures, so few of them wait, however short they are.
    @Test(arguments: [1, 60]) func picturesOfAPoolAreFew(milliseconds: Int64) {
        var pipeline = pipeline(frames: 0)
        var number: Int64 = 0
        func append() {
            let av = av_frame_alloc()!
            (av.pointee.format, av.pointee.width, av.pointee.height) = (AV_PIX_FMT_GRAY8.rawValue, 64, 64)
            precondition(av_frame_get_buffer(av, 0) == 0, "out of memory")
            var place = place(0)
            (place.start, place.end) = (.milliseconds(number * milliseconds), .milliseconds((number + 1) * milliseconds))
            pipeline.frames.append(EnqueuedFrame(VideoFrame(adopting: av, isPooled: true), at: place))
            number += 1
        }
        while pipeline.frames.hasRoom, number < 1000 { append() }
        #expect(number == (milliseconds == 1 ? Int64(PicturePool.mostQueued) : 4))
        guard let first = pipeline.frames.popFirst(), let second = pipeline.frames.popFirst() else { return }
        let hasRoom = pipeline.frames.hasRoom
        pipeline.frames.prepend(second)
        pipeline.frames.prepend(first)
        let isFull = !pipeline.frames.hasRoom
        #expect(hasRoom && isFull)
        while pipeline.frames.popFirst() != nil {}
        while pipeline.frames.hasRoom, number < 1000 { append() }
        let count = pipeline.frames.count
        #expect(count == (milliseconds == 1 ? PicturePool.mostQueued : 4))
    }

    @Test func aJumpFreesWhatWasQueuedAndLeavesTheScreenAsItIs() {
        var pipeline = pipeline(frames: 5)
        show(&pipeline)
        for number in [1, 2] {
            compose(&pipeline, PreparedScene(buffer: number, generation: 1))
        }
        let returned = pipeline.skip(to: SeekRequest(position: .init(item: 0))).map(\.buffer)
        #expect(returned == [1, 2])
        #expect(free(&pipeline).sorted() == [1, 2, 3, 4])
        #expect(pipeline.framesAhead == 0 && pipeline.frames.byteCount == 0 && pipeline.screen.place?.start == .zero)
    }
}
