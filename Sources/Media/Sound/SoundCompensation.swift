/// How many samples more or fewer are made of the sound of a live stream, so that it stays with its timestamps. A pure value: distances in, a
/// rate out.
///
/// A sender may count the samples of its sound by one crystal and stamp packets by another. Timestamps are what sound and pictures share. Left to
/// themselves, samples that are 100 parts per million off come to lie ``AudioDecoder/tolerance`` beside them after eight minutes, out of step
/// with the pictures; then as much silence has to be put in, or sound left out. So libswresample makes some samples more or fewer of them. That is
/// a proportional and an integral part, damped critically, on the smoothed distance of the samples from their timestamps.
///
/// Nothing is done to sound that has never been further from its timestamps than ``start``: most senders have one crystal.
struct SoundCompensation: Hashable, Sendable {
    /// A pitch that is off by a thousandth is heard by nobody.
    static let limit = 0.001
    /// More than this between two crystals is a fault, and not learned.
    private static let longestDrift = 0.0006
    /// Seconds from where on it begins.
    static let start = 0.004
    private static let proportional = 0.03
    private static let integral = proportional * proportional / 4
    private static let smoothingTime = 3.0

    private var isActive = false
    private var smoothed: Double?
    private var drift = 0.0
    /// Seconds of sound to be made more in a second; less than 0 for fewer.
    private(set) var rate = 0.0

    /// By their timestamps the next samples, which cover `elapsed` seconds, belong `distance` seconds behind where they would lie.
    mutating func follow(distance: Double, elapsed: Double) {
        let share = min(1, max(0, elapsed) / Self.smoothingTime)
        let mean = smoothed.map { $0 + share * (distance - $0) } ?? 0
        smoothed = mean
        if abs(mean) > Self.start { isActive = true }
        guard isActive else { return }
        let wanted = drift + Self.proportional * mean
        rate = min(max(wanted, -Self.limit), Self.limit)
        // What the rate cannot follow is not learned.
        if rate == wanted { drift = min(max(drift + Self.integral * mean * elapsed, -Self.longestDrift), Self.longestDrift) }
    }

    /// The samples have been put where their timestamps are. What the crystals differ by is still known.
    mutating func realigned() { smoothed = nil }
}
