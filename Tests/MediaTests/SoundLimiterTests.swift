import Foundation
import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Downmixed sound: as loud as its stereo version, and never beyond full scale.
@Suite struct SoundLimiterTests {
    /// Limits `samples` of two channels, passed in pieces of these numbers of frames; returns the output.
    private func limited(_ samples: [Float], pieces: [Int]) -> [Float] {
        var limiter = SoundLimiter(channelCount: 2)
        var (output, place, piece) = ([Float](), 0, 0)
        while place < samples.count {
            let begin = output.count
            let end = min(place + 2 * pieces[piece % pieces.count], samples.count)
            output += samples[place..<end]
            limiter.limit(&output, from: begin)
            #expect(output.count / 2 + limiter.heldFrames == end / 2)
            (place, piece) = (end, piece + 1)
        }
        limiter.drain(into: &output)
        return output
    }

    private func tone(_ amplitude: (Int) -> Float, frames: Int = 9600) -> [Float] {
        (0..<frames).flatMap { frame -> [Float] in
            let sample = amplitude(frame) * Float(sin(2 * Double.pi * 440 * Double(frame) / 48000))
            return [sample, -sample / 2]
        }
    }

    @Test func whatIsBelowFullScalePassesBitForBit() {
        let samples = tone { _ in 0.99 }
        #expect(limited(samples, pieces: [1, 500, 128, 77]) == samples)
        #expect(limited(Array(samples.prefix(20)), pieces: [3]) == Array(samples.prefix(20)) && limited([], pieces: [1]) == [])
    }

    @Test func aPeakIsTurnedDownWithoutAClickAndWithoutTheRest() {
        let samples = tone { 2000..<2400 ~= $0 ? 2.4 : 0.5 }
        let output = limited(samples, pieces: [333])
        #expect(output.count == samples.count && output.allSatisfy { abs($0) <= 1 })
        #expect((2000..<2400).contains { abs(output[2 * $0]) > 0.97 }, "no quieter than it has to be")
        #expect(output[..<(2 * 1700)] == samples[..<(2 * 1700)], "untouched before")
        #expect(output[(2 * 5400)...] == samples[(2 * 5400)...], "and soon after")
        for frame in 1..<output.count / 2 where abs(samples[2 * frame]) > 0.01 && abs(samples[2 * frame - 2]) > 0.01 {
            let (gain, before) = (output[2 * frame] / samples[2 * frame], output[2 * frame - 2] / samples[2 * frame - 2])
            #expect(abs(gain - before) < 0.01, "frame \(frame)")
        }
        let pieces = limited(samples, pieces: [1, 4000, 13])
        #expect(pieces == output, "however it comes")
    }

    // MARK: Through the reader

    private let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    private func left(_ name: String, _ channels: [String]) throws -> ArraySlice<Float> {
        let path = try Clips.make(
            name,
            ["-f", "lavfi", "-i", "aevalsrc=\(channels.joined(separator: "|")):s=48000:d=1:c=5.1", "-c:a", "pcm_f32le"])
        var reader = try MediaReader.open(path, samples: stereo)
        return leftSamples(&reader)[...]
    }

    @Test func theFrontOf5_1IsAsLoudAsStereo() throws {
        let samples = try left("front-alone.wav", ["0.5*sin(2*PI*440*t)", "0.5*sin(2*PI*440*t)", "0", "0", "0", "0"])
        #expect(samples.count == 48000)
        #expect(abs(samples.max()! - 0.5) < 0.01 && abs(tonePhase(samples).samples) < 0.1)
    }

    @Test func allOf5_1AtOnceStaysWithinFullScale() throws {
        let samples = try left("all-at-once.wav", [String](repeating: "0.9*sin(2*PI*440*t)", count: 6))
        #expect(samples.count == 48000)
        #expect(samples.allSatisfy { abs($0) <= 1 } && samples.max()! > 0.99)
        #expect(abs(tonePhase(samples).samples) < 0.1 && tonePhase(samples).strength > 0.99)
    }

    /// As many loudspeakers as channels, but at other positions: the back centre is added to the back pair.
    @Test(arguments: [("6.0", Float(1)), ("5.1", 0.9), ("5.1(side)", 0.9)])
    func whatHasNoLoudspeakerOfItsOwnStaysWithinFullScale(layout: String, peak: Float) throws {
        let six = AudioFormat(sampleRate: 48000, channelCount: 6)
        let channels = [String](repeating: "0.9*sin(2*PI*440*t)", count: 6).joined(separator: "|")
        let path = try Clips.make(
            "all-of-\(layout).wav", ["-f", "lavfi", "-i", "aevalsrc=\(channels):s=48000:d=1:c=\(layout)", "-c:a", "pcm_f32le"])
        var reader = try MediaReader.open(path, samples: six)
        var chunk = [Float](repeating: 2, count: 6 * 48_000)
        let count = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 6) }
        #expect(count == 48_000 && chunk.allSatisfy { abs($0) <= 1 })
        let back = stride(from: 4, to: chunk.count, by: 6).map { chunk[$0] }
        #expect(abs(back.max()! - peak) < 0.01, "\(back.max()!)")
    }
}

/// Padding that iTunes states in a tag.
@Suite struct TaggedPaddingTests {
    private let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// Reads 48 frames of AAC whose tag says that `samples` of them are sound; returns the number of samples.
    private func frames(_ samples: Int, tag: Int? = nil) throws -> Int {
        let padding = 48 * 1024 - 1024 - samples
        func hex(_ number: Int, _ digits: Int) -> String {
            let text = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: digits - text.count) + text
        }
        let tag = " 00000000 \(hex(1024, 8)) \(hex(padding, 8)) \(hex(tag ?? samples, 16)) 00000000"
        let path = try Clips.make(
            "padding-\(samples)-\(tag.count).m4a",
            ["-f", "lavfi", "-i", "sine=f=440:r=48000,atrim=end_sample=\(47 * 1024)", "-c:a", "aac"]
                + ["-movflags", "use_metadata_tags", "-metadata", "iTunSMPB=\(tag)"])
        var reader = try MediaReader.open(path, samples: stereo)
        let length = try #require(reader.description.duration)
        let count = leftSamples(&reader).count
        // FFmpeg's MP4 states the length in milliseconds.
        #expect(abs(length.seconds * 48000 - Double(count)) < 50)
        return count
    }

    @Test func isCutOff() throws {
        #expect(try frames(47 * 1024 - 1500) == 47 * 1024 - 1500)
    }

    @Test func aTagOfAnotherFileSaysNothing() throws { #expect((47 * 1024 - 48...47 * 1024).contains(try frames(47 * 1024, tag: 9000))) }
}
