import KioskPlatform

/// Simulated vblanks on a fixed grid of CLOCK_MONOTONIC, for screens whose driver reports none. Deadlines are computed from the
/// origin, never from the one before, so that nothing accumulates.
struct VblankGrid {
    /// The vblank with sequence 0.
    var origin: HostTime
    /// From one to the next, in nanoseconds; a fraction, because 1/60 s is none of whole nanoseconds.
    var period: Double

    init(origin: HostTime, refresh: Double) {
        self.origin = origin
        period = 1e9 / refresh
    }

    /// The time of vblank `sequence`.
    func time(of sequence: UInt64) -> HostTime { origin + MediaTime(nanoseconds: Int64((Double(sequence) * period).rounded())) }

    /// The first vblank strictly after `time`.
    func next(after time: HostTime) -> UInt64 {
        let elapsed = (time - origin).nanoseconds
        guard elapsed >= 0 else { return 0 }
        var sequence = UInt64(Double(elapsed) / period)
        while self.time(of: sequence) <= time { sequence += 1 }
        return sequence
    }
}
