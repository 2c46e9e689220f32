import KioskPlatform

/// A random generator that repeats its numbers for the same seed: Knuth's linear congruential one of 64 bits, without its low bits.
/// bits).
struct SeededRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Returns a uniform number in −1…1.
    mutating func unit() -> Double {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Double(state >> 11) / Double(1 << 52) - 1
    }

    /// Returns the delay until a woken thread runs, 0.3 ms at most.
    mutating func latency() -> MediaTime { .seconds(0.0003 * abs(unit())) }
}
