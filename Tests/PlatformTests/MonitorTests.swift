import Glibc
import KioskPlatform
import Testing

@Suite struct MonitorTests {
    /// Each thread waits for the other's number ten thousand times. A lost wake-up would block both for ever.
    @Test func noWakeUpIsLost() {
        let turns = 10_000
        let monitor = Monitor(0, groups: 2)
        let threads = (0..<2).map { number in
            Thread("turn \(number)") {
                for turn in 0..<turns {
                    let mine = 2 * turn + number
                    _ = monitor.wait(as: Waiters(group: number)) { $0 == mine ? true : nil }
                    monitor.signal({ _ in Waiters(group: 1 - number) }) { $0 += 1 }
                }
            }
        }
        for thread in threads { #expect(thread.join(until: .now + .seconds(120))) }
        #expect(monitor.withLock { $0 } == 2 * turns)
    }

    /// Only the named one of two groups checks its condition again.
    @Test func onlyTheGroupThatIsNamedIsWoken() {
        let monitor = Monitor((looks: [0, 0], isOver: false), groups: 2)
        let threads = (0..<2).map { number in
            Thread("group \(number)") {
                _ = monitor.wait(as: Waiters(group: number)) { state -> Bool? in
                    state.looks[number] += 1
                    return state.isOver ? true : nil
                }
            }
        }
        func comesTo(_ looks: [Int]) -> Bool {
            for _ in 0..<12_000 where monitor.withLock({ $0.looks }) != looks { usleep(10_000) }
            return monitor.withLock { $0.looks } == looks
        }
        #expect(comesTo([1, 1]))
        monitor.signal({ _ in Waiters(group: 1) }) { _ in }
        #expect(comesTo([1, 2]))
        monitor.signal { $0.isOver = true }
        for thread in threads { #expect(thread.join(until: .now + .seconds(120))) }
        #expect(monitor.withLock { $0.looks } == [2, 3])
    }
}
