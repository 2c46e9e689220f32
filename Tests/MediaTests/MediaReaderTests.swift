import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@Suite struct MediaReaderTests {
    private let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// Returns the burned-in numbers of all remaining frames.
    private func numbers(_ reader: inout MediaReader) -> [Int] {
        var numbers: [Int] = []
        while let frame = reader.nextFrame() { numbers.append(burnedInNumber(frame.frame)) }
        return numbers
    }

    /// Returns the frequency, counted from the upward crossings of zero.
    private func frequency(_ samples: ArraySlice<Float>) -> Double {
        let crossings = zip(samples, samples.dropFirst()).count { $0 < 0 && $1 >= 0 }
        return Double(crossings) * 48000 / Double(max(1, samples.count))
    }

    @Test(arguments: [0, 1, 7, 29, 30, 61, 88, 89])
    func seeksToTheExactFrame(frame: Int) throws {
        let clip = try Clips.named("keyframes.mp4")
        var reader = try MediaReader.open(clip, samples: stereo)
        // The middle of the frame, then a millisecond after its beginning.
        for offset in [0.5, 0.0] {
            let time = MediaTime.seconds((Double(frame) + offset) / 30) + .milliseconds(offset == 0 ? 1 : 0)
            let landed = try reader.seek(to: time, precision: .exact)
            #expect(landed == time)
            #expect(numbers(&reader) == Array((frame + 1)...90))
        }
    }

    /// kiosk owns the file's context, and libavformat once closed it as its own.
    @Test func aFileIsOpenedByItsURLAndClosed() throws {
        for name in ["keyframes.mp4", "mix-4.ts"] {
            var reader = try MediaReader.open("file://" + Clips.named(name), samples: stereo)
            #expect(numbers(&reader).isEmpty == false)
        }
        #expect(throws: (any Error).self) { _ = try MediaReader.open("file:///nowhere/at all.mp4", samples: nil) }
        let empty = try Clips.file("empty.mp4", [])
        #expect(throws: (any Error).self) { _ = try MediaReader.open("file://" + empty, samples: nil) }
    }

    @Test func seekingToKeyFramesLandsOnOne() throws {
        let clip = try Clips.named("keyframes.mp4")
        var reader = try MediaReader.open(clip, samples: stereo)
        let landed = try reader.seek(to: .seconds(1.7), precision: .keyFrame())
        #expect(abs(landed.seconds - 1) < 0.001)
        #expect(numbers(&reader).first == 31)
    }

    @Test func seekingPastTheEndGivesTheLastFrame() throws {
        var reader = try MediaReader.open(Clips.named("thirty.mp4"), samples: stereo)
        _ = try reader.seek(to: .seconds(100), precision: .exact)
        #expect(numbers(&reader) == [30])
    }

    @Test func soundBeginsAtTheSoughtMoment() throws {
        // A tone that begins after one second of silence: its start shows the time of the samples.
        let clip = try Clips.make(
            "late-tone.mov",
            ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=2", "-f", "lavfi", "-i", "aevalsrc=if(gte(t\\,1)\\,0.5\\,0):s=48000:d=2"]
                + ["-c:v", "libx264", "-c:a", "pcm_s16le"])
        var reader = try MediaReader.open(clip, samples: stereo)
        for start in [0.0, 0.25, 0.9] {
            _ = try reader.seek(to: .seconds(start), precision: .exact)
            let begin = leftSamples(&reader).firstIndex { $0 > 0.25 }
            #expect(begin == Int(((1 - start) * 48000).rounded()))
        }
    }

    @Test func soundThatStartsLateIsPrecededBySilence() throws {
        let clip = try Clips.make(
            "delayed.mkv",
            ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=2", "-itsoffset", "0.5", "-f", "lavfi", "-i", "aevalsrc=0.5:s=48000:d=1"]
                + ["-c:v", "libx264", "-c:a", "pcm_s16le"])
        var reader = try MediaReader.open(clip, samples: stereo)
        let begin = try #require(leftSamples(&reader).firstIndex { $0 > 0.25 })
        #expect(abs(begin - 24000) < 100)
    }

    @Test(arguments: [(22050, 1), (44100, 2), (48000, 6), (96000, 2)])
    func everySoundBecomesTheOutputFormat(rate: Int, channels: Int) throws {
        let clip = try Clips.make(
            "tone-\(rate)-\(channels).wav", ["-f", "lavfi", "-i", "sine=f=440:r=\(rate):d=1", "-ac", "\(channels)", "-c:a", "pcm_s16le"])
        var reader = try MediaReader.open(clip, samples: stereo)
        let hasPicture = reader.hasPicture
        #expect(!hasPicture)
        let tone = leftSamples(&reader)
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

    @Test(arguments: [1, 2, 6, 8]) func tempoKeepsThePitch(channels: Int) throws {
        let format = AudioFormat(sampleRate: 48000, channelCount: channels)
        var reader = try MediaReader.open(
            Clips.make("tone-4.wav", ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=4,pan=stereo|c0=c0|c1=c0"]), samples: format)
        guard var tempo = TempoFilter(rate: 2, format: format) else {
            Issue.record("libavfilter could not be loaded")
            return
        }
        var chunk = [Float](repeating: 0, count: channels * 48000)
        let frames = chunk.withUnsafeMutableBufferPointer { chunk in
            tempo.read(into: chunk) { reader.readSamples(into: $0, channelCount: channels) }
        }
        #expect(frames == 48000)
        let left = stride(from: 0, to: chunk.count, by: channels).map { chunk[$0] }
        #expect(abs(frequency(left.dropFirst(4000).prefix(40000)) - 440) < 5)
    }
}

@Suite struct BrokenSourceTests {
    private func reason(
        _ source: String, pictureMemory: Int = MemoryLimit.ofItem, settings: StreamSettings = StreamSettings()
    ) -> MediaError.Reason? {
        do throws(MediaError) {
            _ = try MediaReader.open(
                source, samples: AudioFormat(sampleRate: 48000, channelCount: 2), pictureMemory: pictureMemory, settings: settings)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func missing() { #expect(reason("/nowhere/clip.mp4") == .notFound) }
    @Test func folder() { #expect(reason("/tmp") == .isDirectory) }
    @Test func device() { #expect(reason("/dev/zero") == .notARegularFile) }
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

    @Test func tooLarge() throws {
        // libavcodec itself refuses 16384×16384 and does not report the size.
        let file = try Clips.file("large.pgm", Array("P5\n16384 16384\n255\n".utf8) + [UInt8](repeating: 0, count: 10_000))
        var settings = StreamSettings()
        (settings.furtherFormats, settings.furtherCodecs) = (["pgm_pipe"], ["pgm"])
        #expect(reason(file, settings: settings) == .nothingDecodes)
        let image = try Clips.make(
            "9k.png", ["-f", "lavfi", "-i", "color=black:s=9000x9000,format=gray", "-frames:v", "1", "-update", "1"])
        #expect(reason(image, pictureMemory: 128 << 20) == .pictureTooLarge(width: 9000, height: 9000, megabytes: 155))
    }

    @Test func zeroSized() throws {
        var png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        png += [0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0]
        #expect(reason(try Clips.file("zero.png", png)) != nil)
    }

    @Test func encrypted() throws {
        let clip = try Clips.make(
            "encrypted.mp4",
            ["-i", Clips.named("thirty.mp4"), "-c", "copy", "-encryption_scheme", "cenc-aes-ctr"]
                + ["-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb", "-encryption_kid", "a7e61c373e219033c21091fa607bf3b8"])
        #expect(reason(clip) == .encrypted)
    }

    /// Opens and reads mutated files. The reader may refuse them or show less; it must not crash or hang.
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

    @Test("Sound that begins again sounds as it did the first time", arguments: [44100, 48000]) func again(rate: Int) throws {
        let path = try Clips.make("again-\(rate).m4a", ["-f", "lavfi", "-i", "sine=f=440:r=\(rate):d=1", "-c:a", "aac", "-b:a", "128k"])
        var reader = try MediaReader.open(path, samples: AudioFormat(sampleRate: 48000, channelCount: 1))
        var rounds: [[Float]] = []
        for _ in 0..<2 {
            if !rounds.isEmpty { #expect(try reader.seek(to: .zero, precision: .exact) == .zero) }
            var samples = [Float](repeating: 0, count: 96000)
            let count = samples.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 1) }
            rounds.append(Array(samples.prefix(count)))
        }
        #expect(abs(rounds[0].count - 48000) < 16 && abs(rounds[1].count - rounds[0].count) < 16, "\(rounds.map(\.count))")
        let worst = zip(rounds[0], rounds[1]).prefix(4096).map { abs($0 - $1) }.max() ?? 1
        #expect(worst < 0.01, "off by \(worst)")
        #expect(rounds.allSatisfy { $0.suffix(480).map(abs).max() ?? 0 > 0.05 }, "its end is silent")
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
