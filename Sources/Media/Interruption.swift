import CFFmpeg
import Platform
import Synchronization

/// Bounds everything libavformat waits for: each operation has a deadline, and another thread may cancel it at once.
///
/// libavformat asks between its own waits (AVIOInterruptCB), so a network source stops within about 100 ms. A read(2) on a dead network
/// file system cannot be interrupted by anybody; it holds up its own thread and no other.
public final class Interruption: Sendable {
    private let deadline = Atomic<Int64>(.max)
    private let isCancelled = Atomic<Bool>(false)

    /// An interruption that has not happened.
    public init() {}

    /// Ends the operation under way and every later one with ``MediaError/Reason/cancelled``. From any thread.
    public func cancel() { isCancelled.store(true, ordering: .relaxed) }

    /// Whether ``cancel()`` was called.
    public var cancelled: Bool { isCancelled.load(ordering: .relaxed) }

    /// Gives the next operation so much time.
    func allow(_ time: MediaTime) { deadline.store((HostTime.now + time).nanoseconds, ordering: .relaxed) }

    var isOver: Bool { cancelled || HostTime.now.nanoseconds > deadline.load(ordering: .relaxed) }

    /// The callback to set on an AVFormatContext; the context must not outlive this object.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { Unmanaged<Interruption>.fromOpaque($0!).takeUnretainedValue().isOver ? 1 : 0 },
            opaque: Unmanaged.passUnretained(self).toOpaque())
    }
}
