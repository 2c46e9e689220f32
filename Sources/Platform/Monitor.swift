import Glibc

/// State behind a lock that can be waited on: a mutex and a condition variable in one. The standard library's `Mutex` has no condition
/// variable.
///
/// The mutex inherits priority (PTHREAD_PRIO_INHERIT): a real-time thread that waits for it lends its priority to the holder. Deadlines are
/// on CLOCK_MONOTONIC, so setting the date neither shortens nor prolongs a wait.
package final class Monitor<State: ~Copyable>: @unchecked Sendable {
    // Sendable because `state` is touched only with `mutex` held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    /// Puts `state` behind a lock.
    package init(_ state: consuming sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        var mutexAttributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&mutexAttributes)
        pthread_mutexattr_setprotocol(&mutexAttributes, Int32(PTHREAD_PRIO_INHERIT))
        pthread_mutex_init(mutex, &mutexAttributes)
        pthread_mutexattr_destroy(&mutexAttributes)
        var conditionAttributes = pthread_condattr_t()
        pthread_condattr_init(&conditionAttributes)
        pthread_condattr_setclock(&conditionAttributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &conditionAttributes)
        pthread_condattr_destroy(&conditionAttributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
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

    /// Runs `body` with the lock held, then wakes all waiters. The corresponding C function is `pthread_cond_broadcast`.
    package func signal<Result: ~Copyable>(_ body: (inout State) -> sending Result) -> sending Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return body(&state)
    }

    /// Runs `body` with the lock held, again after each ``signal(_:)``, until it returns a value; nil once `deadline` has passed.
    package func wait<Result: ~Copyable>(until deadline: HostTime? = nil, _ body: (inout State) -> sending Result?) -> sending Result? {
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
