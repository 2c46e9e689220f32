import Foundation

/// The events of a test process so far.
///
/// A pure value, fed with lines of Swift Testing's event stream (`--event-stream-output-path`) and the process's cost at each. The tests
/// of a process run one after another (`--no-parallel`). The time between a test's beginning and its end is therefore its own. Earlier
/// tests may have left work on other threads; that counts, too.
struct TestEvents {
    /// The finished tests, in the order of their ends.
    private(set) var results: [TestResult] = []
    /// The running test.
    private(set) var current: String?
    /// Whether all requested tests have run.
    private(set) var isComplete = false
    /// How the process ended, if it ended badly.
    private(set) var ending: String?
    private var began = Spent(elapsed: 0, processor: 0)
    private var issues: [String: [String]] = [:]
    private var skips: [String: String] = [:]

    /// Seconds so far: on the clock, and of processors by the process and the children that it has waited for.
    struct Spent: Equatable {
        var elapsed: Double, processor: Double
    }

    /// Takes a line of the stream. Ignores lines that are no events, and other kinds of events.
    mutating func take(_ line: Data, at spent: Spent) {
        guard let record = try? JSONDecoder().decode(Record.self, from: line), record.kind == "event" else { return }
        let event = record.payload
        // Suites begin, end and are skipped as tests are. The tests of a skipped suite are skipped one by one.
        let test = event.testID.flatMap(Self.function)
        switch event.kind {
        case "testStarted":
            guard let test else { break }
            (current, began) = (test, spent)
        case "issueRecorded":
            guard event.issue?.isKnown != true, event.issue?.severity != "warning" else { break }
            let text = (event.messages ?? []).map(\.text).joined(separator: "\n")
            issues[test ?? current ?? "", default: []].append("\(event.issue?.place ?? "")\(text)")
        case "testSkipped":
            guard let test else { break }
            results.append(TestResult(test: test, outcome: .skipped(Self.reason(event.messages)), elapsed: 0, processor: 0))
        case "testCancelled", "testCaseCancelled":
            if let test { skips[test] = Self.reason(event.messages) }
        case "testEnded":
            guard let test, test == current else { break }
            end(outcome: outcome(of: test), at: spent)
        case "runEnded": isComplete = true
        default: break
        }
    }

    /// Records that the process ended badly or was killed: fails the running test, or else the last one.
    ///
    /// If a test has already failed, the last one keeps its outcome: a failed test alone makes the status nonzero.
    mutating func processEnded(_ how: String, at spent: Spent) {
        ending = how
        if current != nil {
            end(outcome: .failed([how]), at: spent)
        } else if let last = results.indices.last, !results.contains(where: \.hasFailed) {
            results[last].outcome = .failed([how])
        }
    }

    private mutating func end(outcome: TestResult.Outcome, at spent: Spent) {
        guard let test = current else { return }
        results.append(
            TestResult(
                test: test, outcome: outcome, elapsed: spent.elapsed - began.elapsed, processor: max(0, spent.processor - began.processor)))
        current = nil
    }

    private func outcome(of test: String) -> TestResult.Outcome {
        if let issues = issues[test] { return .failed(issues) }
        return skips[test].map { .skipped($0) } ?? .passed
    }

    /// Returns an identifier without the source location at its end; nil for a suite's.
    static func function(_ id: String) -> String? {
        guard let place = id.lastIndex(of: "/"), id[place...].contains(".swift:") else { return nil }
        return String(id[..<place])
    }

    /// Returns the reason in `Skipped: …`.
    private static func reason(_ messages: [Message]?) -> String {
        let text = messages?.first?.text ?? ""
        guard let colon = text.range(of: ": ") else { return messages?.dropFirst().first?.text ?? "no reason given" }
        return String(text[colon.upperBound...].drop { $0 == "\"" }).trimmingCharacters(in: ["\""])
    }

    // MARK: The stream's format

    private struct Record: Decodable {
        var kind: String, payload: Payload
    }

    private struct Payload: Decodable {
        var kind: String, testID: String?, issue: Issue?, messages: [Message]?
    }

    private struct Message: Decodable { var text: String }

    private struct Issue: Decodable {
        var isKnown: Bool?, severity: String?, sourceLocation: Location?

        var place: String { sourceLocation.map { "\($0.fileID):\($0.line):\($0.column): " } ?? "" }

        struct Location: Decodable { var fileID: String, line: Int, column: Int }
    }
}

/// The outcome of a test, and its cost.
struct TestResult {
    /// `MediaTests.SampleQueueTests/name()`.
    var test: String
    var outcome: Outcome
    /// Elapsed seconds, and processor seconds of the test's process and its children.
    var elapsed: Double, processor: Double

    enum Outcome: Equatable {
        case passed
        /// Failed, with one entry for each issue.
        case failed([String])
        case skipped(String)
        /// Failed, and passed when it ran again alone.
        case flaky([String])
    }

    var hasFailed: Bool { if case .failed = outcome { true } else { false } }
}
