import Glibc

/// State behind a lock that can be waited on: a mutex and a condition variable in one. The standard library's `Mutex` has no condition
/// variable.
///
/// The mutex inherits priority (PTHREAD_PRIO_INHERIT): a real-time thread that waits for it lends its priority to the holder. Deadlines are
/// on CLOCK_MONOTONIC, so setting the date neither shortens nor prolongs a wait.
///
/// Threads are woken after the lock has been given back: one that is woken before finds the lock taken, and sleeps and is woken a second
/// time. Threads that wait for different things wait on conditions of their own (``Waiters``), and who changes the state wakes those only
/// that have something to do.
package final class Monitor<State: ~Copyable>: @unchecked Sendable {
    // Sendable because `state` is touched only with `mutex` held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// One for each bit of ``Waiters``.
    private let conditions: UnsafeMutableBufferPointer<pthread_cond_t>
    private var state: State

    /// Puts `state` behind a lock, on which threads wait in so many groups.
    package init(_ state: consuming sending State, groups: Int = 1) {
        self.state = state
        mutex = .allocate(capacity: 1)
        conditions = .allocate(capacity: groups)
        var mutexAttributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&mutexAttributes)
        pthread_mutexattr_setprotocol(&mutexAttributes, Int32(PTHREAD_PRIO_INHERIT))
        pthread_mutex_init(mutex, &mutexAttributes)
        pthread_mutexattr_destroy(&mutexAttributes)
        var conditionAttributes = pthread_condattr_t()
        pthread_condattr_init(&conditionAttributes)
        pthread_condattr_setclock(&conditionAttributes, CLOCK_MONOTONIC)
        for index in 0..<groups { pthread_cond_init(conditions.baseAddress! + index, &conditionAttributes) }
        pthread_condattr_destroy(&conditionAttributes)
    }

    deinit {
        for index in conditions.indices { pthread_cond_destroy(conditions.baseAddress! + index) }
        pthread_mutex_destroy(mutex)
        conditions.deallocate()
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

    /// Runs `body` with the lock held, then wakes all who wait. The corresponding C function is `pthread_cond_broadcast`.
    package func signal<Result: ~Copyable>(_ body: (inout State) -> sending Result) -> sending Result {
        defer { wake(.all) }
        return withLock(body)
    }

    /// Runs `body` with the lock held, then wakes those of whom `waiters` says that they have something to do in what the state is then.
    package func signal<Result: ~Copyable>(
        _ waiters: (borrowing State) -> Waiters, _ body: (inout State) -> sending Result
    ) -> sending Result {
        pthread_mutex_lock(mutex)
        var woken = Waiters()
        defer {
            pthread_mutex_unlock(mutex)
            wake(woken)
        }
        let result = body(&state)
        woken = waiters(state)
        return result
    }

    private func wake(_ waiters: Waiters) {
        for index in conditions.indices where waiters.contains(Waiters(group: index)) {
            pthread_cond_broadcast(conditions.baseAddress! + index)
        }
    }

    /// Runs `body` with the lock held, again after each ``signal(_:)`` and each that wakes this group, until it returns a value; nil once
    /// `deadline` has passed.
    package func wait<Result: ~Copyable>(
        as group: Waiters = Waiters(group: 0), until deadline: HostTime? = nil, _ body: (inout State) -> sending Result?
    ) -> sending Result? {
        let condition = conditions.baseAddress! + group.rawValue.trailingZeroBitCount
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            guard let deadline else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var time = deadline.timespec
            if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return body(&state) }
        }
    }
}

/// Groups of threads that wait on a ``Monitor``.
package struct Waiters: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The group of this number, counted from 0.
    package init(group: Int) { rawValue = 1 << group }

    package static let all = Waiters(rawValue: .max)
}
