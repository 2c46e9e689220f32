import Media
import Platform
import Playback
import Synchronization

/// Renders in real time by the monotonic clock and plays nothing: `[audio] device = "off"`.
public final class SilentOutput: AudioOutput {
    /// What is rendered. Constant.
    public let format: AudioFormat
    /// Why it is silent.
    public let name: String
    private let control = AudioThreadControl()

    /// Frames rendered at a time, as a fraction of a second.
    static let periodsPerSecond = 100

    /// An output of `format` that is silent for `reason`, which becomes its name.
    public init(format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2), reason: String = "silent: turned off") {
        self.format = format
        name = reason
    }

    /// Begins to render, on a thread of its own. Called once.
    public func start(_ renderer: any AudioRenderer) {
        let (control, format) = (control, format)
        control.start("audio") {
            var silence = Silence(format: format, start: .now)
            while let request = control.nextRequest() {
                if request.interrupt { silence.interrupt(renderer) }
                control.wakeUp.wait(until: silence.render(renderer))
            }
        }
    }

    /// Takes back what is not due yet; at most a period.
    public func interrupt() { control.interrupt() }

    /// Ends the rendering.
    public func stop() { control.stop() }
}

/// Renders what nobody hears, at the pace of a ``SilentClock``: all of ``SilentOutput``, and ``ALSAOutput`` while it has no card.
struct Silence: ~Copyable {
    private var clock: SilentClock
    private let samples: UnsafeMutableBufferPointer<Float>

    /// Silence on which the next frame is due at `start`.
    init(format: AudioFormat, start: HostTime) {
        let period = max(1, format.sampleRate / SilentOutput.periodsPerSecond)
        clock = SilentClock(sampleRate: format.sampleRate, period: period, start: start)
        samples = .allocate(capacity: period * format.channelCount)
    }

    deinit { samples.deallocate() }

    /// Renders what is due, and returns when to be called next.
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

/// What an output's other threads say to its audio thread.
final class AudioThreadControl: Sendable {
    let wakeUp = WakeUp()
    private let interrupted = Atomic(false)
    private let stopped = Atomic(false)
    private let thread = Mutex<Thread?>(nil)

    /// Above the decoders and the compositor, level with the presenter: a late picture is a repeated frame, a late period is a click, but the card
    /// holds several periods.
    static let realtimePriority: Int32 = 20

    struct Request { var interrupt: Bool }

    func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        thread.withLock {
            precondition($0 == nil, "an audio output is started once")
            $0 = Thread(name, realtimePriority: Self.realtimePriority, body)
        }
    }

    /// What has been asked for since the last call; nil once the thread is to end.
    func nextRequest() -> Request? {
        if stopped.load(ordering: .acquiring) { return nil }
        return Request(interrupt: interrupted.exchange(false, ordering: .acquiringAndReleasing))
    }

    func interrupt() {
        interrupted.store(true, ordering: .releasing)
        wakeUp.wake()
    }

    func stop() {
        stopped.store(true, ordering: .releasing)
        wakeUp.wake()
        let thread = thread.withLock { $0.take() }
        thread?.join()
    }
}
