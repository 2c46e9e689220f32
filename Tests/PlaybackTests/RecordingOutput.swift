import KioskMedia
import KioskPlatform
import KioskPlayback
import Synchronization

/// A sound card with a buffer in real time, mono by default. It renders ahead like ALSA, and takes back the unheard frames at an
/// interruption. It keeps every sample that was or will be heard.
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

    /// The number of samples that are not silence.
    var loudSamples: Int { state.withLock { $0.samples.count { $0 != 0 } } }

    /// The number of interruptions.
    var interruptions: Int { state.withLock { $0.interruptions } }

    /// The samples without the silence of a starved machine, which had nothing to render. Such silence lasts to the end of a period, and
    /// the rest only comes later. Periods are counted from the last one, since the card does not take back whole periods. Any other silence
    /// is on the timeline.
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
