import Bed
import Testing

/// What a viewer sees and hears, judged by the kernel's own log of what was scanned out and by what the sound card was fed.
///
/// One run at a time; each test is one run or two, named for what happens in it.
@Suite(.serialized, .enabled(if: Bed.unavailability == nil, "no test bed: \(Bed.unavailability ?? "")"), .onBed)
struct BedTests {}

/// Keeps the folders of a test's runs until the test is over: removed where it passed, named in the issue where it failed. A test whose runs
/// were all starved by the host is cancelled: it neither passed nor failed.
struct OnBed: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func scopeProvider(for test: Test, testCase: Test.Case?) -> OnBed? { testCase == nil ? nil : self }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        let folders = Bed.Folders()
        let naming = IssueHandlingTrait.compactMapIssues { issue in
            guard issue.isFailure, !folders.all.isEmpty else { return issue }
            folders.areNeeded = true
            var issue = issue
            issue.comments.append("the run is kept in \(folders.all.joined(separator: " "))")
            return issue
        }
        try await Bed.$folders.withValue(folders) {
            do {
                try await naming.provideScope(for: test, testCase: testCase, performing: function)
            } catch let error as BedError {
                guard case .starved = error else { throw error }
                folders.remove()
                try Test.cancel("\(error)")
            }
        }
        if !folders.areNeeded { folders.remove() }
    }
}

extension Trait where Self == OnBed {
    static var onBed: OnBed { OnBed() }
}
