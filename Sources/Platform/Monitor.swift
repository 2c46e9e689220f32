import CKioskPlatform
import Glibc

/// State behind a lock that threads can wait on: a mutex and condition variables in one. The standard library's `Mutex` has no condition
/// variable. glibc's condition variable costs one more system call at each wake-up: it re-acquires a priority-inheriting mutex in such a
/// way that the unlock needs the kernel. So a condition here is a number that grows with each wake-up, and futex(2) waits for that.
///
/// The mutex inherits priority (PTHREAD_PRIO_INHERIT): a real-time thread that waits for it lends its priority to the holder. Deadlines are
/// on CLOCK_MONOTONIC, so setting the date neither shortens nor prolongs a wait.
///
/// Threads are woken after the unlock: a thread woken earlier would find the lock taken, sleep, and be woken again. Threads that wait for
/// different conditions use different groups (``Waiters``). The thread that changes the state wakes only the groups with something to do.
package final class Monitor<State: ~Copyable>: @unchecked Sendable {
    // Sendable because `state` is used only with `mutex` held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// The wake counts of the groups, one for each bit of ``Waiters``. Changed with `mutex` held.
    private let wakes: UnsafeMutableBufferPointer<UInt32>
    /// The groups with unwoken waiters, as bits of ``Waiters``; used with `mutex` held.
    private var waiting = Waiters()
    private var state: State

    /// Puts `state` behind a lock, with so many groups of waiting threads.
    package init(_ state: consuming sending State, groups: Int = 1) {
        self.state = state
        mutex = .allocate(capacity: 1)
        wakes = .allocate(capacity: groups)
        wakes.initialize(repeating: 0)
        var mutexAttributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&mutexAttributes)
        pthread_mutexattr_setprotocol(&mutexAttributes, Int32(PTHREAD_PRIO_INHERIT))
        pthread_mutex_init(mutex, &mutexAttributes)
        pthread_mutexattr_destroy(&mutexAttributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        wakes.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` with the lock held.
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Runs `body` with the lock held, then wakes all waiting threads.
    package func signal<Result: ~Copyable>(_ body: (inout State) -> sending Result) -> sending Result {
        signal({ _ in .all }, body)
    }

    /// Runs `body` with the lock held, then wakes the groups that `waiters` returns for the resulting state.
    package func signal<Result: ~Copyable>(
        _ waiters: (borrowing State) -> Waiters, _ body: (inout State) -> sending Result
    ) -> sending Result {
        pthread_mutex_lock(mutex)
        var woken = Waiters()
        defer {
            pthread_mutex_unlock(mutex)
            for index in wakes.indices where woken.contains(Waiters(group: index)) { kiosk_futex_wake_all(wakes.baseAddress! + index) }
        }
        let result = body(&state)
        woken = waiting.intersection(waiters(state))
        if !woken.isEmpty {
            waiting.subtract(woken)
            for index in wakes.indices where woken.contains(Waiters(group: index)) { kiosk_futex_advance(wakes.baseAddress! + index) }
        }
        return result
    }

    /// Runs `body` with the lock held, and again after each ``signal(_:)`` that wakes this group, until it returns a value; returns nil
    /// once `deadline` has passed.
    package func wait<Result: ~Copyable>(
        as group: Waiters = Waiters(group: 0), until deadline: HostTime? = nil, _ body: (inout State) -> sending Result?
    ) -> sending Result? {
        let word = wakes.baseAddress! + group.rawValue.trailingZeroBitCount
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            if let deadline, deadline <= .now { return nil }
            let seen = kiosk_futex_value(word)
            waiting.insert(group)
            pthread_mutex_unlock(mutex)
            kiosk_futex_wait(word, seen, deadline.map { max(0, $0.nanoseconds) } ?? -1)
            pthread_mutex_lock(mutex)
        }
    }
}

/// Groups of threads that wait on a ``Monitor``.
package struct Waiters: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Makes the group of this number, counted from 0.
    package init(group: Int) { rawValue = 1 << group }

    package static let all = Waiters(rawValue: .max)
}
