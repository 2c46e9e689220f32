import KioskMedia
import KioskPlatform
import Synchronization
import Testing

@testable import KioskPlayback

/// A renderer of one value that counts its calls.
private final class Voice: AudioRenderer {
    let value: Float
    let rendered = Atomic(0), takenBack = Atomic(0), reports = Atomic(0)
    let isSilent = Atomic(true)

    init(_ value: Float) { self.value = value }

    func isReady(frames: Int) -> Bool { isSilent.load(ordering: .relaxed) }
    func render(into samples: UnsafeMutableBufferPointer<Float>) {
        for index in samples.indices { samples[index] = value }
        rendered.add(samples.count / 2, ordering: .relaxed)
    }
    func takeBack(frames: Int) { takenBack.add(frames, ordering: .relaxed) }
    func report(unheard: Int, at time: HostTime) { reports.add(1, ordering: .relaxed) }
}

@Suite struct SoundMixerTests {
    private let mixer = SoundMixer(AudioFormat(sampleRate: 48_000, channelCount: 2))

    private func render(_ frames: Int) -> Set<Float> {
        var samples = [Float](repeating: 9, count: frames * 2)
        samples.withUnsafeMutableBufferPointer { mixer.render(into: $0) }
        return Set(samples)
    }

    @Test func nobodyIsSilence() { #expect(render(10) == [0] && mixer.isReady(frames: 10)) }

    /// The mixer waits for the first voice without a limit; for another one, until it must have stopped.
    @Test func oneThatHasStoppedKeepsNobodyWaiting() {
        let (first, second) = (Voice(0.25), Voice(0.5))
        _ = mixer.add(first)
        _ = mixer.add(second)
        second.isSilent.store(false, ordering: .relaxed)
        #expect((0..<200).allSatisfy { _ in !mixer.isReady(frames: 10) })
        #expect(mixer.isReady(frames: 10))
        first.isSilent.store(false, ordering: .relaxed)
        #expect((0..<1000).allSatisfy { _ in !mixer.isReady(frames: 10) })
        for voice in [first, second] { voice.isSilent.store(true, ordering: .relaxed) }
        #expect(mixer.isReady(frames: 10))
        // The voice goes on, and the mixer waits for it again.
        second.isSilent.store(false, ordering: .relaxed)
        #expect(!mixer.isReady(frames: 10))
    }

    @Test func voicesAreAdded() {
        let (first, second) = (Voice(0.25), Voice(0.5))
        #expect(mixer.add(first).isFirst)
        #expect(render(10) == [0.25])
        let added = mixer.add(second)
        #expect(!added.isFirst && render(100) == [0.75] && render(10) == [0.75])
        mixer.remove(added.number)
        #expect(render(10) == [0.25])
        #expect(!mixer.add(second).isFirst, "the output has been started already")
    }

    @Test func eachIsGivenBackNoMoreThanItHasRendered() {
        let (first, second) = (Voice(0), Voice(0))
        _ = mixer.add(first)
        _ = render(100)
        _ = mixer.add(second)
        _ = render(10)
        mixer.takeBack(frames: 60)
        #expect(first.takenBack.load(ordering: .relaxed) == 60)
        #expect(second.takenBack.load(ordering: .relaxed) == 10)
        mixer.report(unheard: 5, at: HostTime(nanoseconds: 1))
        #expect(first.reports.load(ordering: .relaxed) == 1 && second.reports.load(ordering: .relaxed) == 1, "they have one clock")
    }

    @Test func allAreWaitedFor() {
        let (first, second) = (Voice(0), Voice(0))
        _ = mixer.add(first)
        _ = mixer.add(second)
        #expect(mixer.isReady(frames: 1))
        second.isSilent.store(false, ordering: .relaxed)
        #expect(!mixer.isReady(frames: 1))
    }
}
