import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// Enables a test for `make test-all` only, which sets `KIOSK_TEST_ALL=1`.
    ///
    /// - Parameter why: the test's cost or needs, for the list of skipped tests.
    package static func thorough(_ why: Comment) -> Self {
        .enabled(if: Proof.isThorough, "make test-all: \(why.rawValue)")
    }

    /// Skips a test with this reason if the machine lacks its needs.
    package static func needs(_ what: Comment, _ isThere: @autoclosure @escaping @Sendable () -> Bool) -> Self {
        .enabled(if: isThere(), "needs \(what.rawValue)")
    }
}

/// The selection of proofs to run.
package enum Proof {
    /// Whether this run has the proofs of `make test-all`, too.
    package static let isThorough = ProcessInfo.processInfo.environment["KIOSK_TEST_ALL"] == "1"

    /// Returns the arguments for a test: all of them in `make test-all`, the first ones in `make test`.
    package static func some<Argument>(_ all: [Argument], _ count: Int = 1) -> [Argument] { isThorough ? all : Array(all.prefix(count)) }

    /// The seed of random tests: $KIOSK_SEED or a new one. The runner sets that variable and prints it for a failed test.
    package static let seed = ProcessInfo.processInfo.environment["KIOSK_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...999_999)

    /// A random number generator that repeats itself for the same ``seed`` (SplitMix64).
    package struct Random: RandomNumberGenerator {
        private var state: UInt64

        /// Creates a generator that repeats itself for the same seed.
        package init(seed: UInt64 = Proof.seed) { state = seed }

        package mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var z = state
            z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
            z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
            return z ^ (z >> 31)
        }
    }

    /// Whether /dev/full is the device that is always full, and not an ordinary file that a program has put there.
    package static var hasFullDevice: Bool {
        var status = stat()
        return stat("/dev/full", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR && open("/dev/full", O_WRONLY | O_CLOEXEC).isUsable
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test that writes to /dev/full if that is missing.
    package static var needsFullDevice: Self { needs("/dev/full", Proof.hasFullDevice) }
}

extension Int32 {
    /// Whether a just opened descriptor is valid; closes it.
    fileprivate var isUsable: Bool { self >= 0 && close(self) == 0 }
}
