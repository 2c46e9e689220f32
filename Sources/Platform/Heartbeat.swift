import Synchronization

/// Shows that a thread is alive, for who watches over it: each piece of work that it begins, and each time that it has nothing to do, is another
/// beat. A thread that hangs in a call has no beat more, and was at work at its last one.
///
/// A beat is one store into memory: the thread makes no system call for it and reads no clock. How long a beat has stood is for the watcher to
/// count. One thread at a time has beats.
package final class Heartbeat: Sendable {
    /// Odd while the thread is at work.
    private let count = Atomic<UInt64>(0)

    /// What a watcher sees.
    package struct Beat: Hashable, Sendable {
        /// Another number with each beat.
        package var count: UInt64
        /// Whether the thread has begun something and is not done with it.
        package var isAtWork: Bool

        /// A beat from its parts.
        package init(count: UInt64, isAtWork: Bool) { (self.count, self.isAtWork) = (count, isAtWork) }
    }

    /// One of a thread that has nothing to do.
    package init() {}

    /// The thread begins something.
    package func work() { count.store((count.load(ordering: .relaxed) &+ 2) | 1, ordering: .relaxed) }

    /// The thread waits for something to do.
    package func rest() { count.store((count.load(ordering: .relaxed) &+ 2) & ~1, ordering: .relaxed) }

    /// The last beat. From any thread.
    package var last: Beat {
        let count = count.load(ordering: .relaxed)
        return Beat(count: count, isAtWork: count & 1 == 1)
    }
}
