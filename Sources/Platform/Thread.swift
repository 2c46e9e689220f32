import CKioskPlatform
import Glibc
import Logging
import Synchronization

/// A POSIX thread. All that has deadlines runs on these and not on the concurrency runtime's pool, whose hand-overs take milliseconds at
/// the 99.9th percentile.
///
/// The system may have no thread left: a limit of processes, or of memory. Then the thread waits. It is tried again with each other thread that is
/// started or ends, and with each ``startWaiting()``; the log says so. Who has made it notices nothing but that its body has not begun.
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
    /// What is to be run; let go of once it has, or never will.
    private let body: Mutex<(@Sendable () -> Void)?>
    private let state = Monitor(State())

    /// Starts a thread that runs `body`.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H`; the kernel keeps 15 characters.
    ///   - realtimePriority: a SCHED_FIFO priority (1…99) for this thread where the process may have one (RLIMIT_RTPRIO or
    ///     CAP_SYS_NICE); without the right, and with 0, it runs as SCHED_OTHER.
    ///
    /// The corresponding C function is `pthread_create`.
    package convenience init(_ name: String, realtimePriority: Int32 = 0, _ body: @escaping @Sendable () -> Void) {
        self.init(name, realtimePriority, by: pthread_create, body)
    }

    /// The same by another function than the system's.
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

    /// Asks the system for a thread; its errno, 0 where there is one.
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

    /// What the thread does.
    private func run() {
        if kiosk_thread_setup(name, realtimePriority) != 0 { _ = kiosk_thread_setup(name, 0) }
        // What it holds has been let go of before anybody knows of the end.
        do {
            let body = body.withLock { $0.take() }
            body?()
        }
        state.signal { $0.hasEnded = true }
        Self.startWaiting()
    }

    /// Waits until the thread's body has returned, but not beyond `deadline`: false when it had not by then. The thread goes on then, with
    /// all that its body holds; it may be joined again. One that has not begun never will, and counts as ended. The corresponding C function is
    /// `pthread_join`.
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

    /// Waits until the thread's body has returned, however long that takes: for tests, and for what cannot hang.
    package func join() { while !join(until: .now + .seconds(3600)) {} }

    /// Has the system free the thread's resources when its body returns; instead of ``join(until:)``. The corresponding C function is
    /// `pthread_detach`.
    package func detach() {
        state.withLock { state in
            if let id = state.id, !state.isDetached, !state.isJoined { pthread_detach(id) }
            state.isDetached = true
        }
    }

    // MARK: Where the system has none left

    private struct Waiting {
        var threads: [Thread] = []
        var complained: HostTime?
    }

    private static let waiting = Mutex(Waiting())
    private static let log = Logger(label: "threads")

    /// How often ``startWaiting()`` should be called while there are any that wait.
    package static let retryInterval = MediaTime.milliseconds(500)

    /// Whether the system has given it a thread.
    package var hasBegun: Bool { state.withLock { $0.id != nil } }

    /// Whether any waits.
    package static var anyWaits: Bool { waiting.withLock { !$0.threads.isEmpty } }

    /// Tries again to start those that wait, the oldest first.
    package static func startWaiting() {
        while let next = waiting.withLock({ $0.threads.isEmpty ? nil : $0.threads.removeFirst() }) {
            if next.begin() == 0 { continue }
            return waiting.withLock { $0.threads.insert(next, at: 0) }
        }
    }

    /// Gives up a thread that waits; false where it has begun.
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

    /// Says that there is no thread for `name`, once a minute.
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

    /// Has the calling thread, and those that it starts, run only where nothing else wants the processor or the disk: nice value 19, and the
    /// idle class of disk access. The corresponding C functions are `setpriority` and the system call `ioprio_set`.
    package static func giveWay() { kiosk_thread_give_way() }

    /// Has the calling thread, and those that it starts, come after all others, but not wait for them: 10 nice values above the caller's, a tenth
    /// of what one of them gets, and last in the queue of the disk. The same C functions.
    package static func comeSecond() { kiosk_thread_come_second() }

    /// Has the calling thread, and those that libraries start on it, run only when the processor is idle, and its disk, too (SCHED_IDLE,
    /// nice value 19): for work that is to be done at some time. The corresponding C function is `sched_setscheduler`.
    package static func runWhenIdle() {
        kiosk_thread_give_way()
        kiosk_thread_run_when_idle()
    }

    /// Has all threads that run when the processor is idle run as any other from now on, with nice value 0, where the process may (RLIMIT_NICE or
    /// CAP_SYS_NICE): somebody waits for their end. Even a thread that is killed needs the processor to be gone, and until then the process is not:
    /// on a busy box that took 13 s.
    package static func endIdling() { kiosk_process_leave_idle() }
}
