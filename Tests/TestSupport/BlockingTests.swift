import Foundation
import Testing

/// For suites whose tests mostly wait: for a player that plays in real time, for a process. A test that waits keeps its thread, and Swift's
/// concurrency has one thread for each core: on two cores all the others would wait for two of these. So they get threads beside those.
package struct BlockingTests: SuiteTrait, TestTrait, TestScoping {
    /// More would disturb one another on two cores.
    private static let threads = Threads(4)

    /// For each test in a suite.
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

/// Some threads that take jobs in the order in which they come.
private final class Threads: TaskExecutor, @unchecked Sendable {
    // Sendable because `jobs` is touched with `changed` locked only.
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
