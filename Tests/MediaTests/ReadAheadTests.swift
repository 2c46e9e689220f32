import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// The distance that a reader reads ahead if either sound or picture is missing.
@Suite struct ReadAheadTests {
    private let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// Reads sound up to `time`, as the feeder does; returns the left samples.
    private func sound(_ reader: inout MediaReader, from count: Int, to time: MediaTime) -> [Float] {
        var samples = [Float](repeating: 0, count: 2 * max(0, Int((time.seconds * 48000).rounded()) - count))
        let filled = samples.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
        return stride(from: 0, to: 2 * filled, by: 2).map { samples[$0] }
    }

    /// Plays picture and sound in turn up to `seconds`: the sound of all returned pictures comes first.
    private func play(_ reader: inout MediaReader, _ seconds: Double) -> (sound: [Float], mostPackets: Int, pictures: Int) {
        var played: (sound: [Float], mostPackets: Int, pictures: Int) = ([], 0, 0)
        while let frame = reader.nextFrame(), frame.time < .seconds(seconds) {
            played.pictures += 1
            played.sound += sound(&reader, from: played.sound.count, to: frame.time + frame.duration)
            played.mostPackets = max(played.mostPackets, reader.queued.packets)
        }
        return played
    }

    /// Noise: pictures of some 60 kB each.
    private func noise(rate: Int, seconds: Int) -> [String] {
        ["-f", "lavfi", "-i", "color=gray:s=240x136:r=\(rate):d=\(seconds),noise=alls=100:allf=t"]
    }
    private let video = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "10", "-bf", "0", "-pix_fmt", "yuv420p"]

    @Test(arguments: ["mp4", "mkv", "ts"]) func soundThatEndsEarlyDoesNotHoldUpThePicture(container: String) throws {
        let clip = try Clips.make(
            "short-sound.\(container)",
            noise(rate: 5, seconds: 40) + ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=1"] + video + ["-c:a", "aac"])
        var reader = try MediaReader.open(clip, samples: stereo)
        let played = play(&reader, 20)
        #expect(played.pictures == 100)
        #expect(played.sound[4800..<43_200].contains { abs($0) > 0.05 })
        #expect(played.sound.count == 960_000 && played.sound[51_000...].allSatisfy { abs($0) < 1e-4 }, "silence for what is missing")
        #expect(played.mostPackets < 100, "of 200: 4 MB of pictures, and some sound")
    }

    @Test func soundThatPausesGoesOnAtItsTime() throws {
        let clip = try Clips.make(
            "pausing-sound.mkv",
            noise(rate: 10, seconds: 20)
                + ["-f", "lavfi", "-i", "aevalsrc=0.5:s=48000:d=20,aselect=lt(t\\,2.048)+gte(t\\,12.288)"] + video
                + ["-c:a", "pcm_s16le"])
        var reader = try MediaReader.open(clip, samples: stereo)
        let played = play(&reader, 20)
        #expect(played.sound.count == 960_000)
        #expect(played.mostPackets < 120, "of 660")
        let (end, begin) = (98_304, 589_824)
        let (first, gap, second) = (played.sound[..<(end - 100)], played.sound[(end + 100)..<(begin - 100)], played.sound[(begin + 100)...])
        #expect(first.allSatisfy { $0 > 0.25 } && gap.allSatisfy { $0 == 0 } && second.dropLast(2000).allSatisfy { $0 > 0.25 })
    }

    /// Badly interleaved sound of a file that can be read at once plays from the beginning.
    @Test func soundThatComesLateInASmallFileIsWhole() throws {
        let picture = ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=12"]
        var reader = try MediaReader.open(withLateSound("late-sound-small.ts", picture), samples: stereo)
        let played = play(&reader, 9)
        #expect(longestSilence(played.sound[4800..<384_000]) < 100)
    }

    /// In a large file the reader waits longer for the sound once it knows the delay.
    @Test func soundThatComesLateInALargeFileIsHeard() throws {
        var reader = try MediaReader.open(withLateSound("late-sound.ts", noise(rate: 25, seconds: 12)), samples: stereo)
        let played = play(&reader, 11)
        #expect(tonePhase(played.sound[144_000..<480_000]).strength > 0.9)
        #expect(longestSilence(played.sound[144_000..<480_000]) < 100)
    }

    private func longestSilence(_ samples: ArraySlice<Float>) -> Int {
        samples.split(whereSeparator: { abs($0) > 1e-3 }).map(\.count).max() ?? 0
    }

    /// Makes a transport stream of 12 s whose sound comes three seconds later than its picture.
    private func withLateSound(_ name: String, _ picture: [String]) throws -> String {
        let whole = try Clips.bytes(
            Clips.make("for-" + name, picture + ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=12"] + video + ["-c:a", "mp2"]))
        let packets = stride(from: 0, to: whole.count, by: 188).map { whole[$0..<($0 + 188)] }
        func isSound(_ packet: ArraySlice<UInt8>) -> Bool {
            Int(packet[packet.startIndex + 1] & 0x1F) << 8 | Int(packet[packet.startIndex + 2]) == 0x101
        }
        let delay = packets.count(where: isSound) / 4
        var (held, bytes): ([ArraySlice<UInt8>], [UInt8]) = ([], [])
        for packet in packets {
            if isSound(packet) { held.append(packet) } else { bytes += packet }
            if isSound(packet), held.count > delay { bytes += held.removeFirst() }
        }
        for packet in held { bytes += packet }
        return try Clips.file(name, bytes)
    }

    @Test func aCoverIsDecodedFromItsOnePacket() throws {
        let clip = try Clips.make(
            "covered-png.m4a",
            ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=60", "-i", Clips.named("still.png"), "-map", "0", "-map", "1"]
                + ["-c:a", "aac", "-c:v", "copy", "-disposition:v", "attached_pic"])
        var reader = try MediaReader.open(clip, samples: stereo, decoderThreads: 4)
        let packets = reader.queued.packets
        #expect(packets < 20, "of some 2800")
        var number = 0
        if let cover = reader.nextFrame() { number = burnedInNumber(cover.frame) }
        #expect(number == 401)
    }
}
