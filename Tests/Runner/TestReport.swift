import Foundation

/// The outcome of a test run: a value made from the results and the second tries of failed tests.
struct TestReport {
    /// Each test once. After a second failure `output` is that of the second try.
    let runs: [TestRun]

    /// - Parameter repeats: the second tries, each run alone.
    init(runs: [TestRun], repeats: [TestRun]) {
        let again = Dictionary(repeats.map { ($0.result.test + $0.kind.name, $0) }) { first, _ in first }
        self.runs = runs.map { run in
            guard case .failed(let issues) = run.result.outcome, let second = again[run.result.test + run.kind.name] else { return run }
            var run = run
            if second.result.hasFailed {
                (run.result.outcome, run.output) = (second.result.outcome, second.output)
            } else {
                run.result.outcome = .flaky(issues)
            }
            return run
        }
    }

    var hasFailed: Bool { runs.isEmpty || runs.contains { $0.result.hasFailed } }

    /// Writes a line a test for Tests/totals: kind, outcome, elapsed seconds, processor seconds, name and reason, separated by tabs.
    func write(to path: String) throws {
        let lines = runs.map { run in
            let (word, reason) = run.result.outcome.words
            let times = [run.result.elapsed, run.result.processor].map { String(format: "%.3f", $0) }
            let fields =
                [run.kind.name, word] + times + [run.result.test, reason.map { $0 == "\t" || $0.isNewline ? " " : String($0) }.joined()]
            return fields.joined(separator: "\t") + "\n"
        }
        try lines.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// Prints the failed tests with their output, the flaky tests, and the counts.
    ///
    /// - Parameter command: returns the command that repeats a test.
    func tell(command: (TestRun) -> String) {
        for run in runs {
            guard case .failed(let issues) = run.result.outcome else { continue }
            say("\n==== FAILED: \(run.result.test)\n\(Self.end(of: run.output))")
            for issue in issues { say("FAILED: \(issue)") }
            say("repeat it: \(command(run))")
        }
        for run in runs {
            guard case .flaky(let issues) = run.result.outcome else { continue }
            say("flaky: \(run.result.test): it failed, and passed by itself; its first output is \(run.output)")
            for issue in issues { say("    \(issue)") }
        }
        func count(_ word: String) -> Int { runs.count { $0.result.outcome.words.0 == word } }
        say("\(count("passed") + count("flaky")) passed, \(count("failed")) failed, \(count("skipped")) skipped; flaky: \(count("flaky"))")
    }

    /// Returns a file's text, or its last 100,000 characters.
    private static func end(of path: String) -> String {
        let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        return text.count <= 100_000 ? text : "…" + text.suffix(100_000)
    }
}

extension TestResult.Outcome {
    /// The word for the table, and the reason.
    var words: (String, String) {
        switch self {
        case .passed: ("passed", "")
        case .failed(let issues): ("failed", issues.joined(separator: " / "))
        case .skipped(let reason): ("skipped", reason)
        case .flaky(let issues): ("flaky", issues.joined(separator: " / "))
        }
    }
}
