import CKioskFFmpeg
import KioskPlatform
import Synchronization

/// Bounds every wait for a source: each operation has a deadline, and another thread may cancel it at once.
///
/// libavformat calls back between its own waits (AVIOInterruptCB), so a network source stops within about 100 ms. Calls on files and of the
/// host name resolver block their thread without a callback. A waiting thread gives up at the deadline.
package final class Interruption: Sendable {
    private let deadlineNanoseconds = Atomic<Int64>(.max / 2)
    private let isCancelled = Atomic<Bool>(false)
    private let patience = Atomic<Int64>(1)
    /// Runs when an operation begins.
    private let beginning = Mutex<(@Sendable () -> Void)?>(nil)
    /// Runs on cancellation.
    private let reaction = Mutex<(@Sendable () -> Void)?>(nil)
    /// Receives calls that may not return.
    private let watch = Mutex<(@Sendable (Bool) -> Void)?>(nil)

    /// Creates an interruption without a cancellation or a deadline.
    package init() {}

    /// Ends the current operation and every later one with ``MediaError/Reason/cancelled``. From any thread.
    package func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        let reaction = reaction.withLock { $0.take() }
        reaction?()
    }

    /// Calls `body` once, on the thread that cancels; at once if already cancelled.
    package func whenCancelled(_ body: @escaping @Sendable () -> Void) {
        reaction.withLock { $0 = body }
        if cancelled {
            let reaction = reaction.withLock { $0.take() }
            reaction?()
        }
    }

    /// Whether ``cancel()`` was called.
    package var cancelled: Bool { isCancelled.load(ordering: .relaxed) }

    /// The deadline of the current operation; far in the future before the first one.
    package var deadline: HostTime { HostTime(nanoseconds: deadlineNanoseconds.load(ordering: .relaxed)) }

    /// Begins an operation with the time limit `time`.
    package func allow(_ time: MediaTime) {
        deadlineNanoseconds.store(limit(time).nanoseconds, ordering: .relaxed)
        beginning.withLock { $0 }?()
    }

    /// Calls `body` whenever an operation begins, on the thread that begins it.
    package func whenAllowed(_ body: @escaping @Sendable () -> Void) { beginning.withLock { $0 = body } }

    /// Calls `body` before and after each system call that reads from a file, and each wait for network data. On the thread that reads.
    package func whenReading(_ body: @escaping @Sendable (_ isReading: Bool) -> Void) { watch.withLock { $0 = body } }

    /// Runs a read that may take long.
    func reading<Result: ~Copyable>(_ body: () -> Result) -> Result {
        let watch = watch.withLock { $0 }
        watch?(true)
        defer { watch?(false) }
        return body()
    }

    /// Returns the deadline of an operation that begins now and may take `time`.
    func limit(_ time: MediaTime) -> HostTime { .now + time * patience.load(ordering: .relaxed) }

    /// Multiplies the time limits of all later operations: for a thread that runs only while the processor is idle.
    package func bePatient(_ times: Int64) { patience.store(times, ordering: .relaxed) }

    /// Whether the current operation was cancelled or reached its deadline.
    var isOver: Bool { cancelled || HostTime.now > deadline }

    /// The callback for an AVFormatContext, which must not outlive this object.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { Unmanaged<Interruption>.fromOpaque($0!).takeUnretainedValue().isOver ? 1 : 0 },
            opaque: Unmanaged.passUnretained(self).toOpaque())
    }
}
