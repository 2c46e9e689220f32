import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Files whose header does not state their length, as browsers and pipes write them.
@Suite struct LengthSearchTests {
    private let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// Makes a clip like those of a browser's MediaRecorder: no length, no index, clusters of unknown size.
    private func recorded(_ name: String, codec: [String], sound: [String]) throws -> String {
        try Clips.numbered(
            name, frames: 300, extra: codec + sound + ["-g", "30", "-cluster_time_limit", "1000", "-live", "1"])
    }

    @Test(arguments: [
        ("recorded.webm", ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8"], ["-c:a", "libopus"]),
        ("recorded.mkv", ["-c:v", "libx264", "-preset", "veryfast"], ["-c:a", "pcm_s16le"]),
    ])
    func aFileOfABrowserIsAsLongAsItsLastPicture(name: String, codec: [String], sound: [String]) throws {
        let path = try recorded(name, codec: codec, sound: sound)
        var reader = try MediaReader.open(path, samples: stereo)
        let asset = reader.description
        #expect(abs((asset.duration ?? .zero).seconds - 10) < 0.1 && abs((asset.video?.duration ?? .zero).seconds - 10) < 0.05)
        #expect(!asset.isLive && asset.isSeekable)
        for frame in [150, 290, 10] {
            _ = try reader.seek(to: .seconds((Double(frame) + 0.5) / 30), precision: .exact)
            var number = 0
            if let frame = reader.nextFrame() { number = burnedInNumber(frame.frame) }
            #expect(number == frame + 1)
        }
        #expect(try #require(Thumbnail.make(of: path, fitting: 320, 180)).facts.duration != nil)
    }

    @Test func aLongOneIsNotReadThroughForIt() throws {
        // Each cluster has some megabytes, so that only a later look finds the first cluster near the end.
        let path = try Clips.make(
            "large.mkv",
            ["-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=2", "-c:v", "rawvideo", "-pix_fmt", "yuv420p", "-live", "1"])
        let reader = try MediaReader.open(path, samples: stereo)
        let duration = reader.description.duration
        #expect(abs((duration ?? .zero).seconds - 2) < 0.05)
    }

    @Test(arguments: [("alone.h264", "libx264"), ("alone.hevc", "libx265")])
    func picturesWithoutAContainerFollowEachOther(name: String, encoder: String) throws {
        let path = try Clips.numbered(name, frames: 100, rate: 25, sound: false, extra: ["-c:v", encoder, "-bf", "2", "-g", "25"])
        var reader = try MediaReader.open(path, samples: stereo)
        let duration = reader.description.duration ?? .zero
        #expect(abs(duration.seconds - 4) < 0.1)
        for frame in [60, 10] {
            _ = try reader.seek(to: .seconds((Double(frame) + 0.5) / 25), precision: .exact)
            var number = 0
            if let frame = reader.nextFrame() { number = burnedInNumber(frame.frame) }
            #expect(abs(number - (frame + 1)) <= 1)
        }
    }

    @Test func ofAPipe() throws {
        // In a pipe ffmpeg cannot go back to write the number of samples, and writes none.
        var flac = try Clips.bytes(Clips.named("sound-only.flac"))
        #expect(flac[..<4].elementsEqual("fLaC".utf8))
        for index in 22..<26 { flac[index] = 0 }
        flac[21] &= 0xF0
        let path = try Clips.file("pipe.flac", flac)
        let reader = try MediaReader.open(path, samples: stereo)
        let duration = reader.description.duration
        #expect(abs((duration ?? .zero).seconds - 1) < 0.1)
    }

    @Test func whatIsCutOffOrDamagedStillOpens() throws {
        let whole = try Clips.bytes(
            try recorded("recorded.mkv", codec: ["-c:v", "libx264", "-preset", "veryfast"], sound: ["-c:a", "pcm_s16le"]))
        for share in [3, 5, 8] {
            var part = Array(whole[..<(whole.count * share / 10)])
            for index in stride(from: part.count / 2, to: part.count, by: 997) { part[index] ^= 0xFF }
            var reader = try MediaReader.open(try Clips.file("part-\(share).mkv", part), samples: stereo)
            var count = 0
            while reader.nextFrame() != nil { count += 1 }
            #expect(count > 20)
        }
    }

    @Test func anotherFileAtItsPathIsLookedThroughAnew() throws {
        for seconds in [2, 3] {
            let bytes = try Clips.bytes(
                Clips.numbered(
                    "length-\(seconds).h264", frames: 25 * seconds, rate: 25, sound: false, extra: ["-c:v", "libx264", "-g", "25"]))
            let path = try Clips.file("length-replaced.h264", bytes)
            for _ in 0..<2 {
                let duration = try MediaReader.open(path, samples: nil).description.duration ?? .zero
                #expect(abs(duration.seconds - Double(seconds)) < 0.1)
            }
        }
    }

    /// Recorders begin anywhere: frames before the first key frame cannot be decoded and do not count.
    @Test func aRecordingThatBeginsBetweenTwoKeyFramesIsAsLongAsItIsShown() throws {
        let whole = try Clips.bytes(
            Clips.numbered(
                "length-keys.ts", frames: 90, extra: ["-g", "45", "-keyint_min", "45", "-sc_threshold", "0", "-bf", "0"]))
        var reader = try MediaReader.open(
            Clips.file("length-between.ts", Array(whole.dropFirst(whole.count / 188 / 5 * 188))), samples: stereo)
        let asset = reader.description
        var (first, end) = (MediaTime?.none, MediaTime.zero)
        while let frame = reader.nextFrame() {
            first = first ?? frame.time
            end = frame.time + frame.duration
        }
        #expect(first == .zero && abs(end.seconds - 1.5) < 0.1)
        #expect(abs((asset.video?.duration ?? .zero).seconds - end.seconds) < 0.1)
        #expect(abs((asset.duration ?? .zero).seconds - end.seconds) < 0.2)
    }
}
