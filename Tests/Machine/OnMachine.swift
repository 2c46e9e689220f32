import Foundation
import Synchronization
import Testing

/// A suite whose tests run on emulated machines. It is skipped, with the reason, where those cannot be had; and a test that fails says
/// where it has left the last screens, the journal, the console and the recordings.
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

/// The machine of the test that runs, and whether the test has failed. One thread at a time: the suite is serialized.
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

    /// A machine of the test's own, playing; it ends with the test.
    func start(_ adapter: Machine.Adapter) throws -> Machine {
        try? FileManager.default.removeItem(atPath: folder)
        let started = try MachineSnapshot.of(adapter).resume(in: folder)
        machine = started
        return started
    }
}

extension Machine {
    /// The machine of the test that runs, playing.
    static func playing(_ adapter: Adapter = .virtioGPU) throws -> Machine {
        guard let scope = Scope.current else { throw MachineError("a machine outside of a suite that is .onMachine") }
        return try scope.start(adapter)
    }
}
