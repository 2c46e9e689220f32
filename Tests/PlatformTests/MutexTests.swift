import Glibc
import KioskPlatform
import Synchronization
import Testing

@Suite struct MutexTests {
    private final class Counter: Sendable {
        let count = Mutex(0)
    }

    /// Under ThreadSanitizer: that it knows what a contended Mutex puts in order (CTestSupport); where it does not, any test that uses one
    /// may fail.
    @Test func aContendedMutexPutsInOrderWhatItGuards() {
        let counter = Counter()
        let threads = (1...4).map { number in
            Thread("counter \(number)") {
                for _ in 0..<20 {
                    counter.count.withLock {
                        $0 += 1
                        // The others come to wait for it.
                        usleep(500)
                    }
                }
            }
        }
        threads.forEach { $0.join() }
        #expect(counter.count.withLock { $0 } == 80)
    }
}
