import Glibc
import Testing

@testable import KioskPlatform

@Suite struct ThreadTests {
    @Test(.enabled(if: geteuid() == 0, "only root may take a thread out of SCHED_IDLE"))
    func whatRunsWhenIdleDoesNotWhenTheProcessEnds() {
        let policies = Monitor<[Int32]>([])
        let isOver = Monitor(false)
        let thread = Thread("idle") {
            Thread.runWhenIdle()
            policies.signal { $0.append(sched_getscheduler(0)) }
            _ = isOver.wait { $0 ? true : nil }
            policies.signal { $0.append(sched_getscheduler(0)) }
        }
        _ = policies.wait { $0.isEmpty ? nil : true }
        Thread.endIdling()
        isOver.signal { $0 = true }
        thread.join()
        // SCHED_IDLE of linux/sched.h.
        #expect(policies.withLock { $0 } == [5, SCHED_OTHER])
    }
}
