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
        // The value of SCHED_IDLE in linux/sched.h.
        #expect(policies.withLock { $0 } == [5, SCHED_OTHER])
    }

    /// Returns a thread whose creation fails with EAGAIN while `refuses` is true, as at a process limit.
    private static func thread(_ refuses: Switch, _ body: @escaping @Sendable () -> Void) -> Thread {
        Thread("late", by: { refuses.value ? EAGAIN : pthread_create($0, $1, $2, $3) }, body)
    }

    @Test func aThreadThatTheSystemDoesNotGiveIsTriedAgain() {
        let refuses = Switch(true)
        let hasRun = Monitor(false)
        let thread = Self.thread(refuses) { hasRun.signal { $0 = true } }
        #expect(!thread.hasBegun && Thread.anyWaits)
        Thread.startWaiting()
        #expect(!thread.hasBegun && !hasRun.withLock { $0 })
        refuses.value = false
        Thread.startWaiting()
        #expect(hasRun.wait(until: .now + .seconds(60)) { $0 ? true : nil } == true)
        #expect(thread.join(until: .now + .seconds(60)) && thread.hasBegun)
    }

    @Test func aThreadThatHasNotBegunEndsAtOnce() {
        let refuses = Switch(true)
        let hasRun = Monitor(false)
        let thread = Self.thread(refuses) { hasRun.signal { $0 = true } }
        #expect(thread.join(until: .now))
        #expect(thread.join(until: .now), "and again")
        refuses.value = false
        Thread.startWaiting()
        #expect(!thread.hasBegun && !hasRun.withLock { $0 })
    }

    /// Two threads wait for the end of a third.
    @Test func aThreadIsJoinedByAsManyAsLike() {
        let isOver = Monitor(false)
        let thread = Thread("joined") { _ = isOver.wait { $0 ? true : nil } }
        #expect(!thread.join(until: .now))
        let other = Thread("joins") { thread.join() }
        isOver.signal { $0 = true }
        thread.join()
        other.join()
        #expect(thread.join(until: .now))
    }

    @Test func whatWakesWithoutADescriptor() {
        let wakeUp = WakeUp(-1)
        #expect(!wakeUp.drain())
        wakeUp.wake()
        #expect(wakeUp.drain() && !wakeUp.drain())
        let begin = HostTime.now
        let isOver = Switch(false)
        let looks = Monitor(0)
        let thread = Thread("waits") {
            while !isOver.value {
                wakeUp.wait(until: begin + .seconds(600))
                looks.signal { $0 += 1 }
            }
        }
        _ = looks.wait { $0 > 2 ? true : nil }
        isOver.value = true
        wakeUp.wake()
        #expect(thread.join(until: .now + .seconds(60)))
        #expect(HostTime.now - begin < .seconds(300))
    }
}

/// A Boolean that several threads share.
private final class Switch: Sendable {
    private let state: Monitor<Bool>
    init(_ value: Bool) { state = Monitor(value) }
    var value: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
