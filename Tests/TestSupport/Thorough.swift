import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// A proof that `make test` leaves to `make test-all`, and what it costs or needs there: `KIOSK_TEST_ALL=1` runs it, too.
    ///
    /// - Parameter why: a line for the list of what was skipped.
    package static func thorough(_ why: Comment) -> Self {
        .enabled(if: Proof.isThorough, "make test-all: \(why.rawValue)")
    }

    /// Skipped with this reason where the machine lacks what the test needs.
    package static func needs(_ what: Comment, _ isThere: @autoclosure @escaping @Sendable () -> Bool) -> Self {
        .enabled(if: isThere(), "needs \(what.rawValue)")
    }
}

/// Which of the proofs are run.
package enum Proof {
    /// Whether those of `make test-all` are.
    package static let isThorough = ProcessInfo.processInfo.environment["KIOSK_TEST_ALL"] == "1"

    /// Arguments of a test: all of them in `make test-all`, the first ones in `make test`.
    package static func some<Argument>(_ all: [Argument], _ count: Int = 1) -> [Argument] { isThorough ? all : Array(all.prefix(count)) }

    /// What random tests begin with: $KIOSK_SEED, which the runner sets and tells of a test that has failed, or another one each time.
    package static let seed = ProcessInfo.processInfo.environment["KIOSK_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...999_999)

    /// Random numbers that are the same ones for the same ``seed`` (SplitMix64).
    package struct Random: RandomNumberGenerator {
        private var state: UInt64

        /// The same beginning each time.
        package init(seed: UInt64 = Proof.seed) { state = seed }

        package mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var z = state
            z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
            z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
            return z ^ (z >> 31)
        }
    }

    /// Whether /dev/full is the device on which there is never room, and not an ordinary file that a program has put there.
    package static var hasFullDevice: Bool {
        var status = stat()
        return stat("/dev/full", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR && open("/dev/full", O_WRONLY | O_CLOEXEC).isUsable
    }
}

extension Trait where Self == ConditionTrait {
    /// For what is written to /dev/full.
    package static var needsFullDevice: Self { needs("/dev/full", Proof.hasFullDevice) }
}

extension Int32 {
    /// A descriptor that was just opened to see if it can be.
    fileprivate var isUsable: Bool { self >= 0 && close(self) == 0 }
}
