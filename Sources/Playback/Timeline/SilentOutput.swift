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
            while let request = control.nextRequest() {
                if request.interrupt { sink.interrupt(renderer) }
                control.wakeUp.wait(until: sink.render(renderer))
            }
        }
    }

    /// Takes back what is not due yet, at most a period. From any thread.
    package func interrupt() { control.interrupt() }

    /// Ends the rendering and its thread.
    package func stop(by deadline: HostTime) -> Bool { control.stop(by: deadline) }
}
