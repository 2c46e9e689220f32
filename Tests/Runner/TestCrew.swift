import Foundation

/// A test's result, its kind, and the file with its process's output.
struct TestRun {
    var kind: TestKind, result: TestResult, output: String
}

/// The threads that run jobs, as many at a time as the computer has room for (``TestKind/Share``).
final class TestCrew: @unchecked Sendable {
    // Sendable because `changed` guards every mutable member.
    private let program: String, folder: String, label: String, processors: Int
    private let changed = NSCondition()
    private var waiting: [TestJob], runs: [TestRun] = []
    private var free: Int, number = 0
    private let total: Int

    /// - Parameters:
    ///   - program: the test program.
    ///   - folder: the folder for outputs, in `output`, with names that begin with `label`.
    ///   - jobs: the jobs, run in this order as far as there is room.
    init(program: String, folder: String, label: String = "", processors: Int, jobs: [TestJob]) {
        (self.program, self.folder, self.label, self.processors, waiting) = (program, folder, label, processors, jobs)
        free = TestKind.points(processors: processors)
        total = jobs.reduce(0) { $0 + $1.tests.count }
    }

    /// Runs all jobs and returns the results.
    func run() -> [TestRun] {
        let threads = DispatchGroup()
        for _ in 0..<free {
            threads.enter()
            Thread {
                while let job = self.take() { self.perform(job) }
                threads.leave()
            }.start()
        }
        threads.wait()
        return changed.withLock { runs }
    }

    /// Waits until there is room for the next job, and returns it. Nil when none is left.
    private func take() -> TestJob? {
        changed.lock()
        defer { changed.unlock() }
        while !waiting.isEmpty {
            // Nothing overtakes a job that needs more room. Otherwise it would wait for all the small ones.
            let cost = waiting[0].kind.cost(processors: processors)
            if cost <= free {
                free -= cost
                let job = waiting.removeFirst()
                // There may be room for another one.
                changed.signal()
                return job
            }
            changed.wait()
        }
        return nil
    }

    private func perform(_ job: TestJob) {
        var (left, took, failed) = (job.tests, 0.0, 0)
        while !left.isEmpty {
            let number = changed.withLock {
                self.number += 1
                return self.number
            }
            let output = "\(folder)/output/\(label)\(job.kind.name)-\(number).txt"
            let results = Self.results(
                of: left, program: program, kind: job.kind, folder: "\(folder)/\(label)\(getpid())-\(number)", output: output)
            let names = Set(results.map(\.test))
            left.removeAll { names.contains($0) }
            took += results.reduce(0) { $0 + $1.elapsed }
            failed += results.count(where: \.hasFailed)
            changed.withLock { runs += results.map { TestRun(kind: job.kind, result: $0, output: output) } }
        }
        changed.lock()
        free += job.kind.cost(processors: processors)
        let seconds = String(format: "%6.1f s", took)
        say(
            "\(failed == 0 ? "passed" : "FAILED") \(seconds)  \(job.kind.name)  \(job.name), \(job.tests.count) (\(runs.count) of \(total))"
        )
        changed.broadcast()
        changed.unlock()
    }

    /// Runs one process and returns its results, at least one. If the process reaches no test, the first test fails.
    private static func results(of tests: [String], program: String, kind: TestKind, folder: String, output: String) -> [TestResult] {
        let process = TestProcess(
            program: program, tests: tests, environment: kind.environment, folder: folder, output: output, patience: kind.patience)
        let failure: String
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let events = try process.perform()
            let results = events.results.filter { tests.contains($0.test) }
            if !results.isEmpty { return results }
            failure = events.ending ?? "it was not run, though it is listed"
        } catch { failure = "\(error)" }
        return [TestResult(test: tests[0], outcome: .failed([failure]), elapsed: 0, processor: 0)]
    }
}

/// Prints a line at once.
func say(_ text: String) {
    FileHandle.standardOutput.write(Data("\(text)\n".utf8))
}
