import Glibc
import KioskMedia
import KioskPlatform
import TestSupport
import Testing

@testable import KioskPlayback

/// The queue with a card driven by hand: the test renders frames and reports how many are unheard.
@Suite struct AudioQueueTests {
    private let rate = 1000  // one frame a millisecond keeps the arithmetic readable
    private let begin = HostTime(nanoseconds: 1_000_000_000)

    private func makeQueue() -> AudioQueue { AudioQueue(format: .init(sampleRate: rate, channelCount: 1)) {} }

    private func ramp(_ range: Range<Int>) -> [Float] { range.map(Float.init) }

    private func render(_ queue: AudioQueue, _ frames: Int) -> [Float] {
        var samples = [Float](repeating: -1, count: frames)
        samples.withUnsafeMutableBufferPointer { queue.render(into: $0) }
        return samples
    }

    private func at(_ milliseconds: Int64) -> HostTime { begin + .milliseconds(milliseconds) }

    @Test func rendersSilenceUntilItRuns() {
        let queue = makeQueue()
        queue.reset()
        queue.write(ramp(1..<101).span)
        #expect(render(queue, 10) == [Float](repeating: 0, count: 10))
        queue.isRunning = true
        #expect(render(queue, 3) == [1, 2, 3])
    }

    @Test func aRampOfTheGainGoesOnWhereTheQueueRanDry() {
        let queue = makeQueue()
        queue.reset()
        queue.isRunning = true
        queue.write([Float](repeating: 1, count: 50).span)
        queue.setGain(0, over: .milliseconds(100))
        let first = render(queue, 50)
        #expect(abs(first[49] - 0.5) < 0.001)
        #expect(render(queue, 10) == [Float](repeating: 0, count: 10) && queue.ranDry)
        queue.write([Float](repeating: 1, count: 50).span)
        let second = render(queue, 50)
        #expect(abs(second[0] - 0.49) < 0.001 && abs(second[49]) < 0.001, "no step where the sound comes back")
    }

    @Test func theClockCountsDownToTheFirstSampleAndFollowsTheCard() {
        let queue = makeQueue()
        queue.reset()
        queue.write(ramp(1..<501).span)
        _ = render(queue, 50)
        queue.isRunning = true
        _ = render(queue, 50)
        queue.report(unheard: 100, at: at(0))
        #expect(queue.timelineTime(at: at(0)) == .milliseconds(-50))
        #expect(queue.timelineTime(at: at(50)) == .zero)
        #expect(queue.timelineTime(at: at(80)) == .milliseconds(30))
    }

    @Test func theClockSaysNothingWhileTheCardPlaysOldSilence() {
        let queue = makeQueue()
        queue.reset()
        queue.write(ramp(1..<501).span)
        _ = render(queue, 50)
        queue.report(unheard: 50, at: at(0))
        #expect(queue.timelineTime(at: at(10)) == .zero)
        queue.isRunning = true
        #expect(queue.timelineTime(at: at(10)) == nil, "the samples may come at once")
        queue.takeBack(frames: 40)
        _ = render(queue, 50)
        queue.report(unheard: 50, at: at(12))
        #expect(queue.timelineTime(at: at(22)) == .milliseconds(10))
    }

    @Test func whatIsToBeHeardLaterIsDecidedAheadAndNoSampleIsLost() {
        let queue = AudioQueue(format: .init(sampleRate: rate, channelCount: 1), delay: .milliseconds(30)) {}
        queue.reset()
        queue.write(ramp(1..<501).span)
        queue.isRunning = true
        #expect(render(queue, 100) == [Float](repeating: 0, count: 30) + ramp(1..<71))
        queue.report(unheard: 100, at: at(0))
        // The picture is where the sound will be in 30 ms.
        #expect(queue.timelineTime(at: at(0)) == .zero && queue.timelineTime(at: at(40)) == .milliseconds(40))
        // A pause is heard 30 ms later than it is seen.
        queue.isRunning = false
        queue.takeBack(frames: 60)
        #expect(render(queue, 20) == ramp(11..<31))
        #expect(render(queue, 20) == ramp(31..<41) + [Float](repeating: 0, count: 10))
        queue.report(unheard: 40, at: at(41))
        #expect(queue.timelineTime(at: at(81)) == .milliseconds(40))
        queue.isRunning = true
        #expect(render(queue, 50) == [Float](repeating: 0, count: 30) + ramp(41..<61))
        // A seek drops the sound that was still to be heard.
        queue.reset()
        queue.takeBack(frames: 50)
        queue.write(ramp(1001..<1101).span)
        queue.isRunning = true
        #expect(render(queue, 40) == [Float](repeating: 0, count: 30) + ramp(1001..<1011))
    }

    @Test func whatIsToBeHeardEarlierHasTheClockBehind() {
        let queue = AudioQueue(format: .init(sampleRate: rate, channelCount: 1), delay: .milliseconds(-30)) {}
        queue.reset()
        queue.write(ramp(1..<501).span)
        queue.isRunning = true
        #expect(render(queue, 400) == ramp(1..<401))
        queue.report(unheard: 400, at: at(0))
        #expect(queue.timelineTime(at: at(0)) == .milliseconds(-30) && queue.timelineTime(at: at(40)) == .milliseconds(10))
        for time in stride(from: Int64(10), through: 390, by: 10) { queue.report(unheard: 400 - Int(time), at: at(time)) }
        #expect(queue.timelineTime(at: at(390)) == .milliseconds(360))
        // The queue can still read the past.
        #expect(queue.timelineTime(at: at(150)) == .milliseconds(120))
    }

    @Test("However it is taken and given back, each sample is heard once, so much later") func anyDelay() {
        var random = Proof.Random()
        for delay in [0, 1, 30, 500] {
            let queue = AudioQueue(format: .init(sampleRate: rate, channelCount: 1), delay: .milliseconds(Int64(delay))) {}
            queue.reset()
            queue.isRunning = true
            var (written, heard, card, time) = (0, [Float](), [Float](), Int64(0))
            for _ in 0..<2000 {
                let room = min(queue.room(wanting: 100), Int.random(in: 0...100, using: &random))
                if room > 0 { queue.write(ramp(written + 1..<written + 1 + room).span) }
                written += max(0, room)
                switch Int.random(in: 0..<8, using: &random) {
                case 0: queue.isRunning.toggle()
                case 1:
                    let count = Int.random(in: 0...card.count, using: &random)
                    queue.takeBack(frames: count)
                    card.removeLast(count)
                default:
                    card += render(queue, Int.random(in: 1...60, using: &random))
                    let count = Int.random(in: 0...card.count, using: &random)
                    heard += card.prefix(count)
                    card.removeFirst(count)
                    time += Int64(count) + 1
                    queue.report(unheard: card.count, at: at(time))
                }
            }
            let sound = heard.filter { $0 != 0 }
            #expect(sound == ramp(1..<sound.count + 1), "delay \(delay)")
            #expect(sound.count > 5000)
        }
    }

    @Test func aPauseTakesBackWhatWasNotHeard() {
        let queue = makeQueue()
        queue.reset()
        queue.write(ramp(1..<501).span)
        queue.isRunning = true
        _ = render(queue, 100)
        queue.report(unheard: 100, at: at(0))
        // 40 ms later: paused, the card drops the 60 frames it has not played.
        queue.isRunning = false
        queue.takeBack(frames: 60)
        #expect(render(queue, 20) == [Float](repeating: 0, count: 20))
        queue.report(unheard: 20, at: at(41))
        #expect(queue.timelineTime(at: at(50)) == .milliseconds(40))
        #expect(queue.timelineTime(at: at(900)) == .milliseconds(40))
        queue.isRunning = true
        queue.takeBack(frames: 20)
        #expect(render(queue, 3) == [41, 42, 43])
    }

    @Test func runningDryHoldsTheTimelineAndLosesNothing() {
        let queue = makeQueue()
        queue.reset()
        queue.isRunning = true
        queue.write(ramp(1..<31).span)
        #expect(Array(render(queue, 50).prefix(31)) == ramp(1..<31) + [0])
        #expect(queue.ranDry)
        queue.report(unheard: 50, at: at(0))
        #expect(queue.timelineTime(at: at(20)) == .milliseconds(20))
        #expect(queue.timelineTime(at: at(45)) == .milliseconds(30))
        queue.write(ramp(31..<61).span)
        #expect(render(queue, 2) == [31, 32])
        #expect(!queue.ranDry)
        #expect(queue.timelineTime(at: at(49)) == .milliseconds(30))
        #expect(queue.timelineTime(at: at(51)) == .milliseconds(31))
    }

    /// If the card has rendered nothing for a while, the process stood.
    @Test func nothingIsHeardThatWasNotRendered() {
        let queue = makeQueue()
        queue.reset()
        queue.isRunning = true
        queue.write(ramp(0..<900).span)
        _ = render(queue, 100)
        queue.report(unheard: 100, at: at(0))
        let slack = AudioQueue.longestLateness
        #expect(queue.timelineTime(at: at(100)) == .milliseconds(100))
        #expect(queue.timelineTime(at: at(2000)) == .milliseconds(100) + slack)
        #expect(queue.timelineTime(at: at(2040), now: at(2000)) == .milliseconds(140) + slack, "a look ahead")
        #expect(queue.timelineTime(at: at(140), now: at(80)) == .milliseconds(140), "it will have been rendered by then")
        _ = render(queue, 100)
        #expect(queue.timelineTime(at: at(2000)) == .milliseconds(200) + slack)
    }

    @Test func roomIsOnlyWhatHasBeenHeard() {
        let queue = makeQueue()
        queue.reset()
        queue.isRunning = true
        queue.write(ramp(0..<1000).span)
        #expect(queue.room(wanting: 1) == 0)
        _ = render(queue, 600)
        #expect(queue.room(wanting: 1) == 0)
        queue.report(unheard: 100, at: at(0))
        // 500 were heard; the queue keeps a quarter of a second of them for readings of the recent past.
        #expect(queue.room(wanting: 1) == 250)
    }

    @Test func theRingWrapsAround() {
        let queue = makeQueue()
        queue.reset()
        queue.isRunning = true
        var written = 0
        var heard: [Float] = []
        for step in 0..<60 {
            let room = min(queue.room(wanting: 0), 97)
            queue.write(ramp(written..<written + room).span)
            written += room
            heard += render(queue, 83)
            queue.report(unheard: 10, at: at(Int64(step) * 83))
        }
        let played = heard.filter { $0 != 0 }
        #expect(played == ramp(1..<played.count + 1))
    }

    @Test func gainIsRampedWithoutASteppedSample() {
        let queue = AudioQueue(format: .init(sampleRate: 48000, channelCount: 1)) {}
        queue.reset()
        queue.isRunning = true
        queue.write([Float](repeating: 1, count: 4800).span)
        _ = render(queue, 100)
        queue.setGain(0)
        let samples = render(queue, 1000)
        let steps = zip(samples, samples.dropFirst()).map { abs($0 - $1) }
        #expect(steps.max()! < 0.003)
        #expect(samples.last == 0)
    }

    @Test(arguments: [440.0, 3000, 12_000, 18_000], [0.99875, 0.9999, 1.00125])
    func aRatioChangesThePitchAndNothingElse(frequency: Double, ratio: Double) {
        let queue = AudioQueue(format: .init(sampleRate: 48000, channelCount: 2)) {}
        queue.reset()
        queue.isRunning = true
        let angle = 2 * Double.pi * frequency / 48000
        let tones = (0..<48000).flatMap { [Float(sin(angle * Double($0))), Float(cos(angle * Double($0)))] }
        queue.write(tones.span)
        queue.ratio = ratio
        var heard: [Float] = []
        for _ in 0..<60 { heard += render(queue, 2 * 500) }
        let worst = (100..<30_000).map { frame in
            let place = angle * Double(frame) * ratio
            return max(abs(Double(heard[2 * frame]) - sin(place)), abs(Double(heard[2 * frame + 1]) - cos(place)))
        }.max()!
        #expect(worst < 1e-4, "80 dB below the tone")
    }

    @Test func theClockKnowsWhatEachRatioWasPlayedFor() {
        let queue = makeQueue()
        queue.reset()
        queue.isRunning = true
        queue.write(ramp(0..<900).span)
        queue.ratio = 1.5
        _ = render(queue, 100)
        queue.ratio = 0.5
        _ = render(queue, 100)
        queue.report(unheard: 200, at: at(0))
        #expect(queue.timelineTime(at: at(100)) == .milliseconds(150))
        #expect(queue.timelineTime(at: at(200)) == .milliseconds(200))
        // 60 frames are taken back, and rendered at the clip's own pace.
        queue.takeBack(frames: 60)
        queue.ratio = 1
        #expect(render(queue, 1)[0] == 170)
        queue.report(unheard: 1, at: at(140))
        #expect(queue.timelineTime(at: at(141)) == .milliseconds(171))
    }

    @Test func changesOfRatioLeaveNoStep() {
        let queue = AudioQueue(format: .init(sampleRate: 48000, channelCount: 1)) {}
        queue.reset()
        queue.isRunning = true
        let angle = 2 * Double.pi * 440 / 48000
        let tone = (0..<48000).map { Float(sin(angle * Double($0))) }
        queue.write(tone.span)
        var heard: [Float] = []
        for step in 0..<80 {
            queue.ratio = [1, 1.0001, 0.999, 1, 1.00125][step % 5]
            heard += render(queue, 480)
        }
        let steps = zip(heard, heard.dropFirst()).map { abs($0 - $1) }
        #expect(Double(steps.max()!) < angle * 1.002, "no step is larger than the tone's own")
    }
}

@Suite struct DeviceClockTests {
    @Test(arguments: [-300.0, 0, 300])
    func followsACardWithJitterAndDrift(ppm: Double) {
        var clock = DeviceClock(sampleRate: 48000)
        var random = SeededRandom(seed: 3)
        let begin = HostTime(nanoseconds: 5_000_000_000)
        let rate = 48000 * (1 + ppm * 1e-6)
        var worst = 0.0
        for report in 0..<6000 {
            let seconds = Double(report) * 0.01
            // The card reports in steps of 64 frames, late by up to 0.3 ms.
            let frames = (seconds * rate / 64).rounded(.down) * 64
            clock.report(frames: frames, at: begin + .seconds(seconds + 0.0003 * abs(random.unit())))
            if report > 3000 {
                let ahead = seconds + 0.0166
                let reading = clock.frames(at: begin + .seconds(ahead))! - ahead * rate
                worst = max(worst, abs(reading + 32 + 7))  // less the mean of the steps and of the lateness
            }
        }
        #expect(worst / 48 < 0.5, "within half a millisecond")
    }

    @Test func isUsableAfterOneReport() {
        var clock = DeviceClock(sampleRate: 48000)
        let begin = HostTime(nanoseconds: 1_000_000_000)
        #expect(clock.frames(at: begin) == nil)
        clock.report(frames: 480, at: begin)
        #expect(clock.frames(at: begin + .milliseconds(10)) == 960)
    }
}
