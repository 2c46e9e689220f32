import CKioskFFmpeg
import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Interlaced clips with numbered fields. ``GalleryReaderTests`` also reads those of the gallery.
@Suite struct DeinterlacerTests {
    private static let ffv1 = ["-c:v", "ffv1", "-slices", "4"]
    private static let mpeg2 = ["-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-b:v", "8M", "-bf", "2", "-flags", "+ilme+ildct"]

    private struct Shown: Equatable, CustomTestStringConvertible {
        var testDescription: String { "\(number) at \(begin) for \(duration)" }
        var number: Int
        var begin: Double, duration: Double
    }

    /// Returns all remaining pictures, with times in milliseconds.
    private func shown(_ reader: inout MediaReader) -> [Shown] {
        var shown: [Shown] = []
        while let frame = reader.nextFrame() {
            func milliseconds(_ time: MediaTime) -> Double { (time.seconds * 1e5).rounded() / 100 }
            shown.append(
                Shown(number: burnedInNumber(frame.frame), begin: milliseconds(frame.time), duration: milliseconds(frame.duration)))
        }
        return shown
    }

    /// Returns the fields with these numbers, 20 ms each.
    private func fields(_ numbers: ClosedRange<Int>, from begin: Double = 0) -> [Shown] {
        numbers.enumerated().map { Shown(number: $1, begin: begin + 20 * Double($0), duration: 20) }
    }

    /// Opens a clip. Makes pictures of all fields, however long that takes, unless `isPaced`.
    private func open(
        _ clip: String, _ deinterlacing: MediaReader.Deinterlacing = .fields, threads: Int = 2, isPaced: Bool = false
    ) throws -> MediaReader {
        var reader = try MediaReader.open(clip, samples: nil, decoderThreads: threads, deinterlacing: deinterlacing)
        if !isPaced { reader.takeTime() }
        return reader
    }

    // MARK: Order and shape

    @Test(arguments: [false, true]) func `either field may come first`(bottomFirst: Bool) throws {
        let name = bottomFirst ? "bottom-first.mkv" : "top-first.mkv"
        var reader = try open(Clips.interlaced(name, fields: 20, bottomFirst: bottomFirst, encode: ["-pix_fmt", "yuv420p"] + Self.ffv1))
        #expect(shown(&reader) == fields(1...20))
        let (problems, nominal) = (reader.problems, reader.nominalFrameDuration)
        #expect(problems == [] && nominal == .milliseconds(20))
    }

    @Test(arguments: ["yuv420p", "yuv444p", "yuv422p10le", "gray"]) func `odd heights and other pixel formats`(format: String) throws {
        let clip = try Clips.interlaced(
            "odd-\(format).mkv", fields: 12, size: "321x181", encode: ["-pix_fmt", format] + Self.ffv1)
        for threads in [1, 4] {
            var reader = try open(clip, threads: threads)
            #expect(shown(&reader) == fields(1...12))
        }
    }

    @Test func `one frame is two pictures`() throws {
        var reader = try open(Clips.interlaced("fields-one-frame.mkv", fields: 2, encode: ["-pix_fmt", "yuv420p"] + Self.ffv1))
        let shown = shown(&reader)
        #expect(shown.map(\.begin) == [0, 20] && shown.map(\.duration) == [20, 20] && shown.first?.number == 1)
    }

    // MARK: Transport streams

    @Test(arguments: ["mpeg2.ts", "h264.ts"]) func `in a transport stream`(name: String) throws {
        let h264 = ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-flags", "+ilme+ildct"]
        let clip = try Clips.interlaced("interlaced-\(name)", fields: 100, encode: name == "h264.ts" ? h264 : Self.mpeg2)
        var reader = try open(clip)
        let (description, nominal) = (reader.description, reader.nominalFrameDuration)
        #expect(description.video?.isDeinterlaced == true && description.video?.isConstantFrameRate == true)
        #expect(abs((description.video?.frameRate ?? 0) - 25) < 0.01 && nominal == .milliseconds(20))
        #expect(shown(&reader) == fields(1...100))
        for field in [57, 0, 99, 40] {
            _ = try reader.seek(to: .milliseconds(Int64(20 * field + 10)), precision: .exact)
            #expect(shown(&reader) == fields(field + 1...100, from: 20 * Double(field)))
        }
    }

    @Test func `the size changes in mid-stream`() throws {
        let small = try Clips.bytes(Clips.interlaced("fields-small.ts", fields: 20, encode: Self.mpeg2))
        let large = try Clips.bytes(Clips.interlaced("fields-large.ts", fields: 20, from: 21, size: "352x288", encode: Self.mpeg2))
        var reader = try open(Clips.file("fields-two-sizes.ts", small + large))
        // The decoder drops the frame that it holds back when the size changes. Later frames keep their time, and their sound.
        #expect(shown(&reader) == fields(1...18) + fields(21...40, from: 400))
    }

    @Test func `progressive frames are shown once`() throws {
        let interlaced = try Clips.bytes(Clips.interlaced("fields-before.ts", fields: 20, encode: Self.mpeg2))
        let progressive = try Clips.bytes(
            Clips.numbered(
                "fields-progressive.ts", frames: 10, from: 21, rate: 25, sound: false,
                extra: ["-c:v", "mpeg2video", "-b:v", "8M", "-bf", "2"]))
        let after = try Clips.bytes(Clips.interlaced("fields-after.ts", fields: 20, from: 31, encode: Self.mpeg2))
        var reader = try open(Clips.file("fields-mixed.ts", interlaced + progressive + after))
        let frames = (0..<10).map { Shown(number: 21 + $0, begin: 400 + 40 * Double($0), duration: 40) }
        #expect(shown(&reader) == fields(1...20) + frames + fields(31...50, from: 800))
        // A file that begins with progressive frames has fields from its first interlaced frame on.
        reader = try open(Clips.file("fields-mixed-later.ts", progressive + after))
        let before = reader.nominalFrameDuration
        #expect(shown(&reader).map(\.number) == Array(21...50))
        let nominal = reader.nominalFrameDuration
        #expect(before == .milliseconds(40) && nominal == .milliseconds(20))
    }

    // MARK: Not each field

    @Test func `what is switched off is shown as it is stored`() throws {
        var reader = try open(Clips.named("interlaced.mp4"), .off)
        let (description, nominal) = (reader.description, reader.nominalFrameDuration)
        #expect(description.video?.isInterlaced == true && description.video?.isDeinterlaced == false && nominal == .milliseconds(40))
        let shown = shown(&reader)
        #expect(shown.map(\.begin) == (0..<24).map { 40 * Double($0) } && shown.allSatisfy { $0.duration == 40 })
        let problems = reader.problems
        #expect(problems == [])
    }

    @Test func `one picture for each frame`() throws {
        var reader = try open(Clips.named("interlaced.mp4"), .frames)
        #expect(shown(&reader) == (0..<24).map { Shown(number: 2 * $0 + 1, begin: 40 * Double($0), duration: 40) })
        let nominal = reader.nominalFrameDuration
        #expect(nominal == .milliseconds(40))
    }

    @Test func `a format that bwdif does not take is shown as it is, and said`() throws {
        let clip = try Clips.interlaced(
            "fields-packed.mov", fields: 20, encode: ["-pix_fmt", "uyvy422", "-c:v", "rawvideo"])
        var reader = try open(clip)
        #expect(shown(&reader) == (0..<10).map { Shown(number: 2 * $0 + 1, begin: 40 * Double($0), duration: 40) })
        let (problems, nominal) = (reader.problems, reader.nominalFrameDuration)
        #expect(problems == ["is interlaced and shows combs: bwdif does not take pictures of 320×180 in uyvy422"])
        #expect(nominal == .milliseconds(40))
    }

    @Test func `a PNG whose rows are interlaced has no fields`() throws {
        let image = try Clips.make(
            "fields-adam7.png", ["-f", "lavfi", "-i", "testsrc2=s=320x180", "-frames:v", "1", "-update", "1", "-flags", "+ildct"])
        var reader = try open(image)
        let shown = shown(&reader)
        #expect(shown.count == 1)
    }

    @Test func `where the machine is too slow each frame becomes one picture`() throws {
        var reader = try open(Clips.moreFieldsThanCanBeMade(), isPaced: true)
        let nominal = reader.nominalFrameDuration
        let all = shown(&reader)
        let (problems, changed, isTooSlow) = (reader.problems, reader.nominalFrameDuration, reader.isTooSlowForFields)
        #expect(isTooSlow && nominal == .milliseconds(1) && changed == .milliseconds(2))
        #expect(problems.count == 1 && problems[0].hasPrefix("is interlaced, and this machine is too slow"))
        let change = try #require(all.firstIndex { $0.duration == 2 })
        // The raw stream does not state the duration of the last frame.
        let (before, after) = (all[..<change], all[change...].dropLast())
        let (wrongBefore, wrongAfter) = (before.filter { $0.duration != 1 }, after.filter { $0.duration != 2 })
        #expect(wrongBefore == [] && wrongAfter == [], "\(wrongBefore) \(wrongAfter)")
        #expect(zip(all, all.dropFirst()).allSatisfy { abs($0.begin + $0.duration - $1.begin) < 0.02 })
        #expect(change + 2 * (all.count - change) == 1120)
    }

    // MARK: Seeking

    @Test(arguments: ["interlaced.mp4", "loop50i.mp4"]) func `every field can be sought`(name: String) throws {
        var reader = try open(Clips.named(name))
        let count = name == "interlaced.mp4" ? 48 : 50
        for field in (0..<count).reversed() {
            let landed = try reader.seek(to: .milliseconds(Int64(20 * field + 3)), precision: .exact)
            #expect(landed == .milliseconds(Int64(20 * field + 3)))
            guard let first = reader.nextFrame() else {
                Issue.record("no picture at field \(field)")
                continue
            }
            let (number, begin) = (burnedInNumber(first.frame), first.time)
            #expect(number == field + 1 && begin == .milliseconds(Int64(20 * field)))
        }
        let end = try reader.seek(to: .seconds(100), precision: .exact)
        #expect(shown(&reader) == fields(count...count, from: end.seconds * 1000))
        _ = try reader.seek(to: .milliseconds(500), precision: .keyFrame())
        #expect(shown(&reader) == fields(1...count))
    }
}
