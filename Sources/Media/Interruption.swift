import CFFmpeg
import Platform
import Synchronization

/// Bounds everything a source is waited for: each operation has a deadline, and another thread may cancel it at once.
///
/// libavformat asks between its own waits (AVIOInterruptCB), so a network source stops within about 100 ms. Calls on files are made by a thread of their
/// own (``BoundedFile``), and whoever waits for that one waits here. What neither reaches, such as the resolver of host names, is left to the
/// thread that made the call: its owner gives it up by ``deadline``.
public final class Interruption: Sendable {
    private let deadlineNanoseconds = Atomic<Int64>(.max / 2)
    private let isCancelled = Atomic<Bool>(false)
    /// How often there was something to look at: it is there to be waited on.
    private let changes = Monitor(UInt64(0))

    /// An interruption that has not happened.
    public init() {}

    /// Ends the operation under way and every later one with ``MediaError/Reason/cancelled``. From any thread.
    public func cancel() {
        changes.signal { count in
            isCancelled.store(true, ordering: .relaxed)
            count &+= 1
        }
    }

    /// Whether ``cancel()`` was called.
    public var cancelled: Bool { isCancelled.load(ordering: .relaxed) }

    /// When the operation under way has had its time; far in the future before the first.
    public var deadline: HostTime { HostTime(nanoseconds: deadlineNanoseconds.load(ordering: .relaxed)) }

    /// Gives the next operation so much time.
    func allow(_ time: MediaTime) { deadlineNanoseconds.store((HostTime.now + time).nanoseconds, ordering: .relaxed) }

    var isOver: Bool { cancelled || HostTime.now > deadline }

    /// Waits until `result` gives a value, which it is asked for again after each ``wake()``; nil once the operation is over. For the thread that owns the source.
    func wait<Result>(for result: () -> Result?) -> Result? {
        changes.wait(until: deadline) { _ -> Result?? in
            if let found = result() { return .some(found) }
            return cancelled ? .some(nil) : nil
        } ?? nil
    }

    /// Has ``wait(for:)`` look again. From any thread.
    func wake() { changes.signal { $0 &+= 1 } }

    /// The callback to set on an AVFormatContext; the context must not outlive this object.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { Unmanaged<Interruption>.fromOpaque($0!).takeUnretainedValue().isOver ? 1 : 0 },
            opaque: Unmanaged.passUnretained(self).toOpaque())
    }
}
