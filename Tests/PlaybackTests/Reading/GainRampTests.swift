import KioskMedia
import Testing

@testable import KioskPlayback

/// Stereo at 48 kHz: 240 frames are 5 ms.
@Suite struct GainRampTests {
    private let format = AudioFormat(sampleRate: 48_000, channelCount: 2)

    private func ones(_ frames: Int) -> [Float] { Array(repeating: 1, count: 2 * frames) }
    /// Returns the gain of each frame; both channels have the same.
    private func gains(_ samples: [Float]) -> [Float] {
        let left = stride(from: 0, to: samples.count, by: 2).map { samples[$0] }
        #expect(left == stride(from: 1, to: samples.count, by: 2).map { samples[$0] })
        return left
    }

    private func apply(_ gain: Float, to ramp: inout GainRamp, frames: Int, count: Int? = nil) -> [Float] {
        var samples = ones(frames)
        ramp.apply(gain, to: &samples, count: count ?? frames, format: format)
        return gains(samples)
    }

    @Test func beginsAtTheGainItIsGiven() {
        var ramp = GainRamp()
        #expect(apply(0.25, to: &ramp, frames: 10) == Array(repeating: 0.25, count: 10))
    }

    @Test func leavesSoundAtFullGainAlone() {
        var ramp = GainRamp()
        #expect(apply(1, to: &ramp, frames: 10) == Array(repeating: 1, count: 10))
    }

    @Test(arguments: [(Float(0.25), Float(1)), (1, 0.25), (0, 1), (1, 0)]) func reachesAnotherGainWithoutAStep(from: Float, to: Float) {
        var ramp = GainRamp()
        _ = apply(from, to: &ramp, frames: 10)
        // In pieces, as the feeder enqueues sound.
        let gains: [Float] = [from] + apply(to, to: &ramp, frames: 100) + apply(to, to: &ramp, frames: 300)
        #expect(zip(gains, gains.dropFirst()).allSatisfy { abs($1 - $0) < 1.001 / 240 })
        let steps = Int((abs(to - from) * 240).rounded())
        #expect(gains.dropFirst(1 + steps).allSatisfy { $0 == to })
        #expect(gains.prefix(steps).allSatisfy { $0 != to })
    }

    @Test func anyGainMayFollowOnSilence() {
        var ramp = GainRamp()
        _ = apply(1, to: &ramp, frames: 10)
        _ = apply(1, to: &ramp, frames: 10, count: 0)
        #expect(apply(0.5, to: &ramp, frames: 10) == Array(repeating: 0.5, count: 10))
        ramp.reset()
        #expect(apply(0.25, to: &ramp, frames: 10) == Array(repeating: 0.25, count: 10))
    }

    @Test func touchesNothingBehindTheCount() {
        var ramp = GainRamp()
        #expect(apply(0.5, to: &ramp, frames: 4, count: 2) == [0.5, 0.5, 1, 1])
    }

    @Test func fadesOutOverTheLastFiveMilliseconds() {
        var samples = ones(400)
        GainRamp.fadeOut(&samples, count: 300, format: format)
        let gains = gains(samples)
        #expect(gains[..<60].allSatisfy { $0 == 1 } && gains[300...].allSatisfy { $0 == 1 })
        #expect(zip(gains[59...], gains[60..<300]).allSatisfy { $1 < $0 && $0 - $1 < 1.001 / 240 })
        #expect(gains[299] < 0.005)
    }

    @Test func aShortSoundFadesOutAsAWhole() {
        var samples = ones(3)
        GainRamp.fadeOut(&samples, count: 3, format: format)
        #expect(gains(samples) == [0.75, 0.5, 0.25])
    }
}
