import Foundation
import Testing

@testable import Bed

/// Returns a sine of 440 Hz at a tenth of full scale.
private func sine(_ count: Int, from first: Int = 0) -> [Int16] {
    (first..<first + count).map { Int16(3277 * sin(2 * Double.pi * 440 * Double($0) / 48_000)) }
}

struct ToneTests {
    @Test func `an unbroken tone`() throws {
        let sound = Sound(left: sine(48_000))
        let tone = try #require(sound.tone)
        #expect(abs(tone.frequency - 440) < 0.01)
        #expect(tone.phaseJumps == [] && tone.clicks == [] && sound.holes == [])
        #expect(tone.largestStep <= tone.expectedStep + 3)
        #expect(sound.peak == 3277 || sound.peak == 3276)
    }

    @Test func `each of two tones has its own level`() {
        let other = (0..<48_000).map { Int16(1000 * sin(2 * Double.pi * 880 * Double($0) / 48_000)) }
        let sound = Sound(left: zip(sine(48_000), other).map { $0 + $1 })
        #expect(abs(sound.level(at: 440) - 3277) < 3 && abs(sound.level(at: 880) - 1000) < 3 && sound.level(at: 660) < 3)
    }

    @Test func `samples left out are a jump of phase`() throws {
        let tone = try #require(Sound(left: sine(24_000) + sine(24_000, from: 24_020)).tone)
        #expect(tone.phaseJumps.count == 1)
        #expect(abs(tone.phaseJumps[0].duration / .seconds(1) + 20 / 48_000) < 0.0001)
        #expect(abs(tone.phaseJumps[0].start / .seconds(1) - 0.5) < 0.005)
    }

    @Test func `samples put in are one, too`() throws {
        let tone = try #require(Sound(left: sine(24_000) + sine(24_000, from: 23_970)).tone)
        #expect(tone.phaseJumps.count == 1 && tone.phaseJumps[0].duration > .zero)
    }

    @Test func `a period too long and one too short next to it are no jump`() throws {
        var samples = sine(48_000)
        // The zero crossing between the two periods comes 8 samples late.
        for index in 24_000..<24_218 { samples[index] = sine(1, from: index - 8)[0] }
        let tone = try #require(Sound(left: samples).tone)
        #expect(tone.phaseJumps == [])
    }

    @Test func `a step is a click`() throws {
        var samples = sine(48_000)
        samples[10_000] += 1500
        let tone = try #require(Sound(left: samples).tone)
        #expect(tone.clicks.count == 2 && tone.largestStep > 1300)
    }

    @Test func `silence has no tone`() {
        let silence = Sound(left: Array(repeating: 0, count: 48_000))
        #expect(silence.tone == nil && silence.isSilent && silence.audible.left == [])
    }
}

struct RecordedSoundTests {
    /// The card is 200 ppm slow. The bed polls it every 100 ms, up to 5.4 ms late.
    @Test func `a recording lasts as long as it took`() throws {
        let header =
            Array("RIFF____WAVEfmt ".utf8) + [16, 0, 0, 0, 1, 0, 2, 0, 0x80, 0xBB, 0, 0, 0, 0xEE, 2, 0, 4, 0, 16, 0]
            + Array("data____".utf8)
        let positions = (0..<600).map { "\($0 * 4800) \(7_000_000 + Int(Double($0) * 100_020) + $0 % 7 * 900)" }.joined(separator: "\n")
        let sound = try #require(
            Sound(wav: header + [UInt8](repeating: 0, count: 4 * 2_880_000), positions: positions, origin: 5_000_000))
        #expect(abs(sound.rate - 48_000 / 1.0002) < 0.01)
        #expect(abs((sound.start - .seconds(2)) / .milliseconds(1)) < 0.01)
        #expect(abs((sound.time(of: 2_880_000) - .seconds(62.012)) / .milliseconds(1)) < 0.1)
    }

    @Test func `a hole and its place`() {
        let sound = Sound(left: sine(12_000) + Array(repeating: 0, count: 480) + sine(12_000), start: .seconds(2))
        #expect(sound.holes.count == 1)
        #expect(abs(sound.holes[0].duration / .milliseconds(10) - 1) < 0.03)
        #expect(abs((sound.holes[0].start - .seconds(2.25)) / .milliseconds(1)) < 0.1)
        #expect(sound.cutting(sound.holes[0]).holes == [])
    }

    @Test func `silence before and behind is no hole`() {
        let quiet = [Int16](repeating: 0, count: 4800)
        #expect(Sound(left: quiet + sine(9600) + quiet).holes == [])
    }

    @Test func `a stretch of time`() {
        let part = Sound(left: sine(48_000), start: .seconds(-0.5))[.zero..<(.seconds(0.25))]
        #expect(part.left.count == 12_000 && part.start == .zero && part.left == sine(12_000, from: 24_000))
    }
}
