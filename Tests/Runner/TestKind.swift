import Foundation

/// A sort of test: which of the program's tests it is, what its processes are given, and how many of them run beside each other.
struct TestKind {
    let name: String
    /// What the identifiers of its tests begin with; none where another kind names its tests as well and only the environment differs.
    let prefixes: [String]
    var environment: [String: String] = [:]
    /// What has a process of its own.
    var grain = Grain.suites
    /// The share of the computer that one process takes. Two thirds of a processor: what computes all the time. A third: what waits more than half
    /// of its time.
    var share: Share = .third
    /// How long a test may say nothing before it counts as hanging. A test's own limits are shorter, and say more.
    var patience = Duration.seconds(600)

    enum Share { case third, processor, all }

    /// A test; suites of a module, as many as take a third of a minute together; or all of them, one after another.
    enum Grain { case test, suites, all }

    /// Points of `share`, of as many as the computer has (``points(processors:)``).
    func cost(processors: Int) -> Int {
        switch share {
        case .third: 1
        case .processor: 2
        case .all: Self.points(processors: processors)
        }
    }

    static func points(processors: Int) -> Int { 3 * max(2, processors) }

    /// A test belongs to the first kind that names it. An addition is a line here.
    static let all = [
        TestKind(name: "bed", prefixes: ["BedTests."], grain: .test, share: .processor, patience: .seconds(1800)),
        // The first one boots the machine from which all the others go on.
        TestKind(name: "machine", prefixes: ["MachineTests."], grain: .all, share: .processor, patience: .seconds(1800)),
        TestKind(name: "streams", prefixes: ["PlaybackTests.StreamTests/"], environment: ["KIOSK_TEST_STREAMS": "1"], share: .all),
        TestKind(name: "unit", prefixes: [""]),
        // Once more, with drivers that are made up: a process has them from its beginning or not at all.
        TestKind(name: "v4l2", prefixes: ["MediaTests.HardwareDecodingTests/V4L2/"], environment: ["KIOSK_TEST_V4L2": "1"]),
        TestKind(name: "shelf", prefixes: ["MediaTests.HardwareDecodingTests/Shelf/"], environment: ["KIOSK_TEST_DECODERS": "1"]),
        // Once more, with files read in the player instead of in processes.
        TestKind(
            name: "inside",
            prefixes: ["Gallery", "Player", "PlayerControl", "Seek", "SeekAfterFailure", "Sound", "Failure", "CrossFade", "Scrub"]
                .map { "PlaybackTests.\($0)Tests/" },
            environment: ["KIOSK_ISOLATION": "off"]),
    ]

    /// Of all the program's tests, those of this kind.
    func tests(of all: [String]) -> [String] {
        all.filter { test in
            guard prefixes.contains(where: { test.hasPrefix($0) }) else { return false }
            return !environment.isEmpty
                || !Self.all.contains { $0.name != name && $0.grain != .suites && $0.prefixes.contains { test.hasPrefix($0) } }
        }
    }
}

/// What one process is to run.
struct TestJob {
    var kind: TestKind, tests: [String]
    /// Seconds that it took the last time; unknown ones come first.
    var expected: Double?

    /// What ``tests`` have in common, for people.
    var name: String {
        guard let first = tests.first, let last = tests.last, first != last else { return tests.first ?? "" }
        let (from, to) = (Self.suite(first), Self.suite(last))
        return from == to ? from : "\(from) to \(to)"
    }

    private static func suite(_ test: String) -> String { String(test[..<(test.firstIndex(of: "/") ?? test.endIndex)]) }
}

extension TestJob {
    /// The jobs of these kinds, the longest first, so that none of them is still running when all the others are done. Suites of a module follow one
    /// another in a process, which takes a fifth of a second to start. What took long is divided.
    ///
    /// - Parameters:
    ///   - tests: all the program's.
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

    /// Seconds of a job beyond which a further test begins another one, and those that a test takes that nobody has seen yet.
    private static let (longest, usual) = (20.0, 0.5)
}
