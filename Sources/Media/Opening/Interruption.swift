import CKioskFFmpeg
import KioskPlatform
import Synchronization

/// Bounds every wait for a source: each operation has a deadline, and another thread may cancel it at once.
///
/// libavformat calls back between its own waits (AVIOInterruptCB), so a network source stops within about 100 ms. Calls on files are made
/// by a worker thread (``BoundedFile``), and the reading thread waits for it here. Calls that neither reaches, such as the resolver of host
/// names, block the thread that made them: its owner abandons that thread at ``deadline``.
package final class Interruption: Sendable {
    private let deadlineNanoseconds = Atomic<Int64>(.max / 2)
    private let isCancelled = Atomic<Bool>(false)
    private let patience = Atomic<Int64>(1)
    /// Called when an operation begins.
    private let beginning = Mutex<(@Sendable () -> Void)?>(nil)
    /// What is to be done once it is cancelled.
    private let reaction = Mutex<(@Sendable () -> Void)?>(nil)
    /// Counts calls of ``wake()`` and ``cancel()``. The value is not used; ``wait(for:)`` waits on its monitor.
    private let changes = Monitor(UInt64(0))

    /// One that is not cancelled, and has no deadline yet.
    package init() {}

    /// Ends the present operation and every later one with ``MediaError/Reason/cancelled``. From any thread.
    package func cancel() {
        changes.signal { count in
            isCancelled.store(true, ordering: .relaxed)
            count &+= 1
        }
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

    /// When something that begins now and may take `time` is to be over.
    func limit(_ time: MediaTime) -> HostTime { .now + time * patience.load(ordering: .relaxed) }

    /// Has each operation from now on take so many times as long: for a thread that waits for the processor until nobody else wants it.
    package func bePatient(_ times: Int64) { patience.store(times, ordering: .relaxed) }

    /// Whether the present operation was cancelled or has had its time.
    var isOver: Bool { cancelled || HostTime.now > deadline }

    /// Waits until `result` returns a value; it is called again after each ``wake()``. Nil once the operation is over. For the thread that
    /// owns the source.
    func wait<Result>(for result: () -> Result?) -> Result? {
        changes.wait(until: deadline) { _ -> Result?? in
            if let found = result() { return .some(found) }
            return cancelled ? .some(nil) : nil
        } ?? nil
    }

    /// Has ``wait(for:)`` call its `result` again. From any thread.
    func wake() { changes.signal { $0 &+= 1 } }

    /// The callback to set on an AVFormatContext; the context must not outlive this object.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { Unmanaged<Interruption>.fromOpaque($0!).takeUnretainedValue().isOver ? 1 : 0 },
            opaque: Unmanaged.passUnretained(self).toOpaque())
    }
}
