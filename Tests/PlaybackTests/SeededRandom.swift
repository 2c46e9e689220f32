import KioskPlatform

/// Random numbers that are the same in every run with the same seed (Knuth's linear congruential generator of 64 bits, less its low ones).
struct SeededRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Uniform in −1…1.
    mutating func unit() -> Double {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Double(state >> 11) / Double(1 << 52) - 1
    }

    /// What a thread that has been woken takes to run.
    mutating func latency() -> MediaTime { .seconds(0.0003 * abs(unit())) }
}
