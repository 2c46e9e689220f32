import KioskMedia
import KioskPlatform

/// Has samples rendered at the pace of a ``SilentClock`` and discards them: for ``SilentOutput``, and for ``ALSAOutput`` while it has no
/// card. Used by the audio thread alone.
package struct SilentSink: ~Copyable {
    private var clock: SilentClock
    private var samples: [Float]

    /// A sink whose next frame is due at `start`.
    package init(format: AudioFormat, start: HostTime) {
        let period = max(1, format.sampleRate / SilentOutput.periodsPerSecond)
        clock = SilentClock(sampleRate: format.sampleRate, period: period, start: start)
        samples = [Float](repeating: 0, count: period * format.channelCount)
    }

    /// Has rendered what is due, and returns when to be called next.
    package mutating func render(_ renderer: any AudioRenderer) -> HostTime {
        while let due = clock.advance(at: .now) {
            unsafe samples.withUnsafeMutableBufferPointer { unsafe renderer.render(into: $0) }
            renderer.report(unheard: clock.period, at: due)
        }
        return clock.deadline
    }

    /// Takes back what is not due yet.
    package mutating func interrupt(_ renderer: any AudioRenderer) { renderer.takeBack(frames: clock.takeBack(at: .now)) }
}
