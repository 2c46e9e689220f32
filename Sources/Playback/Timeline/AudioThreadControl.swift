import KioskPlatform
import Synchronization

/// The audio thread of an output, and the requests of other threads to it.
package final class AudioThreadControl: Sendable {
    package let wakeUp = WakeUp()
    private let interrupted = Atomic(false)
    private let stopped = Atomic(false)
    private let thread = Mutex<Thread?>(nil)

    /// SCHED_FIFO, above the decoders and the compositor, equal to the presenter: a period that comes too late is a click, but the card
    /// holds several periods.
    package static let realtimePriority: Int32 = 20

    /// What is asked for.
    package struct Request { package var interrupt: Bool }

    /// A thread that has not been started.
    package init() {}

    /// Runs `body` on the audio thread. Called once.
    package func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        thread.withLock {
            precondition($0 == nil, "an audio output is started once")
            $0 = Thread(name, realtimePriority: Self.realtimePriority, body)
        }
    }

    /// What has been asked for since the last call; nil once the thread is to end.
    package func nextRequest() -> Request? {
        if stopped.load(ordering: .acquiring) { return nil }
        return Request(interrupt: interrupted.exchange(false, ordering: .acquiringAndReleasing))
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
