import KioskMedia
import KioskPlatform
import KioskPlayback

/// Has samples rendered at the pace of a ``SilentClock`` and discards them: for ``SilentOutput``, and for ``ALSAOutput`` while it has no
/// card. Used by the audio thread alone.
struct SilentSink: ~Copyable {
    private var clock: SilentClock
    private let samples: UnsafeMutableBufferPointer<Float>

    /// A sink whose next frame is due at `start`.
    init(format: AudioFormat, start: HostTime) {
        let period = max(1, format.sampleRate / SilentOutput.periodsPerSecond)
        clock = SilentClock(sampleRate: format.sampleRate, period: period, start: start)
        samples = .allocate(capacity: period * format.channelCount)
    }

    deinit { samples.deallocate() }

    /// Has rendered what is due, and returns when to be called next.
    mutating func render(_ renderer: any AudioRenderer) -> HostTime {
        while let due = clock.advance(at: .now) {
            renderer.render(into: samples)
            renderer.report(unheard: clock.period, at: due)
        }
        return clock.deadline
    }

    /// Takes back what is not due yet.
    mutating func interrupt(_ renderer: any AudioRenderer) { renderer.takeBack(frames: clock.takeBack(at: .now)) }
}
