import Foundation
import TestSupport
import Testing

@testable import TestRunner

/// Tests the runner with a simulated test program: a script that prints the events of Swift Testing and ends as its tests' names say.
@Suite(.blocking) struct RunnerTests {
    /// Runs the script with these tests. Their names choose their outcomes.
    private func run(
        _ names: [String], patience: Duration = .seconds(60), kind: TestKind? = nil
    ) throws -> (runs: [TestRun], folder: String) {
        let folder = NSTemporaryDirectory() + "kiosk-runner-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder + "/output", withIntermediateDirectories: true)
        let program = folder + "/program"
        try Self.script.write(toFile: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let kind = kind ?? TestKind(name: "made-up", prefixes: [""], patience: patience)
        let jobs = [TestJob(kind: kind, tests: names.map { "A.B/\($0)()" })]
        return (TestCrew(program: program, folder: folder, processors: 2, jobs: jobs).run(), folder)
    }

    /// The test program; the filter names its tests.
    ///
    /// `passes`, `fails`, `skips`, `known` (has a known issue), `crashes`, `leaves` (exits with status 3), `hangs`,
    /// `computes` (uses the processor), `leaks` (fails at exit). `late` fails unless it runs alone.
    private static let script = #"""
        #!/bin/bash
        while [ $# -gt 0 ]; do
            case $1 in --event-stream-output-path) exec 3>"$2"; shift ;; --filter) filter=$2; shift ;; esac
            shift
        done
        event() { printf '{"kind":"event","payload":{"kind":"%s","testID":"A.B\\/%s()\\/B.swift:1:1"%s},"version":"6.3.0"}\n' "$1" "$2" "${3:-}" >&3; }
        names=$(grep -oE '[a-z]+\\\(\\\)' <<<"$filter" | tr -d '\\()')
        status=0
        for name in $names; do
            echo "output of $name"
            [ "$name" != skips ] || { event testSkipped skips ',"messages":[{"text":"Skipped: \"no card\""}]'; continue; }
            event testStarted "$name"
            case $name in
            fails) event issueRecorded fails ',"issue":{"isKnown":false,"severity":"error","sourceLocation":{"fileID":"A/B.swift","line":7,"column":9}},"messages":[{"text":"1 is not 2"}]'; status=1 ;;
            late) [ "$names" = late ] || { event issueRecorded late ',"issue":{"isKnown":false},"messages":[{"text":"too late"}]'; status=1; } ;;
            known) event issueRecorded known ',"issue":{"isKnown":true},"messages":[{"text":"as ever"}]' ;;
            crashes) kill -SEGV $$ ;;
            leaves) exit 3 ;;
            leaks) status=23 ;;
            hangs) setsid sleep 1000 & echo "child $!"; wait ;;
            computes) i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done ;;
            esac
            event testEnded "$name"
        done
        printf '{"kind":"event","payload":{"kind":"runEnded"},"version":"6.3.0"}\n' >&3
        exit $status
        """#

    private func outcomes(_ runs: [TestRun]) -> [String: TestResult.Outcome] {
        Dictionary(uniqueKeysWithValues: runs.map { (String($0.result.test.dropFirst(4).dropLast(2)), $0.result.outcome) })
    }

    @Test func `what passes, fails and is skipped`() throws {
        let (runs, folder) = try run(["passes", "fails", "skips", "known"])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(
            outcomes(runs) == [
                "passes": .passed, "fails": .failed(["A/B.swift:7:9: 1 is not 2"]), "skips": .skipped("no card"), "known": .passed,
            ])
        let output = try String(contentsOfFile: runs[0].output, encoding: .utf8)
        #expect(output == "output of passes\noutput of fails\noutput of skips\noutput of known\n")
    }

    @Test(arguments: [("crashes", "signal 11"), ("leaves", "status 3"), ("hangs", "it hangs")])
    func `what ends its process is named, and the rest is run`(name: String, how: String) throws {
        let (runs, folder) = try run(["passes", name, "known", "fails"], patience: .seconds(3))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let outcomes = outcomes(runs)
        #expect(outcomes.count == 4 && outcomes["passes"] == .passed && outcomes["known"] == .passed)
        guard case .failed(let issues) = outcomes[name] else {
            Issue.record("\(name): \(outcomes)")
            return
        }
        #expect(issues.count == 1 && issues[0].contains(how), "\(issues)")
        // The runner has also killed the processes that the test started.
        let output = try String(contentsOfFile: runs[0].output, encoding: .utf8)
        let child = output.split(separator: "\n").first { $0.hasPrefix("child ") }.map { $0.dropFirst(6) }
        #expect((child != nil) == (name == "hangs"))
        // A signal takes time, and the process may still be a zombie.
        func state() -> String? { child.flatMap { try? String(contentsOfFile: "/proc/\($0)/stat", encoding: .utf8) } }
        var isGone: Bool { state()?.contains(") Z ") != false }
        let deadline = ContinuousClock.now + .seconds(120)
        while !isGone, ContinuousClock.now < deadline { usleep(10_000) }
        #expect(isGone, "\(state() ?? "")")
    }

    @Test func `a process that fails as it ends has failed`() throws {
        let (runs, folder) = try run(["passes", "leaks"])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(outcomes(runs)["leaks"] == .failed(["the test process ended with status 23"]))
    }

    @Test func `a program that cannot be started fails every test`() {
        let kind = TestKind(name: "made-up", prefixes: [""])
        let folder = NSTemporaryDirectory() + "kiosk-runner-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let crew = TestCrew(program: "/nowhere", folder: folder, processors: 1, jobs: [TestJob(kind: kind, tests: ["A.B/a()", "A.B/b()"])])
        let runs = crew.run()
        #expect(runs.count == 2 && runs.allSatisfy(\.result.hasFailed))
    }

    @Test func `what passes by itself is flaky, what fails twice has failed`() throws {
        let (runs, folder) = try run(["late", "fails", "passes"])
        let (late, lateFolder) = try run(["late"])
        let (fails, failsFolder) = try run(["fails"])
        defer { for path in [folder, lateFolder, failsFolder] { try? FileManager.default.removeItem(atPath: path) } }
        let report = TestReport(runs: runs, repeats: late + fails)
        #expect(outcomes(report.runs)["late"] == .flaky(["too late"]) && report.hasFailed)
        #expect(report.runs.first { $0.result.hasFailed }?.output == fails[0].output)
        let table = folder + "/made-up.results"
        try report.write(to: table)
        let lines = try String(contentsOfFile: table, encoding: .utf8).split(separator: "\n").map { $0.split(separator: "\t") }
        #expect(Set(lines.map { $0[1] }) == ["passed", "failed", "flaky"] && lines.allSatisfy { $0.count >= 5 && $0[0] == "made-up" })
        #expect(!TestReport(runs: runs.filter { !$0.result.hasFailed }, repeats: []).hasFailed)
        #expect(TestReport(runs: [], repeats: []).hasFailed)
    }

    @Test func `processor time is the test's own`() throws {
        let (runs, folder) = try run(["passes", "computes", "known"])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let spent = Dictionary(uniqueKeysWithValues: runs.map { ($0.result.test, $0.result.processor) })
        let (computing, passing) = (spent["A.B/computes()", default: 0], spent["A.B/passes()", default: 1])
        #expect(computing > 10 * passing && computing > 0.01, "\(spent)")
    }
}

/// Tests of the plan: which process runs which tests, and in which order.
@Suite struct TestPlanTests {
    private let tests = [
        "BedTests.BedTests/Seams/one()", "BedTests.BedTests/Seams/two()", "MachineTests.MachineTests/boots()", "MediaTests.TrackTests/a()",
        "MediaTests.TrackTests/b()", "MediaTests.HardwareDecodingTests/V4L2/c()", "PlaybackTests.StreamTests/d()",
        "PlaybackTests.WeekTests/e()",
    ]

    private func plan(_ names: [String], _ known: [String: Double] = [:]) -> [[String]] {
        TestJob.plan(TestKind.all.filter { names.contains($0.name) }, tests: tests, known: known).map(\.tests)
    }

    @Test func `every test is of one kind, or has another environment as well`() {
        let kinds = TestKind.all.filter(\.environment.isEmpty)
        for test in tests { #expect(kinds.count { $0.tests(of: tests).contains(test) } == 1, "\(test)") }
    }

    @Test func `suites of a module share a process, a test of the bed has one by itself`() {
        #expect(plan(["bed"]) == [[tests[0]], [tests[1]]])
        #expect(plan(["unit"]) == [[tests[3], tests[4], tests[5]], [tests[6], tests[7]]])
        #expect(plan(["v4l2"]) == [[tests[5]]])
    }

    @Test func `the longest begin first, and what takes long is divided`() {
        #expect(plan(["bed", "machine"], [tests[0]: 3, tests[1]: 9, tests[2]: 60]) == [[tests[2]], [tests[1]], [tests[0]]])
        let known = [tests[3]: 15.0, tests[4]: 12, tests[5]: 1, tests[7]: 1]
        #expect(plan(["unit"], known) == [[tests[3]], [tests[4], tests[5]], [tests[6], tests[7]]])
        // All tests of the machine are one job.
        #expect(
            TestJob.plan(TestKind.all.filter { $0.name == "machine" }, tests: tests + ["MachineTests.MachineTests/falls()"], known: [:])
                .count == 1)
        // A test without a known duration may be the longest of all.
        #expect(plan(["bed"], [tests[0]: 100]) == [[tests[1]], [tests[0]]])
    }

    @Test func `a name is an expression that no other name fits`() {
        let names = ["A.B/`what, where? (a|b)`()", "A.B/`what, where? (a|b)`(x:)", "A.B/c()"]
        for name in names {
            let expression = try? Regex(TestProcess.filter([name]))
            for other in names { #expect((expression.flatMap { other.firstMatch(of: $0) } != nil) == (other == name), "\(name), \(other)") }
        }
        #expect(TestEvents.function("A.B/c()/B.swift:1:1") == "A.B/c()" && TestEvents.function("A.B") == nil)
        #expect(TestEvents.function("A.B/`x/y.swift z`()/B.swift:10:6") == "A.B/`x/y.swift z`()")
    }
}
