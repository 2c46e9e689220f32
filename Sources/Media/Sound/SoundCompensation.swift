/// The number of samples to add or drop in a live stream's sound to keep it on its timestamps. A pure value: distances in, a rate out.
///
/// A sender may count samples by one crystal and stamp packets by another. Sound and pictures share the timestamps. Uncorrected samples
/// that are 100 parts per million off reach ``AudioDecoder/tolerance`` after eight minutes, out of step with the pictures. The decoder then
/// has to insert that much silence, or drop sound. So libswresample adds or drops samples continuously. The control works on the smoothed
/// distance of the samples from their timestamps. It has a proportional and an integral part, critically damped.
///
/// Sound that stays within ``start`` of its timestamps is not changed: most senders have one crystal.
struct SoundCompensation: Hashable, Sendable {
    /// Inaudible: a pitch that is off by a thousandth.
    static let limit = 0.001
    /// A larger difference between two crystals is a fault, and not learned.
    private static let longestDrift = 0.0006
    /// The distance in seconds at which the compensation starts.
    static let start = 0.004
    private static let proportional = 0.03
    private static let integral = proportional * proportional / 4
    private static let smoothingTime = 3.0

    private var isActive = false
    private var smoothed: Double?
    private var drift = 0.0
    /// The seconds of sound to add in a second; negative to drop.
    private(set) var rate = 0.0

    /// Takes a new distance. The next samples cover `elapsed` seconds, and belong `distance` seconds after their present place.
    mutating func follow(distance: Double, elapsed: Double) {
        let share = min(1, max(0, elapsed) / Self.smoothingTime)
        let mean = smoothed.map { $0 + share * (distance - $0) } ?? 0
        smoothed = mean
        if abs(mean) > Self.start { isActive = true }
        guard isActive else { return }
        let wanted = drift + Self.proportional * mean
        rate = min(max(wanted, -Self.limit), Self.limit)
        // Does not learn beyond the rate limit.
        if rate == wanted { drift = min(max(drift + Self.integral * mean * elapsed, -Self.longestDrift), Self.longestDrift) }
    }

    /// Restarts after the samples were put at their timestamps. Keeps the drift of the crystals.
    mutating func realigned() { smoothed = nil }
}
