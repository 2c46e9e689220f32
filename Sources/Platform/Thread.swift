import CKioskPlatform
import Glibc
import Logging
import Synchronization

/// A POSIX thread. All code with deadlines runs on these and not on the concurrency runtime's pool, whose hand-overs take milliseconds at
/// the 99.9th percentile.
///
/// The system may have no thread left, for want of processes or memory. Then the thread waits, and the log says so. kiosk retries whenever
/// another thread starts or ends, and with each ``startWaiting()``. Its creator sees only that its body has not begun.
package final class Thread: Sendable {
    private struct State {
        /// nil while it waits.
        var id: pthread_t?
        var hasEnded = false, isCancelled = false
        var isDetached = false, isJoined = false
    }

    private let name: String
    private let realtimePriority: Int32
    private let create: Creation
    /// The body; released once it has run, or if it never will.
    private let body: Mutex<(@Sendable () -> Void)?>
    private let state = Monitor(State())

    /// Starts a thread that runs `body`.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H`; the kernel keeps 15 characters.
    ///   - realtimePriority: a SCHED_FIFO priority (1…99), if the process may have one (RLIMIT_RTPRIO or CAP_SYS_NICE). Without the right,
    ///     and with 0, the thread runs as SCHED_OTHER.
    ///
    /// The corresponding C function is `pthread_create`.
    package convenience init(_ name: String, realtimePriority: Int32 = 0, _ body: @escaping @Sendable () -> Void) {
        self.init(name, realtimePriority, by: pthread_create, body)
    }

    /// Likewise, with a replacement for the system's function.
    init(_ name: String, _ realtimePriority: Int32 = 0, by create: @escaping Creation, _ body: @escaping @Sendable () -> Void) {
        (self.name, self.realtimePriority, self.create) = (name, realtimePriority, create)
        self.body = Mutex(body)
        Self.startWaiting()
        let isFirst = Self.waiting.withLock(\.threads.isEmpty)
        if isFirst, begin() == 0 { return }
        Self.waiting.withLock { $0.threads.append(self) }
        Self.complain(name)
    }

    /// The type of `pthread_create`.
    typealias Creation =
        @Sendable (
            UnsafeMutablePointer<pthread_t>, UnsafePointer<pthread_attr_t>?,
            @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?,
            UnsafeMutableRawPointer?
        ) -> Int32

    /// Asks the system for a thread; returns 0 or the errno.
    private func begin() -> Int32 {
        state.withLock { state in
            var thread = pthread_t()
            let retained = Unmanaged.passRetained(self)
            let status = create(
                &thread, nil,
                { context in
                    Unmanaged<Thread>.fromOpaque(context!).takeRetainedValue().run()
                    return nil
                }, retained.toOpaque())
            if status != 0 {
                retained.release()
                return status
            }
            state.id = thread
            if state.isDetached { pthread_detach(thread) }
            return 0
        }
    }

    /// Runs the body on the new thread.
    private func run() {
        if kiosk_thread_setup(name, realtimePriority) != 0 { _ = kiosk_thread_setup(name, 0) }
        // Releases everything that the body holds before anybody sees the end.
        do {
            let body = body.withLock { $0.take() }
            body?()
        }
        state.signal { $0.hasEnded = true }
        Self.startWaiting()
    }

    /// Waits until the thread's body has returned, at most until `deadline`; returns false after that. The thread then continues, and can
    /// be joined again. A thread that has not begun is cancelled, and counts as ended. The corresponding C function is `pthread_join`.
    package func join(until deadline: HostTime) -> Bool {
        if cancel() { return true }
        guard let ended = state.wait(until: deadline, { $0.isCancelled ? .some(nil) : $0.hasEnded ? .some($0.id) : nil }) else {
            return false
        }
        guard let id = ended else { return true }
        let isFirst = state.withLock { state in
            defer { state.isJoined = true }
            return !state.isJoined && !state.isDetached
        }
        if isFirst { pthread_join(id, nil) }
        return true
    }

    /// Waits without a limit until the thread's body has returned: for tests, and for threads that cannot hang.
    package func join() { while !join(until: .now + .seconds(3600)) {} }

    /// Has the system free the thread's resources when its body returns; use it instead of ``join(until:)``. The corresponding C function
    /// is `pthread_detach`.
    /// `pthread_detach`.
    package func detach() {
        state.withLock { state in
            if let id = state.id, !state.isDetached, !state.isJoined { pthread_detach(id) }
            state.isDetached = true
        }
    }

    // MARK: When the system has no thread left

    private struct Waiting {
        var threads: [Thread] = []
        var complained: HostTime?
    }

    private static let waiting = Mutex(Waiting())
    private static let log = Logger(label: "threads")

    /// How often to call ``startWaiting()`` while threads wait.
    package static let retryInterval = MediaTime.milliseconds(500)

    /// Whether the thread has started.
    package var hasBegun: Bool { state.withLock { $0.id != nil } }

    /// Whether a thread waits.
    package static var anyWaits: Bool { waiting.withLock { !$0.threads.isEmpty } }

    /// Retries the start of waiting threads, the oldest first.
    package static func startWaiting() {
        while let next = waiting.withLock({ $0.threads.isEmpty ? nil : $0.threads.removeFirst() }) {
            if next.begin() == 0 { continue }
            return waiting.withLock { $0.threads.insert(next, at: 0) }
        }
    }

    /// Cancels a waiting thread; false if it has begun.
    package func cancel() -> Bool {
        let isCancelled = Self.waiting.withLock { waiting in
            guard let index = waiting.threads.firstIndex(where: { $0 === self }) else { return false }
            waiting.threads.remove(at: index)
            return true
        }
        if isCancelled {
            state.signal { $0.isCancelled = true }
            body.withLock { $0 = nil }
        }
        return isCancelled
    }

    /// Logs that there is no thread for `name`, at most once a minute.
    private static func complain(_ name: String) {
        let isDue = waiting.withLock { waiting in
            let now = HostTime.now
            if let last = waiting.complained, now - last < .seconds(60) { return false }
            waiting.complained = now
            return true
        }
        guard isDue else { return }
        log.error(
            """
            the system starts no further thread (for \(name)): raise the limit of processes (TasksMax= of the unit, ulimit -u), or free \
            memory. kiosk tries again
            """)
    }

    /// Gives the calling thread, and those that it starts, the lowest priority: nice value 19, and the idle class of disk access. The
    /// corresponding C functions are `setpriority` and the system call `ioprio_set`.
    package static func giveWay() { kiosk_thread_give_way() }

    /// Gives the calling thread, and those that it starts, a low priority, but a share: 10 nice values above the caller's, which is a tenth
    /// of an ordinary thread's time, and the end of the disk's queue. The same C functions.
    package static func comeSecond() { kiosk_thread_come_second() }

    /// Lets the calling thread, and those that libraries start on it, run only while the processor and its disk are idle (SCHED_IDLE, nice
    /// value 19): for work without a deadline. The corresponding C function is `sched_setscheduler`.
    package static func runWhenIdle() {
        kiosk_thread_give_way()
        kiosk_thread_run_when_idle()
    }

    /// Ends the idle policy of all threads: they run like any other, with nice value 0, if the process may (RLIMIT_NICE or CAP_SYS_NICE).
    /// Use it when somebody waits for their end. Even a killed thread needs the processor to exit, and the process stays until then: 13 s
    /// on a busy machine.
    package static func endIdling() { kiosk_process_leave_idle() }
}
