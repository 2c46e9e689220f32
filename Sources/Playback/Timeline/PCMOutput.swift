import KioskMedia
import KioskPlatform
import Synchronization

/// The source of an output's samples: the engine's sample queue. All calls come from the output's own audio thread and return at once.
package protocol AudioRenderer: AnyObject, Sendable {
    /// Fills `samples` (whole frames, uninitialised) with the sound to be heard next: silence during a pause or if nothing is ready.
    func render(into samples: UnsafeMutableBufferPointer<Float>)
    /// Returns whether the renderer can deliver this many frames without silence in place of samples that are still to come. If not, an
    /// output with enough buffered should wait for them.
    func isReady(frames: Int) -> Bool
    /// Takes back the last `frames` rendered frames, which will never be heard (dropped at an interruption, lost in an xrun). The renderer
    /// renders those that were not silence again. `frames` may be 0, if the card stood still meanwhile: the renderer must learn the card's
    /// position anew.
    func takeBack(frames: Int)
    /// Reports that at `time` the speaker played the frame that is `unheard` before the end of everything rendered so far.
    func report(unheard: Int, at time: HostTime)
}

/// A sound card, or a silent stand-in for one. The target Audio implements it.
///
/// An output renders all the time from ``start(_:)`` to ``stop()``, silence included. So its position always advances, and nothing is
/// opened or drained between items. Losing the card is not an error but a state: the output goes on in time by the monotonic clock, without
/// sound, and tries to get the card back.
package protocol PCMOutput: AnyObject, Sendable {
    /// The format that ``AudioRenderer/render(into:)`` must deliver. Constant.
    var format: AudioFormat { get }
    /// The output's name for log lines: `hw:1,0 S16_LE 48000 Hz stereo, buffer 85 ms`, or the reason for its silence.
    var name: String { get }
    /// The number of the card's underruns since the output was created. From any thread.
    var underruns: Int { get }
    /// Starts rendering on a thread of its own. Call it once.
    func start(_ renderer: any AudioRenderer)
    /// Drops everything rendered but not yet heard (with ``AudioRenderer/takeBack(frames:)``) and renders it anew, so that a pause or a
    /// seek is heard within one period. From any thread; returns at once.
    func interrupt()
    /// Makes the output go on in time without its card until a hanging call returns, because rendering is overdue
    /// (``AudioQueue/rendering``). From any thread, but with no lock held that a renderer may want; returns at once.
    func standIn()
    /// Stops rendering and closes the card. Waits for the end of the audio thread, at most until `deadline`. Returns false if the thread
    /// has not ended: a driver call hangs, and is left behind.
    func stop(by deadline: HostTime) -> Bool
}

extension PCMOutput {
    /// 0, for an output without a card.
    package var underruns: Int { 0 }
    /// Does nothing, for an output without a card: it makes no call that can hang.
    package func standIn() {}
    /// Stops rendering, and waits at most four seconds for it.
    package func stop() { _ = stop(by: .now + .seconds(4)) }
}

/// The audio thread of an output, and the requests of other threads to it.
package final class AudioThreadControl: Sendable {
    package let wakeUp = WakeUp()
    private let interrupted = Atomic(false)
    private let stopped = Atomic(false)
    private let thread = Mutex<Thread?>(nil)

    /// The real-time priority (SCHED_FIFO), above the decoders and the compositor, equal to the presenter. A late period is a click, but
    /// the card holds several periods.
    package static let realtimePriority: Int32 = 20

    /// Creates a thread control without starting the thread.
    package init() {}

    /// Runs `body` on the audio thread. Call it once.
    package func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        thread.withLock {
            precondition($0 == nil, "an audio output is started once")
            $0 = Thread(name, realtimePriority: Self.realtimePriority, body)
        }
    }

    /// Returns whether another thread has requested an interruption since the last call; nil once the thread has to end.
    package func nextRequest() -> Bool? {
        stopped.load(ordering: .acquiring) ? nil : interrupted.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Makes the audio thread take back everything not yet heard. From any thread.
    package func interrupt() {
        interrupted.store(true, ordering: .releasing)
        wakeUp.wake()
    }

    /// Stops the audio thread and waits for it, at most until `deadline`. Returns false if it has not ended by then. From any other thread.
    package func stop(by deadline: HostTime) -> Bool {
        stopped.store(true, ordering: .releasing)
        wakeUp.wake()
        return thread.withLock { $0.take() }?.join(until: deadline) ?? true
    }
}
