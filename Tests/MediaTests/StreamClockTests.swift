import Platform
import TestSupport
import Testing

@testable import Media

/// Timestamps that jump, as where an encoder was started anew or files were put one behind the other.
@Suite struct StreamClockTests {
    private var picture = StreamClock(), sound = StreamClock()

    /// The time that a packet of a second gets.
    private mutating func shown(_ time: Double) -> Double {
        time + picture.offset(at: .seconds(time), lasting: .seconds(1), beside: sound).seconds
    }

    private mutating func heard(_ time: Double) -> Double {
        time + sound.offset(at: .seconds(time), lasting: .seconds(1), beside: picture).seconds
    }

    @Test mutating func whatFollowsAJumpFollowsWhatWasBeforeIt() {
        #expect(shown(5) == 5 && heard(5.25) == 5.25 && shown(6) == 6)
        #expect(shown(1000) == 7, "on")
        #expect(heard(6.25) == 6.25, "the sound has not jumped yet")
        #expect(heard(1000.5) == 7.5 && shown(1001) == 8 && heard(1001.5) == 8.5, "by the same time")
        #expect(shown(0) == 9 && heard(0.5) == 9.5, "back")
    }

    @Test mutating func whatIsRareDoesNotJump() {
        #expect(shown(0) == 0)
        for second in 0..<30 { #expect(heard(Double(second)) == Double(second)) }
        #expect(shown(30) == 30 && heard(30) == 30)
        for second in 31..<60 { #expect(shown(Double(second)) == Double(second)) }
        #expect(heard(60) == 60)
        #expect(shown(59.5) == 59.5, "a little back is not far enough")
    }

    /// Two transport streams one behind the other.
    @Test(arguments: [0, 3600]) func filesThatWerePutOneBehindTheOther(offset: Int) throws {
        let first = try Clips.numbered("first.ts", frames: 90, extra: ["-bf", "2"])
        let second = try Clips.numbered(
            "second-\(offset).ts", frames: 90, from: 101, extra: ["-bf", "2", "-output_ts_offset", "\(offset)"])
        let path = try Clips.file("both-\(offset).ts", Clips.bytes(first) + Clips.bytes(second))
        var reader = try MediaReader.open(path, samples: AudioFormat(sampleRate: 48000, channelCount: 2))
        var (numbers, times): ([Int], [Double]) = ([], [])
        while let frame = reader.nextFrame() {
            numbers.append(burnedInNumber(frame.frame))
            times.append(frame.time.seconds)
        }
        #expect(numbers == Array(1...90) + Array(101...190))
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 < 0.1 } && times.last! < 6.2, "\(times)")
        let samples = leftSamples(&reader)
        #expect(abs(samples.count - 288_000) < 10_000)
        let silent = samples.dropFirst(2000).dropLast(6000).split(whereSeparator: { abs($0) > 1e-3 }).map(\.count).max() ?? 0
        #expect(silent < 5000, "\(silent) samples of silence")
    }
}
