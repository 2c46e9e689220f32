import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Facts about sources whose headers state them in unusual ways, and warnings about content that a viewer would miss.
@Suite struct AssetFactsTests {
    private let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    // MARK: Animations of one frame

    @Test(arguments: [("gif", "gif"), ("avif", "libaom-av1")]) func anAnimationOfOneFrameIsAStill(suffix: String, codec: String) throws {
        for (frames, name) in [(1, "one"), (3, "three")] {
            let path = try Clips.make(
                "\(name).\(suffix)",
                ["-f", "lavfi", "-i", "testsrc2=s=256x64:r=10", "-frames:v", "\(frames)", "-c:v", codec]
                    + (suffix == "avif" ? ["-cpu-used", "8", "-pix_fmt", "yuv420p"] : []))
            try expectStill(path, frames == 1, frames: frames)
        }
    }

    @Test func anAnimatedPNGOfOneFrameIsAStill() throws {
        // From one frame ffmpeg writes a plain PNG; the control chunk makes it an animation.
        let one = try Clips.bytes(Clips.make("one.png", ["-f", "lavfi", "-i", "testsrc2=s=256x64", "-frames:v", "1", "-update", "1"]))
        let data = try #require(one.indices.dropLast(4).first { one[$0..<$0 + 4].elementsEqual("IDAT".utf8) }) - 4
        let control = Self.chunk("acTL", [0, 0, 0, 1, 0, 0, 0, 0])
        let frame = Self.chunk("fcTL", [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 10, 0, 0])
        try expectStill(Clips.file("one-control.png", one[..<data] + control + frame + one[data...]), true, frames: 1)
        try expectStill(Clips.named("animation.apng"), false, frames: 8)
    }

    static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        func bytes(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) } }
        let checked = Array(type.utf8) + data
        var sum = UInt32.max
        for byte in checked {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : sum >> 1 ^ 0xEDB8_8320 }
        }
        return bytes(UInt32(data.count)) + checked + bytes(~sum)
    }

    private func expectStill(_ path: String, _ isStill: Bool, frames: Int) throws {
        var reader = try MediaReader.open(path, samples: stereo, decoderThreads: 2)
        let (asset, nominal) = (reader.description, reader.nominalFrameDuration)
        #expect(asset.isStill == isStill, "\(path)")
        if isStill { #expect(asset.duration == nil && asset.video?.frameRate == nil && nominal == nil) }
        var count = 0
        while reader.nextFrame() != nil { count += 1 }
        #expect(count == frames)
    }

    // MARK: Colours

    @Test(
        arguments: [
            ("smpte2084", 16, "bt2020", "bt2020nc", "is HDR (PQ)"), ("arib-std-b67", 18, "bt2020", "bt2020nc", "is HDR (HLG)"),
            ("bt2020-10", 14, "bt2020", "bt2020nc", "has the wide colours of BT.2020"), ("bt709", 1, "bt709", "bt709", nil),
        ] as [(String, Int, String, String, String?)])
    func coloursThatAreNotShownAsMeant(transfer: String, code: Int, primaries: String, matrix: String, problem: String?) throws {
        // Sets the colours by H.264's numbers: since version 7 ffmpeg takes its source's colours and ignores the options.
        let other = primaries == "bt2020" ? 9 : 1
        let colours = "h264_metadata=colour_primaries=\(other):transfer_characteristics=\(code):matrix_coefficients=\(other)"
        for suffix in ["mp4", "ts"] {
            let path = try Clips.numbered(
                "colours-\(transfer).\(suffix)", frames: 5, size: "256x64", sound: false,
                extra: ["-bsf:v", colours])
            let reader = try MediaReader.open(path, samples: nil)
            let video = try #require(reader.description.video)
            let problems = reader.problems
            #expect(video.colorTransfer == transfer && video.colorPrimaries == primaries && video.colorMatrix == matrix)
            #expect(problems.count == (problem == nil ? 0 : 1) && problems.first?.hasPrefix(problem ?? "") != false, "\(problems)")
        }
    }

    // MARK: Sound

    /// A tone on the left, a louder constant on the right, and sound that must stay inaudible on all other channels.
    @Test func ofChannelsInAnUnknownArrangementTheFirstTwoAreHeard() throws {
        // No version of FFmpeg has a layout of fifteen channels.
        let channels = ["0.25*sin(2*PI*440*t)", "0.5"] + [String](repeating: "0.9", count: 13)
        let path = try Clips.make(
            "fifteen.wav", ["-f", "lavfi", "-i", "aevalsrc=\(channels.joined(separator: "|")):s=48000:d=1", "-c:a", "pcm_s16le"])
        var reader = try MediaReader.open(path, samples: stereo)
        var chunk = [Float](repeating: 0, count: 2 * 4800)
        let frames = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
        #expect(frames == 4800)
        for frame in 100..<frames { #expect(abs(chunk[2 * frame]) < 0.26 && abs(chunk[2 * frame + 1] - 0.5) < 0.01) }
        #expect(chunk.contains { $0 > 0.24 && $0 < 0.26 })
        let problems = reader.problems
        #expect(
            problems == ["kiosk plays only the first two of its 15 channels, as their arrangement is unknown: export its sound in stereo"])
    }

    /// With more loudspeakers, the first two play and the others stay silent.
    @Test(arguments: [6, 8]) func theOthersAreNotHeardFromOtherLoudspeakers(count: Int) throws {
        let format = AudioFormat(sampleRate: 48000, channelCount: count)
        let tones = ["0.25", "0.5"] + [String](repeating: "0.9", count: 13)
        let fifteen = try Clips.make(
            "fifteen-levels.wav", ["-f", "lavfi", "-i", "aevalsrc=\(tones.joined(separator: "|")):s=48000:d=1", "-c:a", "pcm_s16le"])
        let components = [0.5, 0.25, 0.1, 0.1].map { "\($0)*sin(2*PI*440*t)" }.joined(separator: "|")
        let ambisonic = try Clips.make(
            "ambisonic-tones.mkv",
            ["-f", "lavfi", "-i", "aevalsrc=\(components):s=48000:d=1:c=4.0", "-af", "channelmap=map=0|1|2|3:channel_layout=ambisonic 1"]
                + ["-c:a", "libopus", "-mapping_family", "2", "-b:a", "256k"])
        for (path, left, right) in [(fifteen, Float(0.25), Float(0.5)), (ambisonic, 0.375, 0.125)] {
            var reader = try MediaReader.open(path, samples: format)
            var chunk = [Float](repeating: 1, count: count * 9600)
            let frames = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: count) }
            #expect(frames == 9600)
            let peaks = (0..<count).map { channel in
                stride(from: 4800 * count + channel, to: chunk.count, by: count).map { abs(chunk[$0]) }.max()!
            }
            #expect(abs(peaks[0] - left) < 0.02 && abs(peaks[1] - right) < 0.02, "\(peaks)")
            #expect(peaks.dropFirst(2).allSatisfy { $0 == 0 }, "\(peaks)")
        }
    }

    /// First-order ambisonics: equal on all sides, and as far left as possible.
    @Test(arguments: [(["0.5", "0", "0", "0"], Float(0.25), Float(0.25)), (["0.5", "0.5", "0", "0"], 0.5, 0)])
    func ambisonics(components: [String], left: Float, right: Float) throws {
        let path = try Clips.make(
            "ambisonic-\(right).mkv",
            [
                "-f", "lavfi", "-i", "testsrc2=s=256x64:d=1", "-f", "lavfi", "-i",
                "aevalsrc=\(components.joined(separator: "|")):s=48000:d=1:c=4.0",
            ]
                + [
                    "-af", "channelmap=map=0|1|2|3:channel_layout=ambisonic 1", "-c:v", "libx264", "-c:a", "libopus", "-mapping_family",
                    "2", "-b:a", "256k",
                ])
        var reader = try MediaReader.open(path, samples: stereo)
        var chunk = [Float](repeating: 0, count: 2 * 24000)
        let frames = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
        #expect(frames == 24000)
        let problems = reader.problems
        #expect(problems == [])
        // Opus does not preserve a constant, so this compares the power of the two sides.
        func power(_ side: Int) -> Float { stride(from: side, to: chunk.count, by: 2).reduce(0) { $0 + chunk[$1] * chunk[$1] } }
        #expect(power(0) > 0 && abs(power(1) / power(0) - right * right / (left * left)) < 0.1, "\(power(0)) \(power(1))")
    }

    // MARK: Lengths

    @Test func matroskaTellsHowLongEachTrackIs() throws {
        let path = try Clips.make(
            "sound-longer.mkv",
            ["-f", "lavfi", "-i", "testsrc2=s=256x64:r=30:d=2", "-f", "lavfi", "-i", "sine=d=5", "-c:v", "libx264", "-c:a", "aac"])
        let asset = try MediaReader.open(path, samples: stereo).description
        #expect(abs((asset.video?.duration?.seconds ?? 0) - 2) < 0.01 && abs((asset.audio?.duration?.seconds ?? 0) - 5) < 0.1)
        #expect((asset.duration?.seconds ?? 0) > 4.9)
    }

    @Test(
        arguments: [
            ("00:00:04.004000000", 4.004), ("01:02:03", 3723), ("99:59:59.999", 359_999.999), ("00:60:00", nil), ("-1:00:00", nil),
            ("4", nil),
            ("1:2", nil), ("00:00:nan", nil), ("99999999999:00:00", nil), ("", nil),
        ] as [(String, Double?)])
    func clock(text: String, seconds: Double?) {
        #expect(MediaTime(clock: text) == seconds.map { .seconds($0) })
    }

    // MARK: Nothing to play

    /// The initialization segment of a fragmented MP4 alone.
    @Test(arguments: [true, false]) func aHeaderWithoutMedia(hasPicture: Bool) throws {
        let picture = hasPicture ? ["-f", "lavfi", "-i", "testsrc2=s=256x64:d=1"] : []
        let whole = try Clips.bytes(
            Clips.make(
                "fragmented-\(hasPicture).mp4",
                picture + ["-f", "lavfi", "-i", "sine=d=1"] + (hasPicture ? ["-c:v", "libx264"] : []) + [
                    "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov+default_base_moof",
                ]))
        let end = try #require(whole.indices.dropLast(4).first { whole[$0..<$0 + 4].elementsEqual("moof".utf8) }) - 4
        let path = try Clips.file("init-\(hasPicture).mp4", Array(whole[..<end]))
        do throws(MediaError) {
            _ = try MediaReader.open(path, samples: stereo)
            Issue.record("was opened")
        } catch {
            #expect(error.reason == .hasNoMedia)
        }
    }
}
