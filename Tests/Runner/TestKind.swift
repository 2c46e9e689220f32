import Foundation

/// A kind of test: its tests, the environment of its processes, and how many of them run at a time.
struct TestKind {
    let name: String
    /// The beginnings of its tests' identifiers. Another kind may name the same tests if the environment differs.
    let prefixes: [String]
    var environment: [String: String] = [:]
    /// The tests that share a process.
    var grain = Grain.suites
    /// The share of the computer that one process takes. `processor` is two thirds of a processor, for tests that compute all the time.
    /// `third` is a third of one, for tests that wait more than half of their time.
    var share: Share = .third
    /// The longest silence of a test before it counts as hung. A test's own limits are shorter, and their messages say more.
    var patience = Duration.seconds(600)

    enum Share { case third, processor, all }

    /// One test; suites of a module that take a third of a minute together; or all tests, one after another.
    enum Grain { case test, suites, all }

    /// The points that `share` costs. ``points(processors:)`` is the total.
    func cost(processors: Int) -> Int {
        switch share {
        case .third: 1
        case .processor: 2
        case .all: Self.points(processors: processors)
        }
    }

    static func points(processors: Int) -> Int { 3 * max(2, processors) }

    /// All kinds. A kind without an environment leaves out the tests of other kinds with the grain `test` or `all`. A new kind is a line.
    static let all = [
        TestKind(name: "bed", prefixes: ["BedTests."], grain: .test, share: .processor, patience: .seconds(1800)),
        // The first test boots the machine; all others continue from there.
        TestKind(name: "machine", prefixes: ["MachineTests."], grain: .all, share: .processor, patience: .seconds(1800)),
        TestKind(name: "streams", prefixes: ["PlaybackTests.StreamTests/"], environment: ["KIOSK_TEST_STREAMS": "1"], share: .all),
        TestKind(name: "unit", prefixes: [""]),
        // Once more, with simulated drivers: a process needs them from its beginning.
        TestKind(name: "v4l2", prefixes: ["MediaTests.HardwareDecodingTests/V4L2/"], environment: ["KIOSK_TEST_V4L2": "1"]),
        TestKind(name: "shelf", prefixes: ["MediaTests.HardwareDecodingTests/Shelf/"], environment: ["KIOSK_TEST_DECODERS": "1"]),
        // Once more, reading files in the player instead of in processes.
        TestKind(
            name: "inside",
            prefixes: ["Gallery", "Player", "PlayerControl", "Seek", "SeekAfterFailure", "Sound", "Failure", "CrossFade", "Scrub"]
                .map { "PlaybackTests.\($0)Tests/" },
            environment: ["KIOSK_ISOLATION": "off"]),
    ]

    /// Returns the tests of this kind.
    func tests(of all: [String]) -> [String] {
        all.filter { test in
            guard prefixes.contains(where: { test.hasPrefix($0) }) else { return false }
            return !environment.isEmpty
                || !Self.all.contains { $0.name != name && $0.grain != .suites && $0.prefixes.contains { test.hasPrefix($0) } }
        }
    }
}

/// The tests of one process.
struct TestJob {
    var kind: TestKind, tests: [String]
    /// The seconds of an earlier run; jobs without them come first.
    var expected: Double?

    /// A short name for ``tests``.
    var name: String {
        guard let first = tests.first, let last = tests.last, first != last else { return tests.first ?? "" }
        let (from, to) = (Self.suite(first), Self.suite(last))
        return from == to ? from : "\(from) to \(to)"
    }

    private static func suite(_ test: String) -> String { String(test[..<(test.firstIndex(of: "/") ?? test.endIndex)]) }
}

extension TestJob {
    /// Returns the jobs of these kinds, the longest first, so that no long one runs alone at the end.
    ///
    /// Suites of a module share a process, as starting one takes a fifth of a second. Long groups are divided.
    ///
    /// - Parameters:
    ///   - tests: all tests of the program.
    ///   - known: seconds by test, of an earlier run.
    static func plan(_ kinds: [TestKind], tests: [String], known: [String: Double]) -> [TestJob] {
        var jobs: [TestJob] = []
        for kind in kinds {
            let groups = Dictionary(grouping: kind.tests(of: tests)) { test in
                switch kind.grain {
                case .test: test
                case .suites: String(test[..<(test.firstIndex(of: ".") ?? test.endIndex)])
                case .all: ""
                }
            }
            for group in groups.keys.sorted() {
                var (part, seconds) = ([String](), 0.0)
                func flush() {
                    guard !part.isEmpty else { return }
                    let isKnown = part.contains { known[$0] != nil }
                    jobs.append(TestJob(kind: kind, tests: part, expected: isKnown ? seconds : nil))
                    (part, seconds) = ([], 0)
                }
                for test in groups[group, default: []] {
                    let time = known[test] ?? usual
                    if kind.grain == .suites, !part.isEmpty, seconds + time > longest { flush() }
                    part.append(test)
                    seconds += time
                }
                flush()
            }
        }
        return jobs.enumerated().sorted { left, right in
            let (one, other) = (left.element.expected ?? .infinity, right.element.expected ?? .infinity)
            return one == other ? left.offset < right.offset : one > other
        }.map(\.element)
    }

    /// The seconds beyond which a further test begins another job, and the estimate for a test without a known duration.
    private static let (longest, usual) = (20.0, 0.5)
}
