import Foundation
import Testing

/// A trait for suites whose tests mostly wait, for a player in real time or for a process. A waiting test keeps its thread, and Swift's
/// concurrency has one thread per core. On two cores, two such tests would hold up all others, so they get threads of their own.
package struct BlockingTests: SuiteTrait, TestTrait, TestScoping {
    /// The number of threads: more would disturb one another on two cores.
    private static let threads = Threads(4)

    /// Applies to each test in a suite.
    package var isRecursive: Bool { true }

    /// Runs the test on those threads.
    package func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await withTaskExecutorPreference(Self.threads) { try await function() }
    }
}

extension Trait where Self == BlockingTests {
    /// See ``BlockingTests``.
    package static var blocking: Self { Self() }
}

/// Threads that take jobs in the order of their arrival.
private final class Threads: TaskExecutor, @unchecked Sendable {
    // Sendable because threads access `jobs` only with `changed` locked.
    private let changed = NSCondition()
    private var jobs: [UnownedJob] = []

    init(_ count: Int) {
        for _ in 0..<count {
            let thread = Thread { [unowned self] in run() }
            // A sanitizer's frames are larger.
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        changed.withLock { jobs.append(job) }
        changed.signal()
    }

    private func run() {
        while true {
            let job = changed.withLock {
                while jobs.isEmpty { changed.wait() }
                return jobs.removeFirst()
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
