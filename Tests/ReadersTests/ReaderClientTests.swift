import CKioskFFmpeg
import CTestSupport
import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaders

/// Sources decoded by a reader, compared picture by picture and sample by sample with a ``MediaReader`` of this process.
@Suite(.blocking) struct ReaderClientTests {
    private static let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)
    private static let clips = Gallery.loops + Gallery.mixed + Gallery.moving + Gallery.stills + Gallery.soundAlone
    private static let kinds: [Readers.Isolation] = test_is_sanitized() ? [.thread] : [.process, .thread]
    private static let thread = Readers(executable: "/nowhere", isolation: .thread)

    private func readers(_ isolation: Readers.Isolation) -> Readers { isolation == .process ? .shared : Self.thread }

    private func order(_ path: String, from start: MediaTime = .zero) -> OpenOrder {
        var order = OpenOrder(.play, path)
        (order.samples, order.threads, order.takesTime, order.start) = (Self.stereo, 2, true, start)
        return order
    }

    /// The pixels and the attributes of a picture.
    private struct Seen: Equatable {
        var time: MediaTime, duration: MediaTime
        var format: Int32, width: Int, height: Int, aspect: Double
        var colours: [UInt32]
        var orientation: Orientation, codec: String
        var bytes: UInt64

        init?(_ frame: consuming TimedFrame?) {
            guard let frame else { return nil }
            self.init(frame)
        }

        init(_ frame: borrowing TimedFrame) {
            let av = frame.frame.av.pointee
            (time, duration, format) = (frame.time, frame.duration, av.format)
            (width, height, aspect) = (frame.frame.width, frame.frame.height, frame.frame.pixelAspectRatio)
            colours = [
                av.color_range.rawValue, av.color_primaries.rawValue, av.color_trc.rawValue, av.colorspace.rawValue,
                av.chroma_location.rawValue,
            ]
            (orientation, codec) = (frame.frame.orientation, frame.frame.codec)
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            if let extents = PlaneExtents(format: av.format, width: width, height: height) {
                let (data, lines) = (
                    [av.data.0, av.data.1, av.data.2, av.data.3], [av.linesize.0, av.linesize.1, av.linesize.2, av.linesize.3]
                )
                for plane in 0..<extents.planeCount {
                    for row in 0..<extents.rows[plane] {
                        let start = data[plane]! + row * Int(lines[plane])
                        for column in 0..<extents.rowBytes[plane] { hash = (hash ^ UInt64(start[column])) &* 0x100_0000_01b3 }
                    }
                }
            }
            bytes = hash
        }
    }

    private func samples(_ read: (inout UnsafeMutableBufferPointer<Float>) -> Int) -> [Float] {
        var (all, chunk) = ([Float](), [Float](repeating: 0, count: 2 * 1000))
        while true {
            let count = chunk.withUnsafeMutableBufferPointer(read)
            all += chunk.prefix(2 * count)
            if count < 1000 { return all }
        }
    }

    @Test(arguments: clips, kinds) func `a source is the same as without a reader`(
        _ clip: GalleryClip, _ isolation: Readers.Isolation
    ) throws {
        let path = try Clips.named(clip.name)
        var alone = try MediaReader.open(path, samples: Self.stereo, decoderThreads: 2)
        alone.takeTime()
        let client = try ReaderClient(order(path), by: readers(isolation), Interruption())
        #expect(client.description == alone.description)
        #expect(client.nominalFrameDuration == alone.nominalFrameDuration)
        #expect(client.selectedTracks == alone.selectedTracks && client.hasSound == alone.hasSound)
        var pictures = 0
        while true {
            let (one, other) = (Seen(client.nextFrame()), Seen(alone.nextFrame()))
            #expect(one == other, "picture \(pictures)")
            pictures += 1
            if one == nil || one != other { break }
        }
        let (one, other) = (
            samples { client.readSamples(into: $0, channelCount: 2) }, samples { alone.readSamples(into: $0, channelCount: 2) }
        )
        #expect(one == other, "\(one.count), \(other.count)")
        #expect(client.problems == alone.problems && client.prematureEnd == alone.prematureEnd)
        #expect(client.soundEnd == alone.soundEnd)
        #expect(client.damage == alone.damage && client.decoder == alone.decoder && client.death == nil)
    }

    /// A tone in each channel, in the usual codecs. Some of them carry the rear pair at the sides.
    @Test(
        arguments: [
            ("surround.m4a", "5.1", 6, ["-c:a", "aac", "-b:a", "512k"]),
            ("surround-ac3.mkv", "5.1(side)", 6, ["-c:a", "ac3", "-b:a", "640k"]),
            ("surround-71.wav", "7.1", 8, ["-c:a", "pcm_s16le"]), ("surround-flac.mkv", "5.1", 6, ["-c:a", "flac"]),
        ], kinds)
    func `surround sound keeps its channels`(
        _ clip: (name: String, layout: String, count: Int, arguments: [String]), _ isolation: Readers.Isolation
    ) throws {
        let path = try SurroundTones.clip(clip.name, layout: clip.layout, count: clip.count, clip.arguments)
        for rendered in [2, 6, 8] {
            var order = order(path)
            order.samples = AudioFormat(sampleRate: 48000, channelCount: rendered)
            let client = try ReaderClient(order, by: readers(isolation), Interruption())
            var sound = [Float](repeating: 0, count: rendered * 24_000)
            let count = sound.withUnsafeMutableBufferPointer { client.readSamples(into: $0, channelCount: rendered) }
            #expect(count == 24_000)
            let tones = SurroundTones.tones(sound.suffix(rendered * 19_200), channelCount: rendered)
            // A pair at the sides stays there if the output has side channels.
            let atSides = clip.layout == "5.1(side)" && rendered == 8
            let expected: [[Int]] =
                switch (clip.count, rendered) {
                case (6, 2): [[0, 2, 4], [1, 2, 5]]
                case (8, 2): [[0, 2, 4, 6], [1, 2, 5, 7]]
                case (8, 6): [[0], [1], [2], [3], [4, 6], [5, 7]]
                case (6, 8): [[0], [1], [2], [3]] + (atSides ? [[], [], [4], [5]] : [[4], [5], [], []])
                default: (0..<rendered).map { [$0] }
                }
            #expect(tones == expected, "\(rendered) channels")
        }
    }

    @Test(arguments: kinds) func `it is moved about in`(_ isolation: Readers.Isolation) throws {
        let path = try Clips.named("a.mp4")
        var alone = try MediaReader.open(path, samples: Self.stereo, decoderThreads: 2)
        let client = try ReaderClient(order(path, from: .seconds(2)), by: readers(isolation), Interruption())
        #expect(client.start == (try alone.seek(to: .seconds(2), precision: .exact)))
        for (seconds, precision) in [
            (1.0, MediaReader.SeekPrecision.exact), (4.9, .exact), (0, .exact), (3.3, .keyFrame(after: nil)), (100, .exact), (0.5, .exact),
        ] {
            let (one, other) = (
                try client.seek(to: .seconds(seconds), precision: precision), try alone.seek(to: .seconds(seconds), precision: precision)
            )
            #expect(one == other, "\(seconds)")
            for _ in 0..<3 {
                #expect(Seen(client.nextFrame()) == Seen(alone.nextFrame()), "\(seconds)")
            }
            var (mine, its) = ([Float](repeating: 0, count: 4000), [Float](repeating: 0, count: 4000))
            let count = mine.withUnsafeMutableBufferPointer { client.readSamples(into: $0, channelCount: 2) }
            #expect(its.withUnsafeMutableBufferPointer { alone.readSamples(into: $0, channelCount: 2) } == count)
            let worst = zip(mine, its).map { abs($0 - $1) }.max() ?? 0
            // The phase of a resampler's filter depends on the samples read before the seek.
            #expect(worst < 0.001, "\(seconds)")
        }
    }

    @Test(arguments: kinds) func `what cannot be opened has the same reason`(_ isolation: Readers.Isolation) throws {
        for name in ["empty.mp4"] {
            let path = try Clips.named(name)
            let reason = #expect(throws: MediaError.self) { _ = try MediaReader.open(path, samples: Self.stereo) }
            let told = #expect(throws: MediaError.self) { _ = try ReaderClient(order(path), by: readers(isolation), Interruption()) }
            #expect(reason?.reason == told?.reason && reason != nil)
        }
        let error = #expect(throws: MediaError.self) {
            _ = try ReaderClient(order("/nowhere/a.mp4"), by: readers(isolation), Interruption())
        }
        #expect(error?.reason == .notFound)
    }

    /// All pictures before the crash play. Then the source ends, with the reason.
    @Test(
        .needs("a build without sanitizers, whose threads keep it from forking", !test_is_sanitized()),
        arguments: [
            ("crash", "its decoder crashed (SIGSEGV)"), ("abort", "its decoder crashed (SIGABRT)"),
            ("exit", "its decoder ended by itself (status 0)"), ("spin", "its decoder made no progress for 1 s"),
            ("sleep", "its decoder made no progress for 1 s"), ("allocate", "its decoder"), ("scribble-crash", "its decoder"),
            ("connect", "its decoder was ended: it called socket"),
        ]) func `a decoder that dies in the middle`(_ deed: String, _ words: String) throws
    {
        let path = try Hostile.clipThatBeginsWell(deed)
        let client = try ReaderClient(order(path), by: Hostile.readers, Interruption(), progressWithin: .seconds(1))
        var (count, last) = (0, MediaTime.seconds(-1))
        while let frame = client.nextFrame() {
            #expect(frame.time > last)
            last = frame.time
            count += 1
        }
        // A decoder with two threads holds some pictures before it hands out the first one.
        #expect(deed == "scribble-crash" || 140...150 ~= count, "\(count)")
        #expect(client.prematureEnd?.hasPrefix(words) == true && client.death != nil, "\(client.prematureEnd ?? "")")
        #expect(throws: MediaError.self) { _ = try client.seek(to: .zero, precision: .exact) }
    }

    /// Pictures in use stay unchanged after their reader has gone.
    @Test(arguments: kinds) func `pictures outlast their reader`(_ isolation: Readers.Isolation) throws {
        let path = try Clips.named("a.mp4")
        var alone = try MediaReader.open(path, samples: nil, decoderThreads: 2)
        var kept: [Seen] = []
        var frames: [Kept] = []
        do {
            let client = try ReaderClient(order(path), by: readers(isolation), Interruption())
            for _ in 0..<8 {
                guard let frame = client.nextFrame(), let other = alone.nextFrame() else { break }
                frames.append(Kept(frame))
                kept.append(Seen(other))
            }
        }
        usleep(50_000)
        #expect(frames.map { Seen($0.frame) } == kept && kept.count == 8)
    }

    private final class Kept {
        let frame: TimedFrame
        init(_ frame: consuming TimedFrame) { self.frame = frame }
    }
}

/// Picture times, read without playing a source.
@Suite(.blocking) struct ReaderTimesTests {
    @Test func `times of pictures are those that a reader in this process finds`() throws {
        let path = try Clips.numbered("times.mp4", frames: 120, size: "320x240", sound: true, extra: ["-g", "50"])
        for (source, count) in [(path, 120), (try Clips.named("still.jpg"), nil)] {
            var alone = try MediaReader.open(source, samples: nil)
            let expected = alone.pictureTimes()
            #expect(expected?.count == count)
            let times = try MediaTime.pictures(of: source, deinterlacing: .off, by: .shared) { false }
            #expect(times == expected)
        }
    }

    @Test func `who asks for times may give that up`() throws {
        let path = try Clips.numbered("times.mkv", frames: 120, size: "320x240", sound: true, extra: ["-g", "50"])
        let error = #expect(throws: MediaError.self) { _ = try MediaTime.pictures(of: path, deinterlacing: .off, by: .shared) { true } }
        #expect(error?.reason == .cancelled)
    }

    @Test func `times that no pictures have are not believed`() throws {
        func times(_ numbers: [Int64], _ count: Int? = nil) throws -> [MediaTime] {
            try numbers.withUnsafeBytes { bytes in try MediaTime.times(count ?? numbers.count, in: bytes) }
        }
        #expect(try times([0, 5, 5, 9]) == [.zero, MediaTime(nanoseconds: 5), MediaTime(nanoseconds: 5), MediaTime(nanoseconds: 9)])
        #expect(throws: ReaderLie.self) { try times([0, 5, 4]) }
        #expect(throws: ReaderLie.self) { try times([-1, 5]) }
        #expect(throws: ReaderLie.self) { try times([0, .max]) }
        #expect(throws: ReaderLie.self) { try times([0, 5], 3) }
        #expect(throws: ReaderLie.self) { try times([0, 5], .min) }
    }
}
