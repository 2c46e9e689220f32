import CKioskPlatform
import Glibc

/// A POSIX thread. All that has deadlines runs on these and not on the concurrency runtime's pool, whose hand-overs take milliseconds at
/// the 99.9th percentile.
package final class Thread: Sendable {
    private let id: pthread_t
    /// Whether its body has returned.
    private let hasEnded: Monitor<Bool>

    /// Starts a thread that runs `body`.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H`; the kernel keeps 15 characters.
    ///   - realtimePriority: a SCHED_FIFO priority (1…99) for this thread where the process may have one (RLIMIT_RTPRIO or
    ///     CAP_SYS_NICE); without the right, and with 0, it runs as SCHED_OTHER.
    ///
    /// Traps when the system has no thread left: nothing can be played then. The corresponding C function is `pthread_create`.
    package init(_ name: String, realtimePriority: Int32 = 0, _ body: @escaping @Sendable () -> Void) {
        let hasEnded = Monitor(false)
        self.hasEnded = hasEnded
        let start = Start {
            if kiosk_thread_setup(name, realtimePriority) != 0 { _ = kiosk_thread_setup(name, 0) }
            body()
            hasEnded.signal { $0 = true }
        }
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Start>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(start).toOpaque())
        precondition(status == 0, "pthread_create: errno \(status)")
        id = thread
    }

    /// Waits until the thread's body has returned; call once. The corresponding C function is `pthread_join`.
    package func join() { pthread_join(id, nil) }

    /// Waits until the thread's body has returned, but not beyond `deadline`: false when it had not by then. The thread goes on then, with
    /// all that its body holds; it may be joined again.
    package func join(until deadline: HostTime) -> Bool {
        guard hasEnded.wait(until: deadline, { $0 ? true : nil }) == true else { return false }
        join()
        return true
    }

    /// Has the system free the thread's resources when its body returns; instead of ``join()``. The corresponding C function is
    /// `pthread_detach`.
    package func detach() { pthread_detach(id) }

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

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
