import Glibc
import KioskPlatform
import Synchronization
import Testing

@Suite struct MutexTests {
    private final class Counter: Sendable {
        let count = Mutex(0)
    }

    /// Shows under ThreadSanitizer that it knows the order that a contended Mutex enforces (CTestSupport).
    /// Otherwise any test that uses a Mutex may fail.
    @Test func aContendedMutexPutsInOrderWhatItGuards() {
        let counter = Counter()
        let threads = (1...4).map { number in
            Thread("counter \(number)") {
                for _ in 0..<20 {
                    counter.count.withLock {
                        $0 += 1
                        // Let the other threads block on the mutex.
                        usleep(500)
                    }
                }
            }
        }
        threads.forEach { $0.join() }
        #expect(counter.count.withLock { $0 } == 80)
    }
}
