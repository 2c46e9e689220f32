import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskDisplayCore

/// Decoding straight into a plane's memory, which begins after the first copied picture.
@Suite(.serialized) struct DirectPictureTests {
    private func stage(_ video: MemoryVideo, _ choice: PicturePathChoice = .automatic) -> PlaneStage {
        PlaneStage(PlaneScreen(352, 208, video: video), DisplaySettings(picturePath: choice))
    }

    private func open(_ size: String = "352x208") throws -> MediaReader {
        let path = try Clips.numbered("direct-\(size).mp4", frames: 60, size: size, sound: false, extra: ["-bf", "2", "-refs", "4"])
        return try MediaReader.open(path, samples: nil, decoderThreads: 2)
    }

    /// Shows the next pictures and returns the path of each. Checks the visible frame numbers.
    private func show(_ reader: inout MediaReader, _ count: Int, from first: Int = 1, on stage: PlaneStage) throws -> [PicturePath?] {
        var paths: [PicturePath?] = []
        for number in first..<first + count {
            guard let next = reader.nextFrame() else { break }
            try stage.show(next.intoFrame())
            let seen = stage.screen.seen
            #expect(
                burnedInNumber(width: stage.screen.mode.width, height: stage.screen.mode.height) { x, y in
                    Int(seen[y * stage.screen.mode.width + x] & 255)
                } == number)
            paths.append(stage.screen.shownVideo?.arrangement.path)
        }
        return paths
    }

    @Test func `the first item is copied until the decoder has the display's memory`() throws {
        let video = MemoryVideo(352, 208)
        let stage = stage(video)
        var reader = try open()
        let first = try show(&reader, 60, on: stage)
        // The decoder was ahead by some pictures.
        #expect(first.count == 60 && first.first == .copy && first.last == .direct && first.filter { $0 == .copy }.count <= 8, "\(first)")
        reader = try open()
        #expect(try show(&reader, 60, on: stage).allSatisfy { $0 == .direct })
        // One test for the copy, one before the offer to the decoder, and one with the first direct picture.
        #expect(video.asked == 3)
        let arrangement = try #require(stage.screen.shownVideo?.arrangement)
        #expect(arrangement.candidate.source == PixelRectangle(x: 0, y: 0, width: 352, height: 208))
    }

    @Test func `a decoder that has begun before stays where it is if the driver has rows of its own`() throws {
        let video = MemoryVideo(352, 208)
        video.gap = 128
        let stage = stage(video)
        var reader = try open()
        #expect(try show(&reader, 60, on: stage).allSatisfy { $0 == .copy })
        reader = try open()
        #expect(try show(&reader, 60, on: stage).allSatisfy { $0 == .direct })
    }

    @Test func `other sizes by turns, and memory of the last two`() throws {
        let video = MemoryVideo(352, 208)
        let stage = stage(video)
        for size in ["352x208", "176x112", "352x208", "176x112"] {
            var reader = try open(size)
            #expect(try show(&reader, 60, on: stage).last == .direct)
        }
        let made = video.made.count
        for size in ["352x208", "176x112"] {
            var reader = try open(size)
            #expect(try show(&reader, 60, on: stage).allSatisfy { $0 == .direct })
        }
        #expect(video.made.count <= made + 2)
    }

    @Test func `where the driver refuses, or it may not be, pictures are copied`() throws {
        let video = MemoryVideo(352, 208)
        video.refuses = { $0.arrangement.path == .direct }
        var reader = try open()
        #expect(try show(&reader, 20, on: stage(video)).allSatisfy { $0 == .copy })
        reader = try open()
        #expect(try show(&reader, 20, on: stage(MemoryVideo(352, 208), .copy)).allSatisfy { $0 == .copy })
        // A plane with only NV12 fits no picture that a decoder draws.
        reader = try open()
        #expect(try show(&reader, 20, on: stage(MemoryVideo(352, 208, primary: ["NV12"]))).allSatisfy { $0 == .copy })
    }

    @Test func `a flip that is refused`() throws {
        let stage = stage(MemoryVideo(352, 208))
        var reader = try open()
        #expect(try show(&reader, 30, on: stage).last == .direct)
        stage.screen.refusesVideo = true
        guard let frame = reader.nextFrame() else { throw PlaneStage.Unexpected() }
        let next = try stage.prepare(frame.intoFrame())
        guard case .stale = stage.commit(next), case .changed = stage.output.wait(until: .now) else { throw PlaneStage.Unexpected() }
        stage.screen.refusesVideo = false
        #expect(try show(&reader, 20, from: 32, on: stage).allSatisfy { $0 == .copy })
    }

    @Test func `it is said`() throws {
        let planes = VideoPlanes(MemoryVideo(352, 208), .automatic, isSilent: true)
        var reader = try open()
        for _ in 1...30 {
            guard let next = reader.nextFrame() else { throw PlaneStage.Unexpected() }
            _ = planes.prepare(Scene(next.intoFrame(), gravity: .resize), rotation: .none, background: 0, slot: 0, besides: [], former: nil)
        }
        #expect(planes.line == "h264 352×208 YU12 → the primary plane, decoded into the plane's buffer")
    }

    @Test func `ordinary memory is fast`() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { memory.deallocate() }
        memset(memory, 1, 1 << 20)
        #expect(ReadBack.isFast(memory, byteCount: 1 << 20))
    }
}
