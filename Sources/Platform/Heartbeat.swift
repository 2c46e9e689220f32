import Synchronization

/// Shows a watcher that a thread is alive. Each piece of work that the thread begins, and each time that it becomes idle, is a new beat. A
/// thread that hangs in a call has no further beat, and was at work at its last one.
///
/// A beat is one store into memory, without a system call or a look at the clock. The watcher measures how long a beat lasts. Only one
/// thread at a time may beat.
package final class Heartbeat: Sendable {
    /// Odd while the thread is at work.
    private let count = Atomic<UInt64>(0)

    /// A beat as a watcher sees it.
    package struct Beat: Hashable, Sendable {
        /// A number that changes with each beat.
        package var count: UInt64
        /// Whether the thread has begun a piece of work and not finished it.
        package var isAtWork: Bool

        /// Makes a beat of its parts.
        package init(count: UInt64, isAtWork: Bool) { (self.count, self.isAtWork) = (count, isAtWork) }
    }

    /// Makes the heartbeat of an idle thread.
    package init() {}

    /// Notes that the thread begins a piece of work.
    package func work() { count.store((count.load(ordering: .relaxed) &+ 2) | 1, ordering: .relaxed) }

    /// Notes that the thread is idle.
    package func rest() { count.store((count.load(ordering: .relaxed) &+ 2) & ~1, ordering: .relaxed) }

    /// The last beat. From any thread.
    package var last: Beat {
        let count = count.load(ordering: .relaxed)
        return Beat(count: count, isAtWork: count & 1 == 1)
    }
}
