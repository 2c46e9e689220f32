import Foundation
import Synchronization
import Testing

/// A trait for tests on emulated machines. It skips the suite, with the reason, if this host cannot run them. A failed test names the
/// folder with its last screens, journal, console and recordings.
struct OnMachine: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func prepare(for test: Test) async throws {
        if case .success(.failure(let unavailable)) = Sources.base {
            try await ConditionTrait.disabled("\(unavailable.reason)").prepare(for: test)
        }
    }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        let scope = Scope(name: String(test.name.filter(\.isLetter).prefix(40)))
        let watching = IssueHandlingTrait.compactMapIssues { issue in
            var issue = issue
            issue.comments.append("see \(scope.folder)")
            scope.hasFailed = true
            return issue
        }
        try await Scope.$current.withValue(scope) {
            try await watching.provideScope(for: test, testCase: testCase) {
                do { try await function() } catch { Issue.record(error) }
            }
        }
        scope.close()
    }
}

extension Trait where Self == OnMachine {
    static var onMachine: Self { OnMachine() }
}

/// The running test's machine, and whether the test has failed. One thread at a time: the suite is serialized.
final class Scope: @unchecked Sendable {
    @TaskLocal static var current: Scope?

    let folder: String
    fileprivate(set) var hasFailed = false
    private var machine: Machine?
    private static let count = Atomic(0)

    fileprivate init(name: String) {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        folder = Sources.scratch("\(number)-\(name)")
    }

    fileprivate func close() {
        if hasFailed { machine?.gatherEvidence() }
        machine = nil
    }

    /// Starts a machine for the test, already playing; it ends with the test.
    func start(_ adapter: Machine.Adapter) throws -> Machine {
        try? FileManager.default.removeItem(atPath: folder)
        let started = try MachineSnapshot.of(adapter).resume(in: folder)
        machine = started
        return started
    }
}

extension Machine {
    /// Returns the running test's machine, already playing.
    static func playing(_ adapter: Adapter = .virtioGPU) throws -> Machine {
        guard let scope = Scope.current else { throw MachineError("a machine outside of a suite that is .onMachine") }
        return try scope.start(adapter)
    }
}
