import CKioskFFmpeg
import KioskPlatform
import Synchronization

/// Bounds every wait for a source: each operation has a deadline, and another thread may cancel it at once.
///
/// libavformat calls back between its own waits (AVIOInterruptCB), so a network source stops within about 100 ms. Calls that this does not reach, on
/// files and of the resolver of host names, block the thread that makes them: who waits for it waits no longer than it says.
package final class Interruption: Sendable {
    private let deadlineNanoseconds = Atomic<Int64>(.max / 2)
    private let isCancelled = Atomic<Bool>(false)
    private let patience = Atomic<Int64>(1)
    /// Called when an operation begins.
    private let beginning = Mutex<(@Sendable () -> Void)?>(nil)
    /// What is to be done once it is cancelled.
    private let reaction = Mutex<(@Sendable () -> Void)?>(nil)
    /// Told of calls that may not return.
    private let watch = Mutex<(@Sendable (Bool) -> Void)?>(nil)

    /// One that is not cancelled, and has no deadline yet.
    package init() {}

    /// Ends the present operation and every later one with ``MediaError/Reason/cancelled``. From any thread.
    package func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        let reaction = reaction.withLock { $0.take() }
        reaction?()
    }

    /// Calls `body` when it is cancelled, once, on the thread that cancels; at once where it is already.
    package func whenCancelled(_ body: @escaping @Sendable () -> Void) {
        reaction.withLock { $0 = body }
        if cancelled {
            let reaction = reaction.withLock { $0.take() }
            reaction?()
        }
    }

    /// Whether ``cancel()`` was called.
    package var cancelled: Bool { isCancelled.load(ordering: .relaxed) }

    /// When the time of the present operation is over; far in the future before the first.
    package var deadline: HostTime { HostTime(nanoseconds: deadlineNanoseconds.load(ordering: .relaxed)) }

    /// Begins an operation that may take `time`.
    package func allow(_ time: MediaTime) {
        deadlineNanoseconds.store(limit(time).nanoseconds, ordering: .relaxed)
        beginning.withLock { $0 }?()
    }

    /// Calls `body` whenever an operation begins, on the thread that begins it.
    package func whenAllowed(_ body: @escaping @Sendable () -> Void) { beginning.withLock { $0 = body } }

    /// Has `body` told before each call of the system that reads from a file, and after it; and of each wait for what comes over the network. On the
    /// thread that reads.
    package func whenReading(_ body: @escaping @Sendable (_ isReading: Bool) -> Void) { watch.withLock { $0 = body } }

    /// Reads, which may take its time.
    func reading<Result: ~Copyable>(_ body: () -> Result) -> Result {
        let watch = watch.withLock { $0 }
        watch?(true)
        defer { watch?(false) }
        return body()
    }

    /// When something that begins now and may take `time` is to be over.
    func limit(_ time: MediaTime) -> HostTime { .now + time * patience.load(ordering: .relaxed) }

    /// Has each operation from now on take so many times as long: for a thread that waits for the processor until nobody else wants it.
    package func bePatient(_ times: Int64) { patience.store(times, ordering: .relaxed) }

    /// Whether the present operation was cancelled or has had its time.
    var isOver: Bool { cancelled || HostTime.now > deadline }

    /// The callback to set on an AVFormatContext; the context must not outlive this object.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { Unmanaged<Interruption>.fromOpaque($0!).takeUnretainedValue().isOver ? 1 : 0 },
            opaque: Unmanaged.passUnretained(self).toOpaque())
    }
}
