import KioskMedia
import KioskPlatform

/// An output that renders in time by the monotonic clock and plays nothing: `[audio] device = "off"`.
package final class SilentOutput: PCMOutput {
    /// The format to render. Constant.
    package let format: AudioFormat
    /// The reason for the silence.
    package let name: String
    private let control = AudioThreadControl()

    /// The number of periods in a second; the output renders a period at a time.
    package static let periodsPerSecond = 50

    /// Creates an output of `format` that is silent for `reason`, which becomes its name.
    package init(format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2), reason: String = "silent: turned off") {
        self.format = format
        name = reason
    }

    /// Starts rendering on a thread of its own. Call it once.
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

    /// Takes back the frames that are not due yet, at most a period. From any thread.
    package func interrupt() { control.interrupt() }

    /// Stops rendering and ends its thread.
    package func stop(by deadline: HostTime) -> Bool { control.stop(by: deadline) }
}

/// A sink that renders samples at the pace of a ``SilentClock`` and discards them: for ``SilentOutput``, and for ``ALSAOutput`` while it
/// has no card. Only the audio thread uses it.
package struct SilentSink: ~Copyable {
    private var clock: SilentClock
    private var samples: [Float]

    /// Creates a sink whose next frame is due at `start`.
    package init(format: AudioFormat, start: HostTime) {
        let period = max(1, format.sampleRate / SilentOutput.periodsPerSecond)
        clock = SilentClock(sampleRate: format.sampleRate, period: period, start: start)
        samples = [Float](repeating: 0, count: period * format.channelCount)
    }

    /// Renders the periods that are due, and returns the time for the next call.
    package mutating func render(_ renderer: any AudioRenderer) -> HostTime {
        while let due = clock.advance(at: .now) {
            unsafe samples.withUnsafeMutableBufferPointer { unsafe renderer.render(into: $0) }
            renderer.report(unheard: clock.period, at: due)
        }
        return clock.deadline
    }

    /// Takes back the frames that are not due yet.
    package mutating func interrupt(_ renderer: any AudioRenderer) { renderer.takeBack(frames: clock.takeBack(at: .now)) }
}

/// The timing of an output without a card: frame k counts as heard at `anchor` + k / rate on the monotonic clock. A pure value.
///
/// A period is rendered at the instant at which its first frame is due, so at most one period is rendered and unheard. Deadlines are
/// absolute: a late wake-up does not delay later ones. The clock counts frames from an anchor that moves in whole seconds, so the
/// arithmetic neither drifts nor overflows.
struct SilentClock {
    let sampleRate: Int
    /// The number of frames rendered at a time.
    let period: Int
    private var anchor: HostTime
    /// The number of frames rendered since `anchor`.
    private var rendered = 0

    /// The longest delay that the clock catches up. After a longer one (a suspended machine, a stopped process) it goes on from the present
    /// instead of catching up in a burst.
    static let longestDelay = MediaTime.milliseconds(500)

    /// Creates a clock on which the next frame is due at `start`.
    init(sampleRate: Int, period: Int, start: HostTime) {
        self.sampleRate = sampleRate
        self.period = period
        anchor = start
    }

    /// The time to render the next period, when its first frame is due.
    var deadline: HostTime { anchor + time(of: rendered) }

    /// Returns the due time of the next period if it has come at `now`, and counts the period as rendered. All of the period was unheard at
    /// that time.
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

    /// Drops the frames that were rendered but are not due by `now`, and returns their number.
    mutating func takeBack(at now: HostTime) -> Int {
        let elapsed = max(0, (now - anchor).nanoseconds)
        let due = Int(min(elapsed, 10_000_000_000) * Int64(sampleRate) / 1_000_000_000)
        let unheard = max(0, rendered - due)
        rendered -= unheard
        return unheard
    }

    private func time(of frames: Int) -> MediaTime { MediaTime(nanoseconds: Int64(frames) * 1_000_000_000 / Int64(sampleRate)) }
}
