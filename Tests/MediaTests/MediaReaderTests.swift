import Media
import Platform
import TestSupport
import Testing

@Suite struct MediaReaderTests {
    private let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// The burned-in numbers of all frames from where the reader stands.
    private func numbers(_ reader: inout MediaReader) -> [Int] {
        var numbers: [Int] = []
        while let frame = reader.nextFrame() { numbers.append(burnedInNumber(frame.frame)) }
        return numbers
    }

    /// All samples of the left channel from where the reader stands.
    private func samples(_ reader: inout MediaReader) -> [Float] {
        var samples: [Float] = []
        var chunk = [Float](repeating: 0, count: 2 * 1000)
        while true {
            let frames = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            for frame in 0..<frames { samples.append(chunk[2 * frame]) }
            if frames < 1000 { return samples }
        }
    }

    /// Frequency by counting the times the signal rises through zero.
    private func frequency(_ samples: ArraySlice<Float>) -> Double {
        let crossings = zip(samples, samples.dropFirst()).count { $0 < 0 && $1 >= 0 }
        return Double(crossings) * 48000 / Double(max(1, samples.count))
    }

    @Test func givesEveryFrameInOrder() throws {
        var reader = try MediaReader.open(Clips.numbered("thirty.mp4", frames: 30), samples: stereo)
        #expect(numbers(&reader) == Array(1...30))
    }

    @Test(arguments: [
        ("h264-ts", "ts", ["-c:v", "libx264"]), ("hevc", "mp4", ["-c:v", "libx265", "-x265-params", "log-level=none"]),
        ("hevc10", "mkv", ["-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"]),
        ("vp8", "webm", ["-c:v", "libvpx"]),
        ("vp9", "webm", ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"]),
        ("mpeg2", "mpg", ["-c:v", "mpeg2video", "-b:v", "2M"]), ("mpeg4", "avi", ["-c:v", "mpeg4", "-b:v", "2M", "-bf", "2"]),
        ("prores", "mov", ["-c:v", "prores_ks", "-pix_fmt", "yuv422p10le"]), ("mjpeg", "avi", ["-c:v", "mjpeg", "-q:v", "3"]),
    ])
    func everyCodecInOrder(name: String, container: String, codec: [String]) throws {
        let sound = container == "webm" ? ["-c:a", "libopus"] : ["avi", "mpg"].contains(container) ? ["-c:a", "mp2"] : ["-c:a", "aac"]
        let clip = try Clips.numbered("codec-\(name).\(container)", frames: 24, codec: codec, extra: sound)
        var reader = try MediaReader.open(clip, samples: stereo, decoderThreads: 2)
        #expect(numbers(&reader) == Array(1...24))
    }

    @Test func timesBeginAtZeroAndFollowTheRate() throws {
        let clip = try Clips.numbered("ntsc.mkv", frames: 20, rate: "30000/1001", extra: ["-output_ts_offset", "5"])
        var reader = try MediaReader.open(clip, samples: stereo)
        var index = 0
        while let frame = reader.nextFrame() {
            let expected = Double(index) * 1001 / 30000
            #expect(abs(frame.time.seconds - expected) < 0.0011, "frame \(index)")  // Matroska counts milliseconds
            index += 1
        }
        #expect(index == 20)
        let nominal = reader.nominalFrameDuration ?? .zero
        #expect(abs(nominal.seconds - 1001.0 / 30000) < 1e-6)
    }

    @Test(arguments: [0, 1, 7, 29, 30, 61, 88, 89])
    func seeksToTheExactFrame(frame: Int) throws {
        let clip = try Clips.numbered("ninety.mp4", frames: 90, codec: ["-c:v", "libx264", "-g", "30", "-bf", "3"])
        var reader = try MediaReader.open(clip, samples: stereo)
        // The middle of the frame, then the frame's very beginning.
        for offset in [0.5, 0.0] {
            let time = MediaTime.seconds((Double(frame) + offset) / 30) + .milliseconds(offset == 0 ? 1 : 0)
            let landed = try reader.seek(to: time, precision: .exact)
            #expect(landed == time)
            #expect(numbers(&reader) == Array((frame + 1)...90))
        }
    }

    @Test func seekingToKeyFramesLandsOnOne() throws {
        let clip = try Clips.numbered("ninety.mp4", frames: 90, codec: ["-c:v", "libx264", "-g", "30", "-bf", "3"])
        var reader = try MediaReader.open(clip, samples: stereo)
        let landed = try reader.seek(to: .seconds(1.7), precision: .keyFrame())
        #expect(abs(landed.seconds - 1) < 0.001)
        #expect(numbers(&reader).first == 31)
    }

    @Test func seekingPastTheEndGivesTheLastFrame() throws {
        var reader = try MediaReader.open(Clips.numbered("thirty.mp4", frames: 30), samples: stereo)
        _ = try reader.seek(to: .seconds(100), precision: .exact)
        #expect(numbers(&reader) == [30])
    }

    @Test func soundAndPictureAreEquallyLong() throws {
        // AAC: a frame of priming, and padding to whole frames at the end; both are the container's business to tell.
        var reader = try MediaReader.open(Clips.numbered("thirty.mp4", frames: 30), samples: stereo)
        let tone = samples(&reader)
        #expect(abs(tone.count - 48000) <= 1024)
        #expect(abs(frequency(tone.dropFirst(1000).prefix(46000)) - 440) < 2)
    }

    @Test func soundBeginsAtTheSoughtMoment() throws {
        // A tone that begins after one second of silence: where it begins tells where the samples are from.
        let clip = try Clips.make(
            "late-tone.mov",
            ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=2", "-f", "lavfi", "-i", "aevalsrc=if(gte(t\\,1)\\,0.5\\,0):s=48000:d=2"]
                + ["-c:v", "libx264", "-c:a", "pcm_s16le"])
        var reader = try MediaReader.open(clip, samples: stereo)
        for start in [0.0, 0.25, 0.9] {
            _ = try reader.seek(to: .seconds(start), precision: .exact)
            let begin = samples(&reader).firstIndex { $0 > 0.25 }
            #expect(begin == Int(((1 - start) * 48000).rounded()))
        }
    }

    @Test func soundThatStartsLateIsPrecededBySilence() throws {
        let clip = try Clips.make(
            "delayed.mkv",
            ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=2", "-itsoffset", "0.5", "-f", "lavfi", "-i", "aevalsrc=0.5:s=48000:d=1"]
                + ["-c:v", "libx264", "-c:a", "pcm_s16le"])
        var reader = try MediaReader.open(clip, samples: stereo)
        let begin = try #require(samples(&reader).firstIndex { $0 > 0.25 })
        #expect(abs(begin - 24000) < 100)
    }

    @Test(arguments: [(22050, 1), (44100, 2), (48000, 6), (96000, 2)])
    func everySoundBecomesTheOutputFormat(rate: Int, channels: Int) throws {
        let clip = try Clips.make(
            "tone-\(rate)-\(channels).wav", ["-f", "lavfi", "-i", "sine=f=440:r=\(rate):d=1", "-ac", "\(channels)", "-c:a", "pcm_s16le"])
        var reader = try MediaReader.open(clip, samples: stereo)
        let hasPicture = reader.hasPicture
        #expect(!hasPicture)
        let tone = samples(&reader)
        #expect(abs(tone.count - 48000) <= 1)
        #expect(abs(frequency(tone.dropFirst(1000).prefix(46000)) - 440) < 2)
        #expect(tone.allSatisfy { abs($0) <= 1 })
    }

    @Test func aStillIsOneFrame() throws {
        let image = try Clips.make("still 100%.png", ["-f", "lavfi", "-i", "testsrc2=s=321x241", "-frames:v", "1", "-update", "1"])
        var reader = try MediaReader.open(image, samples: stereo)
        let description = reader.description
        #expect(description.isStill)
        #expect(description.duration == nil)
        #expect(numbers(&reader).count == 1)
    }

    @Test(arguments: [(0, Rotation.none), (90, .clockwise270), (180, .clockwise180), (270, .clockwise90)])
    func theDisplayMatrixTurnsThePicture(counterclockwise: Int, rotation: Rotation) throws {
        let upright = try Clips.numbered("thirty.mp4", frames: 30)
        // ffmpeg's `rotate` tag is the turn that makes it upright, counted clockwise before version 6 and written as a display matrix.
        let clip = try Clips.make(
            "turned-\(counterclockwise).mp4", ["-i", upright, "-c", "copy", "-metadata:s:v:0", "rotate=\(counterclockwise)"])
        let reader = try MediaReader.open(clip, samples: stereo)
        let orientation = reader.description.video?.orientation
        #expect(orientation == Orientation(rotation: rotation))
    }

    @Test func tempoKeepsThePitch() throws {
        var reader = try MediaReader.open(
            Clips.make("tone-4.wav", ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=4"]), samples: stereo)
        guard var tempo = TempoFilter(rate: 2, format: stereo) else {
            Issue.record("libavfilter could not be loaded")
            return
        }
        var chunk = [Float](repeating: 0, count: 2 * 48000)
        let frames = chunk.withUnsafeMutableBufferPointer { tempo.read(into: $0, from: &reader) }
        #expect(frames == 48000)
        let left = stride(from: 0, to: chunk.count, by: 2).map { chunk[$0] }
        #expect(abs(frequency(left.dropFirst(4000).prefix(40000)) - 440) < 5)
    }
}

@Suite struct BrokenSourceTests {
    private func reason(_ source: String) -> MediaError.Reason? {
        do throws(MediaError) {
            _ = try MediaReader.open(source, samples: AudioFormat(sampleRate: 48000, channelCount: 2))
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func missing() { #expect(reason("/nowhere/clip.mp4") == .notFound) }
    @Test func folder() { #expect(reason("/tmp") == .isDirectory) }
    @Test func device() { #expect(reason("/dev/zero") == .notARegularFile) }
    @Test func empty() throws { #expect(reason(try Clips.file("empty.mp4", [])) == .isEmpty) }
    @Test func text() throws { #expect(reason(try Clips.file("text.mp4", Array("hello, wall\n".utf8))) == .notMedia) }
    @Test func longText() throws {
        #expect(reason(try Clips.file("long.txt", Array(String(repeating: "nothing to see here\n", count: 500).utf8))) == .notMedia)
    }

    @Test func noise() throws {
        var state: UInt64 = 1
        let bytes = (0..<100_000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: state >> 33)
        }
        let found = reason(try Clips.file("noise.mp4", bytes))
        #expect(found != nil)
    }

    @Test func headerOnly() throws {
        let clip = try Clips.numbered("faststart.mp4", frames: 30, extra: ["-movflags", "+faststart"])
        let bytes = try Clips.bytes(clip)
        let mdat = try #require(bytes.firstRange(of: Array("mdat".utf8)))
        let found = reason(try Clips.file("header.mp4", Array(bytes[..<mdat.lowerBound])))
        #expect(found == .nothingDecodes || found.map { if case .damaged = $0 { true } else { false } } == true)
    }

    @Test func moovMissing() throws {
        let bytes = try Clips.bytes(Clips.numbered("thirty.mp4", frames: 30))
        guard case .damaged = reason(try Clips.file("moovless.mp4", Array(bytes.prefix(bytes.count / 3)))) else {
            Issue.record("a file without its index was opened")
            return
        }
    }

    @Test func truncatedPlaysUntilItBreaksOff() throws {
        let clip = try Clips.numbered("faststart.mp4", frames: 30, extra: ["-movflags", "+faststart"])
        let bytes = try Clips.bytes(clip)
        let cut = try Clips.file("cut.mp4", Array(bytes.prefix(bytes.count * 6 / 10)))
        var reader = try MediaReader.open(cut, samples: AudioFormat(sampleRate: 48000, channelCount: 2))
        var count = 0
        while reader.nextFrame() != nil { count += 1 }
        #expect((1..<30).contains(count))
    }

    @Test func tooLarge() throws {
        // libavcodec itself refuses 16384×16384, without a word on how large it is.
        let file = try Clips.file("large.pgm", Array("P5\n16384 16384\n255\n".utf8) + [UInt8](repeating: 0, count: 10_000))
        #expect(reason(file) == .nothingDecodes)
        let image = try Clips.make(
            "9k.png", ["-f", "lavfi", "-i", "color=black:s=9000x9000,format=gray", "-frames:v", "1", "-update", "1"])
        #expect(reason(image) == .pictureTooLarge(width: 9000, height: 9000))
    }

    @Test func zeroSized() throws {
        var png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        png += [0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0]
        #expect(reason(try Clips.file("zero.png", png)) != nil)
    }

    @Test func encrypted() throws {
        let clip = try Clips.make(
            "encrypted.mp4",
            ["-i", Clips.numbered("thirty.mp4", frames: 30), "-c", "copy", "-encryption_scheme", "cenc-aes-ctr"]
                + ["-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb", "-encryption_kid", "a7e61c373e219033c21091fa607bf3b8"])
        #expect(reason(clip) == .encrypted)
    }

    /// The open and read path under mutated files: it may refuse them, it may show less, it may not crash or hang.
    @Test func mutatedFilesNeitherCrashNorHang() throws {
        let originals = try [
            Clips.bytes(Clips.numbered("small.mp4", frames: 8, size: "256x64")),
            Clips.bytes(Clips.numbered("small.mkv", frames: 8, size: "256x64")),
            Clips.bytes(Clips.numbered("small.ts", frames: 8, size: "256x64")),
            Clips.bytes(Clips.make("small.png", ["-f", "lavfi", "-i", "testsrc2=s=256x64", "-frames:v", "1", "-update", "1"])),
        ]
        var random = SplitMix(state: 42)
        let start = HostTime.now
        for round in 0..<320 {
            var bytes = originals[round % originals.count]
            switch round / originals.count % 4 {
            case 0: for _ in 0..<(1 + random.below(64)) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            case 1: bytes = Array(bytes.prefix(random.below(bytes.count)))
            case 2: for _ in 0..<(1 + random.below(32)) { bytes[random.below(min(bytes.count, 2048))] = UInt8(random.below(256)) }
            default:
                let from = random.below(bytes.count)
                bytes.insert(contentsOf: bytes[from..<min(bytes.count, from + random.below(4096))], at: random.below(bytes.count))
            }
            let path = try Clips.file("mutated", bytes)
            guard var reader = try? MediaReader.open(path, samples: AudioFormat(sampleRate: 48000, channelCount: 2)) else { continue }
            var chunk = [Float](repeating: 0, count: 4096)
            var frames = 0
            while reader.nextFrame() != nil, frames < 200 { frames += 1 }
            _ = try? reader.seek(to: .milliseconds(100), precision: .exact)
            _ = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
        }
        #expect(HostTime.now - start < .seconds(120), "a bound against hanging, not a measure of speed")
    }
}

struct SplitMix {
    var state: UInt64
    mutating func below(_ bound: Int) -> Int {
        guard bound > 0 else { return 0 }
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
