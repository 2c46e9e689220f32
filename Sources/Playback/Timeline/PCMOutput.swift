import KioskMedia
import KioskPlatform
import Synchronization

/// What feeds an output: the engine's sample queue. All calls come from the output's own audio thread and return at once.
package protocol AudioRenderer: AnyObject, Sendable {
    /// Fills `samples` (whole frames, uninitialised) with what is to be heard next; silence when paused or when nothing is ready.
    func render(into samples: UnsafeMutableBufferPointer<Float>)
    /// Whether so many frames can be rendered without silence in place of samples that are still to come. An output that has enough in hand
    /// does better to wait for them.
    func isReady(frames: Int) -> Bool
    /// The last `frames` rendered frames will never be heard (dropped at an interruption, lost in an xrun); those that were not
    /// silence will be rendered again. Also said of none, when the card stood still meanwhile: where it is has to be learned anew.
    func takeBack(frames: Int)
    /// At `time` the frame that is `unheard` before the end of everything rendered so far was at the speaker.
    func report(unheard: Int, at time: HostTime)
}

/// A sound card, or the silence that stands in for one. Audio implements it.
///
/// An output renders all the time from ``start(_:)`` to ``stop()``, silence included, so that its position always advances and nothing is
/// opened or drained between items. Losing the card is not an error but a state: the output goes on in time by the monotonic clock, without
/// sound, and works at getting the card back.
package protocol PCMOutput: AnyObject, Sendable {
    /// What ``AudioRenderer/render(into:)`` must deliver. Constant.
    var format: AudioFormat { get }
    /// What it plays to, for log lines: `hw:1,0 S16_LE 48000 Hz stereo, buffer 85 ms` or why it is silent.
    var name: String { get }
    /// How often the card ran dry since the output was made. From any thread.
    var underruns: Int { get }
    /// Begins to render, on a thread of its own. Called once.
    func start(_ renderer: any AudioRenderer)
    /// Drops everything that was rendered and has not been heard (with ``AudioRenderer/takeBack(frames:)``) and renders anew, so that a
    /// pause or a seek is heard within one period. From any thread; returns at once.
    func interrupt()
    /// Nothing has been rendered although it was due (``AudioQueue/Rendering``): the output goes on in time without its card until the call that
    /// hangs has returned. From any thread, with no lock held that a renderer may want; returns at once.
    func standIn()
    /// Ends the rendering and closes the card. Waits until the audio thread has ended, at most until `deadline`; false where it has not: a call
    /// into a driver hangs, and is left behind.
    func stop(by deadline: HostTime) -> Bool
}

extension PCMOutput {
    /// What plays to no card does not run dry.
    package var underruns: Int { 0 }
    /// What plays to no card calls nothing that can hang.
    package func standIn() {}
    /// Ends the rendering, within four seconds or not at all.
    package func stop() { _ = stop(by: .now + .seconds(4)) }
}

/// The audio thread of an output, and the requests of other threads to it.
package final class AudioThreadControl: Sendable {
    package let wakeUp = WakeUp()
    private let interrupted = Atomic(false)
    private let stopped = Atomic(false)
    private let thread = Mutex<Thread?>(nil)

    /// SCHED_FIFO, above the decoders and the compositor, equal to the presenter: a period that comes too late is a click, but the card
    /// holds several periods.
    package static let realtimePriority: Int32 = 20

    /// A thread that has not been started.
    package init() {}

    /// Runs `body` on the audio thread. Called once.
    package func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        thread.withLock {
            precondition($0 == nil, "an audio output is started once")
            $0 = Thread(name, realtimePriority: Self.realtimePriority, body)
        }
    }

    /// Whether it was to take back what was not heard since the last call; nil once the thread is to end.
    package func nextRequest() -> Bool? {
        stopped.load(ordering: .acquiring) ? nil : interrupted.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Has the audio thread take back what was not heard. From any thread.
    package func interrupt() {
        interrupted.store(true, ordering: .releasing)
        wakeUp.wake()
    }

    /// Ends the audio thread and waits for it, at most until `deadline`; false where it had not ended by then. From any other thread.
    package func stop(by deadline: HostTime) -> Bool {
        stopped.store(true, ordering: .releasing)
        wakeUp.wake()
        return thread.withLock { $0.take() }?.join(until: deadline) ?? true
    }
}
