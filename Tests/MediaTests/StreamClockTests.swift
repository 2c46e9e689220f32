import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Timestamps that jump, for example because an encoder restarted or files were concatenated.
@Suite struct StreamClockTests {
    private var picture = StreamClock(), sound = StreamClock()

    /// Returns the time that the clock gives a packet of one second.
    private mutating func shown(_ time: Double) -> Double {
        time + picture.offset(at: .seconds(time), lasting: .seconds(1), beside: sound, within: Self.stream).offset.seconds
    }

    private mutating func heard(_ time: Double) -> Double {
        time + sound.offset(at: .seconds(time), lasting: .seconds(1), beside: picture, within: Self.stream).offset.seconds
    }

    private static let stream = StreamClock.Extent(mayJump: true, end: .seconds(5))

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

    /// Returns the offsets that the clock adds to these times of a file of one minute, with packets of one second. `next` are the times
    /// that follow.
    private static func offsets(_ times: [Double], end: Double? = 60, other: [Double] = [], next: [Double] = []) -> [Double] {
        var clock = StreamClock(expecting: .zero), beside = StreamClock(expecting: .zero)
        let extent = StreamClock.Extent(mayJump: false, end: end.map { .seconds($0) })
        for time in other { _ = beside.offset(at: .seconds(time), lasting: .seconds(1), beside: clock, within: extent) }
        return times.enumerated().map { index, time in
            let time = MediaTime.seconds(time)
            var sequel = StreamClock.Sequel.unknown
            if clock.isDoubtful(at: time, beside: beside, within: extent) {
                sequel = (times[(index + 1)...] + next).lazy.compactMap { clock.sequel(of: time, next: .seconds($0)) }.first ?? .ends
            }
            return clock.offset(at: time, lasting: .seconds(1), beside: beside, within: extent, sequel: sequel).offset.seconds
        }
    }

    @Test func whatLiesBetweenEditsIsLeftOut() {
        var clock = StreamClock(expecting: .zero)
        let extent = StreamClock.Extent(mayJump: false, end: .seconds(4)), other = clock
        func leavesOut(_ time: Double) -> Bool { clock.leavesOut(at: .seconds(time), lasting: .seconds(1), within: extent) }
        func shown(_ time: Double) -> Double {
            clock.offset(at: .seconds(time), lasting: .seconds(1), beside: other, within: extent).offset.seconds
        }
        #expect(shown(0) == 0 && shown(1) == 0)
        for time in 2..<9 { #expect(leavesOut(Double(time)), "\(time)") }
        #expect(leavesOut(-3) && leavesOut(-2) && shown(2) == 0, "back, towards the edit that follows")
        #expect(!leavesOut(100) && shown(100) == 3 - 100 && !leavesOut(101), "damage is made good")
    }

    @Test(
        arguments: [
            ([0, 1, 100, 3], [0, 0, -98, 0], "one stamp behind the end"),
            ([0, 1, 1e6, 1e6 + 1, 4, 5], [0, 0, 2 - 1e6, 2 - 1e6, 0, 0], "some stamps, by weeks"),
            ([0, 1, 40, 3], [0, 0, -38, 0], "within the file, and back with the next"),
            ([0, 1, 40, 41, 4], [0, 0, -38, -38, 0], "within the file, and back later"),
            ([0, 30, 60], [0, 0, 0], "slides"),
            ([0, 1, 40, 41, 42], [0, 0, 0, 0, 0], "a gap"),
            ([100, 1, 2], [-100, 0, 0], "the first"),
            ([0, 1, 9, 10, 60, 61, 62], [0, 0, 0, 0, 0, 0, 0], "on behind the end, which is wrong"),
            ([0, 1, 0.5, 2], [0, 0, 0, 0], "a little back"),
            ([0, 1, 62], [0, 0, -60], "a little behind the end"),
            ([10, 11], [0, 0], "a late beginning"),
        ] as [([Double], [Double], String)])
    func aFileOfAMinute(times: [Double], offsets: [Double], name: String) {
        #expect(Self.offsets(times) == offsets)
    }

    @Test func whereTheContainerTellsNoEnd() {
        #expect(Self.offsets([0, 1, 100, 3], end: nil) == [0, 0, -98, 0])
        #expect(Self.offsets([0, 1, 100, 101, 102], end: nil) == [0, 0, -98, -98, -98], "nothing says that it is meant")
        #expect(Self.offsets([0, 1, 100, 101], end: nil, next: [120]) == [0, 0, 0, 0], "a screen on which nothing moved")
        #expect(Self.offsets([0, 1, 1e6, 1e6 + 1], end: nil, next: [1e6 + 30]) == [0, 0, 2 - 1e6, 2 - 1e6], "for weeks")
    }

    @Test func whatIsRareBesideTheOtherStream() {
        let other = (0..<90).map(Double.init)
        #expect(Self.offsets([0, 80, 81], other: other) == [0, 0, 0], "even behind the end that the container tells")
    }

    @Test func durationsAndPresentationTimes() {
        let file = StreamClock.Extent(mayJump: false, end: .seconds(60)), stream = StreamClock.Extent(mayJump: true, end: .seconds(60))
        #expect(StreamClock.duration(.seconds(30), at: .seconds(30), within: file) == .seconds(30))
        #expect(StreamClock.duration(.seconds(3000), at: .seconds(30), within: file) == .seconds(30))
        #expect(StreamClock.duration(.seconds(3000), at: .seconds(70), within: file) == .zero)
        #expect(StreamClock.duration(.seconds(3000), at: .seconds(30), within: stream) == .seconds(3000))
        let clock = StreamClock(frameDuration: .milliseconds(40)), slow = StreamClock(frameDuration: .seconds(1))
        #expect(clock.presentation(at: .seconds(3), decodedAt: .seconds(2.9), within: file) == .on)
        #expect(clock.presentation(at: .seconds(62), decodedAt: .seconds(2), within: file) == .jump)
        #expect(clock.presentation(at: .seconds(20), decodedAt: .seconds(2), within: file) == .doubtful)
        #expect(slow.presentation(at: .seconds(12), decodedAt: .zero, within: file) == .on, "a dozen frames later")
        #expect(clock.presentation(at: .seconds(62), decodedAt: .seconds(2), within: stream) == .on)
    }

    // MARK: Times that overlap

    /// The second part of a stream begins before the first one ends. `ahead` is the number of seconds by which its sound precedes its
    /// pictures in the file.
    @Test(arguments: [(0.25, 0.0), (0.5, 0.2), (0.5, -0.2), (1, 0.4), (3, 0.2), (3, -0.5)])
    func soundAndPicturesTakeTheSameJump(overlap: Double, ahead: Double) {
        var picture = StreamClock(frameDuration: .milliseconds(40)), sound = StreamClock(leads: false)
        let extent = StreamClock.Extent(mayJump: true, end: nil)
        // The arrival and the kind of each packet: 10 s of each part. The second part begins `overlap` seconds before the first one ends.
        var packets: [(arrival: Double, isPicture: Bool, time: Double, wanted: Double)] = []
        for part in 0..<2 {
            let begin = Double(part) * 10
            for number in 0..<250 {
                let time = begin + Double(number) * 0.04
                packets.append((time + ahead, true, time - Double(part) * overlap, time))
            }
            for number in 0..<400 {
                let time = begin + Double(number) * 0.025
                packets.append((max(begin, time), false, time - Double(part) * overlap, time))
            }
        }
        packets.sort { $0.arrival < $1.arrival }
        var offsets: [(picture: Double, sound: Double)] = []
        for packet in packets {
            let time = MediaTime.seconds(packet.time)
            let (offset, _) =
                packet.isPicture
                ? picture.offset(at: time, lasting: .milliseconds(40), beside: sound, within: extent)
                : sound.offset(at: time, lasting: .milliseconds(25), beside: picture, within: extent)
            let shift = packet.time + offset.seconds - packet.wanted
            if packet.wanted < 9.5 || packet.wanted > 11.5 { #expect(abs(shift) < 0.05, "\(packet)") }
            offsets.append(packet.isPicture ? (offset.seconds, offsets.last?.sound ?? 0) : (offsets.last?.picture ?? 0, offset.seconds))
        }
        #expect(offsets.last!.picture == offsets.last!.sound)
    }

    @Test func jitterIsNoJump() {
        var picture = StreamClock(frameDuration: .milliseconds(40)), sound = StreamClock(leads: false)
        let extent = StreamClock.Extent(mayJump: true, end: nil)
        for number in 0..<500 {
            let time = Double(number) * 0.04
            // Frames whose decoding times are those of their presentation: up to four are reordered.
            let order = [0, 4, 3, 2, 1][number % 5]
            let shown = Double(number / 5 * 5 + order) * 0.04
            #expect(picture.offset(at: .seconds(shown), lasting: .milliseconds(40), beside: sound, within: extent).offset == .zero)
            let jitter = [0, 0.3, -0.3, 0.1][number % 4]
            #expect(sound.offset(at: .seconds(time + jitter), lasting: .milliseconds(40), beside: picture, within: extent).offset == .zero)
        }
    }

    /// Two concatenated transport streams. The times of the second may overlap those of the first, which end at 3 s.
    @Test(arguments: [0, 3600, 2.75, 2.5, 2.1]) func filesThatWerePutOneBehindTheOther(offset: Double) throws {
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
        // The reported length is the playing time, a seek reaches the end, and no damage is reported.
        let length = try #require(reader.description.video?.duration ?? reader.description.duration)
        #expect(abs(length.seconds - 6) < 0.1, "\(length)")
        #expect(reader.damage.isEmpty, "\(reader.damage)")
        for (time, number) in [(5.9, 187), (1.0, 31), (3.5, 116)] {
            let landed = try reader.seek(to: .seconds(time), precision: .exact)
            #expect(abs(landed.seconds - time) < 0.04, "\(landed)")
            var seen = 0
            if let frame = reader.nextFrame() { seen = burnedInNumber(frame.frame) }
            #expect(abs(seen - number) <= 1, "\(seen) at \(time)")
        }
    }
}
