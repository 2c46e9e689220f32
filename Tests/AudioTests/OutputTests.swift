import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskAudioCore
@testable import KioskPlayback

/// Counts the output's requests, and checks the contract.
final class CountingRenderer: AudioRenderer {
    struct Counts {
        var rendered = 0
        var takenBack = 0
        /// The first count that was not zero.
        var firstTakenBack = 0
        var interruptions = 0
        /// Frames rendered in whole periods of silence.
        var silence = 0
        var reports: [(position: Int, time: HostTime)] = []
        var broken: [String] = []
    }
    let monitor = Monitor(Counts())

    func render(into samples: UnsafeMutableBufferPointer<Float>) {
        samples.initialize(repeating: 0)
        monitor.signal { counts in
            if samples.count % 2 != 0 { counts.broken.append("half a frame") }
            counts.rendered += samples.count / 2
            let period = 48_000 / SilentOutput.periodsPerSecond
            if samples.count == 2 * period { counts.silence += period }
        }
    }

    func isReady(frames: Int) -> Bool { true }

    func takeBack(frames: Int) {
        monitor.signal { counts in
            if frames < 0 || frames > counts.rendered { counts.broken.append("took back \(frames) of \(counts.rendered)") }
            counts.rendered -= frames
            counts.takenBack += frames
            if counts.firstTakenBack == 0 { counts.firstTakenBack = frames }
            counts.interruptions += 1
        }
    }

    func report(unheard: Int, at time: HostTime) {
        monitor.signal { counts in
            if unheard < 0 || unheard > counts.rendered { counts.broken.append("\(unheard) of \(counts.rendered) unheard") }
            let position = counts.rendered - unheard
            if let last = counts.reports.last, position < last.position || time < last.time {
                counts.broken.append("the position went back from \(last.position) to \(position)")
            }
            counts.reports.append((position, time))
        }
    }

    /// Waits until `frames` frames have been rendered, at most 120 s.
    func wait(for frames: Int) -> Bool {
        monitor.wait(until: .now + .seconds(120)) { $0.rendered >= frames ? true : nil } ?? false
    }

    var counts: Counts { monitor.withLock { $0 } }

    /// Returns the reports without the delays longer than ``SilentClock/longestDelay``, as after them the clock does not catch up.
    func reports(at sampleRate: Int) -> [(position: Int, time: HostTime)] {
        let reports = counts.reports
        var standstill = MediaTime.zero
        return reports.indices.map { index in
            if index > 0, reports[index].time - reports[index - 1].time > SilentClock.longestDelay {
                let rendered = MediaTime.seconds(Double(reports[index].position - reports[index - 1].position) / Double(sampleRate))
                standstill += reports[index].time - reports[index - 1].time - rendered
            }
            return (reports[index].position, reports[index].time - standstill)
        }
    }
}

@Suite struct OutputTests {
    /// With a real card these would play to it. A name that no card has makes ALSA's output silent everywhere.
    private static func outputs() -> [any PCMOutput] {
        [SilentOutput(), ALSAOutput(device: .pcm("hw:CARD=NoSuchCard"))]
    }

    /// The frames that a silent output renders at a time.
    private static let period = 48_000 / SilentOutput.periodsPerSecond

    @Test func silenceGoesByTheClock() {
        for output in Self.outputs() {
            let renderer = CountingRenderer()
            let begin = HostTime.now
            output.start(renderer)
            #expect(renderer.wait(for: output.format.sampleRate * 3 / 10))
            output.stop()
            let counts = renderer.counts
            let elapsed = (HostTime.now - begin).seconds
            // It is never ahead of time by more than the audible period, and every report agrees with the clock.
            #expect(Double(counts.rendered) <= elapsed * Double(output.format.sampleRate) + Double(Self.period))
            #expect(elapsed >= 0.3 - 1 / Double(SilentOutput.periodsPerSecond))
            let reports = renderer.reports(at: output.format.sampleRate)
            let first = reports[0]
            for report in reports {
                let expected = (report.time - first.time).seconds * Double(output.format.sampleRate)
                #expect(abs(Double(report.position - first.position) - expected) < 1)
            }
            #expect(counts.broken == [])
        }
    }

    @Test func anInterruptionTakesBackOnlyWhatWasNotHeard() {
        for output in Self.outputs() {
            let renderer = CountingRenderer()
            output.start(renderer)
            for step in 1...20 {
                #expect(renderer.wait(for: step * 480))
                output.interrupt()
            }
            #expect(renderer.wait(for: 48 * 500))
            output.stop()
            let counts = renderer.counts
            #expect(counts.broken == [])
            #expect(counts.takenBack > 0 && counts.takenBack <= 20 * Self.period)
            let reports = renderer.reports(at: output.format.sampleRate)
            let last = reports.last!
            let expected = (last.time - reports[0].time).seconds * Double(output.format.sampleRate)
            #expect(abs(Double(last.position) - expected) <= 25, "each interruption rounds to a frame")
        }
    }

    @Test func stopEndsTheCalls() {
        for output in Self.outputs() {
            let renderer = CountingRenderer()
            output.start(renderer)
            #expect(renderer.wait(for: 480))
            output.stop()
            let rendered = renderer.counts.rendered
            usleep(40_000)
            #expect(renderer.counts.rendered == rendered)
        }
    }

    /// A player that waited for the card would not reach `hasOpened` in this order.
    @Test func aCardThatTakesLongToOpenIsNotWaitedFor() {
        let (mayOpen, hasOpened) = (Monitor(false), Monitor(false))
        let output = ALSAOutput { _, _, _ throws(AudioError) in
            _ = mayOpen.wait(until: .now + .seconds(120)) { $0 ? true : nil }
            hasOpened.signal { $0 = true }
            throw .noCard
        }
        #expect(output.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
        let renderer = CountingRenderer()
        output.start(renderer)
        #expect(renderer.wait(for: 4800))
        #expect(!hasOpened.withLock { $0 } && output.name == "silent: the sound card has not opened yet")
        mayOpen.signal { $0 = true }
        #expect(hasOpened.wait(until: .now + .seconds(120)) { $0 ? true : nil } == true)
        #expect(renderer.wait(for: renderer.counts.rendered + 4800))
        output.stop()
        #expect(renderer.counts.broken == [])
    }

    @Test func aMissingCardIsNamedAndTheFormatIsTheUsualOne() {
        let output = ALSAOutput(device: .pcm("hw:CARD=NoSuchCard"))
        #expect(output.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
        #expect(output.name.hasPrefix("silent: ") && output.name.contains("hw:CARD=NoSuchCard"))
        output.stop()
    }

    @Test func aDeviceThatKeepsNoTimeIsReplacedBySilence() {
        let output = ALSAOutput(device: .pcm("null"))
        let renderer = CountingRenderer()
        output.start(renderer)
        #expect(renderer.wait(for: 48_000 * 2))
        for _ in 0..<500 where !output.name.contains("faster than time") { usleep(10_000) }
        #expect(output.name.contains("faster than time"))
        // The null device never set the pace: all frames were rendered in time.
        let reports = renderer.reports(at: 48_000)
        for report in reports {
            #expect(abs(Double(report.position - reports[0].position) - (report.time - reports[0].time).seconds * 48_000) < 1)
        }
        output.stop()
        #expect(renderer.counts.broken == [])
    }
}
