import KioskMedia
import KioskPlatform

/// Renders in time by the monotonic clock and plays nothing: `[audio] device = "off"`.
package final class SilentOutput: PCMOutput {
    /// What is rendered. Constant.
    package let format: AudioFormat
    /// Why it is silent.
    package let name: String
    private let control = AudioThreadControl()

    /// Frames rendered at a time, as a fraction of a second.
    package static let periodsPerSecond = 50

    /// An output of `format` that is silent for `reason`, which becomes its name.
    package init(format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2), reason: String = "silent: turned off") {
        self.format = format
        name = reason
    }

    /// Begins to render, on a thread of its own. Called once.
    package func start(_ renderer: any AudioRenderer) {
        let (control, format) = (control, format)
        control.start("audio") {
            var sink = SilentSink(format: format, start: .now)
            while let interrupts = control.nextRequest() {
                if interrupts { sink.interrupt(renderer) }
                control.wakeUp.wait(until: sink.render(renderer))
            }
        }
    }

    /// Takes back what is not due yet, at most a period. From any thread.
    package func interrupt() { control.interrupt() }

    /// Ends the rendering and its thread.
    package func stop(by deadline: HostTime) -> Bool { control.stop(by: deadline) }
}

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

/// The timing of an output without a card: frame k counts as heard at `anchor` + k / rate on the monotonic clock. A pure value.
///
/// A period is rendered at the instant at which its first frame is due, so at most one period is rendered and unheard. Deadlines are
/// absolute: a late wake-up makes no later one late. Frames are counted from an anchor that is moved in whole seconds, so the arithmetic
/// neither drifts nor overflows.
struct SilentClock {
    let sampleRate: Int
    /// Frames rendered at a time.
    let period: Int
    private var anchor: HostTime
    /// Frames rendered since `anchor`.
    private var rendered = 0

    /// After a longer delay than this (a suspended machine, a stopped process) the clock goes on from the present, instead of catching up
    /// in a burst.
    static let longestDelay = MediaTime.milliseconds(500)

    /// A clock on which the next frame is due at `start`.
    init(sampleRate: Int, period: Int, start: HostTime) {
        self.sampleRate = sampleRate
        self.period = period
        anchor = start
    }

    /// When the next period is to be rendered: its first frame is due then.
    var deadline: HostTime { anchor + time(of: rendered) }

    /// Whether a period is to be rendered at `now`. If so it counts as rendered, and all of it was unheard at the returned time.
    mutating func advance(at now: HostTime) -> HostTime? {
        guard now >= deadline else { return nil }
        if now - deadline > Self.longestDelay {
            anchor = now
            rendered = 0
        }
        let due = deadline
        rendered += period
        if rendered >= 2 * sampleRate {
            rendered -= sampleRate
            anchor += .milliseconds(1000)
        }
        return due
    }

    /// Drops what was rendered and is not due by `now`, and returns how many frames that is.
    mutating func takeBack(at now: HostTime) -> Int {
        let elapsed = max(0, (now - anchor).nanoseconds)
        let due = Int(min(elapsed, 10_000_000_000) * Int64(sampleRate) / 1_000_000_000)
        let unheard = max(0, rendered - due)
        rendered -= unheard
        return unheard
    }

    private func time(of frames: Int) -> MediaTime { MediaTime(nanoseconds: Int64(frames) * 1_000_000_000 / Int64(sampleRate)) }
}
