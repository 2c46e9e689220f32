import ArgumentParser
import Foundation

/// Runs the tests of the built test program, in several processes at a time.
///
/// A process runs some suites of one module. A crash therefore costs one test: the runner reports it and continues in another process.
/// Each test of the bed has its own process, and those of the machine share one. At the end each failed test runs once more, alone. A
/// second failure is a failure: the runner prints its output, with the command that repeats it. A test that then passes is `flaky`, which
/// is no failure: the runner counts it and keeps its output. A table (`results`) lists the elapsed and processor time of each test;
/// Tests/totals reads it.
@main
struct TestRunner: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk-tests", abstract: "Runs tests in processes of their own.",
        discussion: "Kinds: \(TestKind.all.map(\.name).joined(separator: " ")).")

    @Argument(help: "Kinds of tests.")
    var kinds: [String] = ["unit", "v4l2", "shelf"]

    @Option(help: "The test program. A sanitizer's is another one.")
    var program = ".build/debug/kioskPackageTests.xctest"

    @Option(help: "Only tests whose name contains this.")
    var filter: [String] = []

    @Option(help: "Not those whose name contains this.")
    var skip: [String] = []

    @Option(help: "Where results and outputs go.")
    var folder = ".build/proof"

    @Option(help: "What the table of results is called, in that folder.")
    var name = "tests"

    @Option(help: "What random tests begin with. Default: another one each time.")
    var seed = UInt64.random(in: 0...999_999)

    @Flag(help: "The proofs that make test leaves to make test-all, too.")
    var all = false

    @Flag(help: "What fails is not run once more.")
    var once = false

    @Option(help: "How many computing processes may run beside each other. Default: one for each processor.")
    var processors = ProcessInfo.processInfo.activeProcessorCount

    mutating func run() throws {
        let wanted = try kinds.map { name in
            guard let kind = TestKind.all.first(where: { $0.name == name }) else {
                throw ValidationError("no kind of test is called \(name)")
            }
            return kind
        }
        let tests = try list().filter { test in
            (filter.isEmpty || filter.contains { test.contains($0) }) && !skip.contains { test.contains($0) }
        }
        let (durations, environment) = (Durations(), (all ? ["KIOSK_TEST_ALL": "1"] : [:]).merging(["KIOSK_SEED": "\(seed)"]) { $1 })
        let signals = Self.endOnSignals()
        defer { withExtendedLifetime(signals) {} }
        let crew = { [program, folder, processors] (label: String, jobs: [TestJob]) in
            TestCrew(program: program, folder: folder, label: label, processors: processors, jobs: jobs)
        }
        let jobs = TestJob.plan(wanted, tests: tests, known: durations.known).map { job in
            var job = job
            job.kind.environment.merge(environment) { $1 }
            return job
        }
        guard !jobs.isEmpty else {
            throw ValidationError("no test of \(kinds.joined(separator: " and ")) has \(filter.joined(separator: " or ")) in its name")
        }
        try FileManager.default.createDirectory(atPath: folder + "/output", withIntermediateDirectories: true)
        // Removes the files of an earlier run of that name, even of one that was killed.
        for place in [folder, folder + "/output"] {
            for old in try FileManager.default.contentsOfDirectory(atPath: place)
            where old.hasPrefix("\(name)-") || old.hasPrefix("again-\(name)-") {
                try FileManager.default.removeItem(atPath: "\(place)/\(old)")
            }
        }
        let runs = crew("\(name)-", jobs).run()
        // Each failed test runs alone. If nearly all fail, repeating them tells nothing: 40 are enough.
        let failed = once ? [] : runs.filter(\.result.hasFailed).prefix(40)
        if !failed.isEmpty { say("once more, each by itself: \(failed.count)") }
        let repeats = failed.enumerated().flatMap { number, run in
            crew("again-\(name)-\(number + 1)-", [TestJob(kind: run.kind, tests: [run.result.test])]).run()
        }
        durations.keep(runs)
        let report = TestReport(runs: runs, repeats: repeats)
        try report.write(to: "\(folder)/\(name).results")
        report.tell {
            "\(CommandLine.arguments[0]) \($0.kind.name) --seed \(seed)\(all ? " --all" : "") --filter \(Self.quoted($0.result.test))"
        }
        if report.hasFailed { throw ExitCode.failure }
    }

    /// Kills the started processes on a signal: Ctrl-C reaches this process only.
    ///
    /// Call it before starting threads, as all of them must block these signals. Tests would inherit ignored ones.
    private static func endOnSignals() -> [any DispatchSourceSignal] {
        let numbers = [SIGINT, SIGTERM, SIGHUP]
        var blocked = sigset_t()
        sigemptyset(&blocked)
        for number in numbers { sigaddset(&blocked, number) }
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        return numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                TestProcess.endAll()
                Foundation.exit(128 + number)
            }
            source.resume()
            return source
        }
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'" }

    /// The names of all tests in the program.
    private func list() throws -> [String] {
        let listing = Process()
        let output = Pipe()
        listing.executableURL = URL(fileURLWithPath: program)
        listing.arguments = ["--testing-library", "swift-testing", "--list-tests"]
        listing.standardOutput = output
        do { try listing.run() } catch { throw RunnerError("there is no \(program): swift build --build-tests") }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        listing.waitUntilExit()
        guard listing.terminationStatus == 0 else {
            throw RunnerError("\(program) does not list its tests: status \(listing.terminationStatus)")
        }
        return text.split(separator: "\n").map(String.init)
    }
}

/// The durations of an earlier run, so that the longest tests begin first. They are in the cache, which outlives a checkout. No result
/// depends on them.
struct Durations {
    private let path: String
    let known: [String: Double]

    init() {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? environment["HOME", default: "/tmp"] + "/.cache"
        path = cache + "/kiosk/test-durations"
        let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
        known = lines.reduce(into: [:]) { known, line in
            let fields = line.split(separator: "\t")
            if fields.count == 2, let seconds = Double(fields[0]) { known[String(fields[1])] = seconds }
        }
    }

    func keep(_ runs: [TestRun]) {
        let new = runs.reduce(into: known) { if $1.result.elapsed > 0 { $0[$1.result.test] = $1.result.elapsed } }
        let text = new.sorted { $0.key < $1.key }.map { "\(($0.value * 1000).rounded() / 1000)\t\($0.key)\n" }.joined()
        try? FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try? text.write(toFile: path, atomically: true, encoding: .utf8)
    }
}
