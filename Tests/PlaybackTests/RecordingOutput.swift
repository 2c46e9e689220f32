import KioskMedia
import KioskPlatform
import KioskPlayback
import Synchronization

/// A sound card with a buffer, mono unless it is told otherwise, in real time: renders ahead like ALSA, takes back what was not heard at an interruption, and keeps
/// every sample that was or will be heard.
final class RecordingOutput: PCMOutput {
    private struct State {
        var samples: [Float] = []
        var isInterrupted = false
        var interruptions = 0
        var isStopping = false
    }

    let format: AudioFormat
    let name = "recording"
    private let state = Monitor(State())
    private let thread = Mutex<Thread?>(nil)
    /// Frames rendered at a time.
    static let period = 480
    /// Frames rendered ahead of what is heard.
    private static let buffer = 4800

    init(channelCount: Int = 1) { format = AudioFormat(sampleRate: 48_000, channelCount: channelCount) }

    /// Everything rendered and not taken back.
    var samples: [Float] { state.withLock { $0.samples } }

    /// How many of them are not silence.
    var loudSamples: Int { state.withLock { $0.samples.count { $0 != 0 } } }

    /// How often it was interrupted.
    var interruptions: Int { state.withLock { $0.interruptions } }

    /// The same without the silence of a starved machine that had nothing to render: that lasts to the end of a period (they are counted
    /// from the last one, since what is taken back is no whole ones), and what follows is only later. Any other silence is on the
    /// timeline.
    var samplesWithoutStarvation: [Float] {
        let samples = samples
        var kept: [Float] = []
        for index in samples.indices {
            if samples[index] != 0, (samples.count - index) % Self.period == 0 {
                kept.removeLast(kept.reversed().prefix { $0 == 0 }.count)
            }
            kept.append(samples[index])
        }
        return kept
    }

    func start(_ renderer: any AudioRenderer) {
        let (state, rate, channels) = (state, Int64(format.sampleRate), format.channelCount)
        thread.withLock {
            $0 = Thread("audio") {
                let begin = HostTime.now
                var rendered = 0
                let period = UnsafeMutableBufferPointer<Float>.allocate(capacity: Self.period * channels)
                defer { period.deallocate() }
                while true {
                    let (isStopping, isInterrupted) = state.withLock { state in
                        defer { state.isInterrupted = false }
                        return (state.isStopping, state.isInterrupted)
                    }
                    if isStopping { return }
                    func heard(_ time: HostTime) -> Int { Int((time - begin).nanoseconds * rate / 1_000_000_000) }
                    let unheard = rendered - heard(.now)
                    if isInterrupted, unheard > 0 {
                        renderer.takeBack(frames: unheard)
                        rendered -= unheard
                        state.withLock { $0.samples.removeLast(unheard * channels) }
                    }
                    while rendered - heard(.now) < Self.buffer {
                        renderer.render(into: period)
                        rendered += Self.period
                        state.withLock { $0.samples += period }
                    }
                    let now = HostTime.now
                    renderer.report(unheard: max(0, rendered - heard(now)), at: now)
                    _ = state.wait(until: now + .milliseconds(10)) { $0.isInterrupted || $0.isStopping ? true : nil }
                }
            }
        }
    }

    func interrupt() {
        state.signal { state in
            state.isInterrupted = true
            state.interruptions += 1
        }
    }

    func stop(by deadline: HostTime) -> Bool {
        state.signal { $0.isStopping = true }
        return thread.withLock { $0.take() }?.join(until: deadline) ?? true
    }
}
