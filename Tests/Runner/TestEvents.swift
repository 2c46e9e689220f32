import Foundation

/// What a test process has said so far: a pure value, fed with the lines of Swift Testing's event stream (`--event-stream-output-path`) and what
/// the process had cost by then. The tests of one process run one after another (`--no-parallel`), so that what is spent between a test's
/// beginning and its end is the test's own, but for what stays behind on other threads.
struct TestEvents {
    /// What has an outcome, in the order of the ends.
    private(set) var results: [TestResult] = []
    /// The test that runs now.
    private(set) var current: String?
    /// Whether all that was asked for has run.
    private(set) var isComplete = false
    /// How the process ended, where that was no good end.
    private(set) var ending: String?
    private var began = Spent(elapsed: 0, processor: 0)
    private var issues: [String: [String]] = [:]
    private var skips: [String: String] = [:]

    /// What had been spent at some time, in seconds: on the clock, and of processors by the process and the children that it has waited for.
    struct Spent: Equatable {
        var elapsed: Double, processor: Double
    }

    /// Takes a line of the stream. What is no event, or none that matters here, changes nothing.
    mutating func take(_ line: Data, at spent: Spent) {
        guard let record = try? JSONDecoder().decode(Record.self, from: line), record.kind == "event" else { return }
        let event = record.payload
        // Suites begin, end and are skipped as tests are; what is in a skipped suite is skipped by itself.
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

    /// The process is gone, or was ended, in another way than it should: the test that ran then, or else the last one, has failed by that. A failed
    /// test is told by the process's status, too.
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

    /// An identifier without the place in the sources behind it; nil for a suite's.
    static func function(_ id: String) -> String? {
        guard let place = id.lastIndex(of: "/"), id[place...].contains(".swift:") else { return nil }
        return String(id[..<place])
    }

    /// `Skipped: …` as its reason.
    private static func reason(_ messages: [Message]?) -> String {
        let text = messages?.first?.text ?? ""
        guard let colon = text.range(of: ": ") else { return messages?.dropFirst().first?.text ?? "no reason given" }
        return String(text[colon.upperBound...].drop { $0 == "\"" }).trimmingCharacters(in: ["\""])
    }

    // MARK: The stream's form

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

/// How a test came out, and what it took.
struct TestResult {
    /// `MediaTests.SampleQueueTests/name()`.
    var test: String
    var outcome: Outcome
    /// Seconds on the clock, and seconds of processors that the test's process and its children took.
    var elapsed: Double, processor: Double

    enum Outcome: Equatable {
        case passed
        /// With what was said, an issue an entry.
        case failed([String])
        case skipped(String)
        /// Failed, and passed when it was run once more by itself.
        case flaky([String])
    }

    var hasFailed: Bool { if case .failed = outcome { true } else { false } }
}
