import Testing

@testable import KioskMedia

/// Joins runs of samples, placed by the number of their first frame, into one unbroken run. Both samples of a frame are its number, which
/// exposes lost, repeated and misplaced frames; silence is 0.
@Suite struct SampleQueueTests {
    private var queue = SampleQueue(AudioFormat(sampleRate: 100, channelCount: 2))

    /// Appends frames with these numbers; returns the number after them.
    private mutating func append(_ frames: Range<Int>) -> Int64 {
        let before = queue.samples.count
        for frame in frames { queue.samples += [Float(frame), Float(frame)] }
        return queue.place(from: before, at: Int64(frames.lowerBound))
    }

    /// Takes up to `count` frames; returns the left sample of each.
    private mutating func take(_ count: Int) -> [Int] {
        var samples = [Float](repeating: -1, count: 2 * count)
        let taken = samples.withUnsafeMutableBufferPointer { queue.take(into: $0) }
        return (0..<taken).map { Int(samples[2 * $0]) }
    }

    @Test mutating func whatLiesBeforeTheBeginningIsCutOff() {
        queue.restart(at: 10)
        #expect(append(4..<9) == 9 && queue.availableFrames == 0)
        #expect(append(9..<13) == 13 && queue.end == 13)
        #expect(take(8) == [10, 11, 12])
    }

    @Test mutating func anOverlapIsDropped() {
        queue.restart(at: 0)
        #expect(append(0..<5) == 5 && append(3..<8) == 8 && append(6..<8) == 8)
        #expect(take(10) == Array(0..<8))
    }

    @Test mutating func aHoleIsSilence() {
        queue.restart(at: 0)
        _ = append(1..<3)
        _ = append(5..<7)
        #expect(queue.end == 7 && queue.availableFrames == 7)
        #expect(take(4) == [0, 1, 2, 0] && take(4) == [0, 5, 6])
    }

    @Test mutating func aHoleAtTheBeginningTakesNoMemoryAndOneInMidStreamAMinuteOfIt() {
        queue.restart(at: 0)
        _ = append(1_000_000..<1_000_002)
        #expect(queue.samples.count == 4 && queue.availableFrames == 1_000_002)
        _ = append(2_000_000..<2_000_001)
        #expect(queue.samples.count == 4 + 2 * 6000 + 2)
    }

    @Test mutating func whatIsHeldBackIsDroppedAtTheEnd() {
        queue.restart(at: 0)
        _ = append(0..<6)
        queue.setPadding(2)
        #expect(queue.end == 4 && queue.availableFrames == 4 && take(6) == [0, 1, 2, 3])
        queue.dropPadding()
        #expect(queue.end == 4 && queue.availableFrames == 0 && take(6) == [])
    }

    @Test mutating func whatIsHeldBackIsGivenOutWhenMoreFollows() {
        queue.restart(at: 0)
        _ = append(0..<6)
        queue.setPadding(2)
        #expect(take(6) == [0, 1, 2, 3])
        queue.setPadding(0)
        _ = append(6..<8)
        #expect(take(6) == [4, 5, 6, 7])
    }

    @Test mutating func silenceIsAppendedOnlyWhereNothingElseIs() {
        queue.restart(at: 0)
        queue.appendSilence(3)
        #expect(take(5) == [0, 0, 0] && queue.end == 3)
        #expect(append(2..<5) == 5, "what comes later has its own place")
        queue.appendSilence(3)
        #expect(take(5) == [3, 4] && queue.end == 5)
    }

    @Test mutating func whatHasBeenTakenGivesItsMemoryBack() {
        queue.restart(at: 0)
        for second in 0..<50 {
            _ = append(second * 100..<(second + 1) * 100)
            #expect(take(100) == Array(second * 100..<(second + 1) * 100))
        }
        #expect(queue.samples.isEmpty)
    }
}
