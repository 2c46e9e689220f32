/// How much faster or slower than written the sound is played, so that it stays with pictures that are locked to the display.
///
/// Two crystals never agree: a display and a card some hundred parts per million apart lose a vblank against each other every minute. And
/// 23.976 frames a second on 24 Hz are a thousandth too fast by intent. Somebody has to give way, and a frame that stands a vblank too long
/// is seen where a pitch that is a thousandth higher is not heard. So the sound gives way, by at most ``limit``, slowly: a proportional and
/// an integral part (damped critically, with a time constant of some ten seconds) on the smoothed distance between picture and sound. The
/// integral is what the two crystals differ by; it is kept over pauses, seeks and items.
struct SoundLock: Hashable, Sendable {
    /// A pitch that is off by an eighth of a per cent (two hundredths of a semitone) is heard by nobody.
    static let limit = 0.00125
    /// More than this between two crystals is a fault, and not learned.
    private static let longestDrift = 0.0006
    private static let proportional = 0.1
    private static let integral = proportional * proportional / 4
    private static let smoothingTime = 1.0

    /// Sound seconds to play in a second of the card.
    private(set) var ratio = 1.0
    private var drift = 0.0
    private var smoothed: Double?

    /// The picture is `error` seconds ahead of the sound, `elapsed` seconds after the last report; it is meant to run `speed` times as fast
    /// as written.
    mutating func follow(error: Double, elapsed: Double, speed: Double) {
        let share = min(1, elapsed / Self.smoothingTime)
        let distance = smoothed.map { $0 + share * (error - $0) } ?? error
        smoothed = distance
        let wanted = speed + drift + Self.proportional * distance
        ratio = min(max(wanted, 1 - Self.limit), 1 + Self.limit)
        if ratio == wanted { drift = min(max(drift + Self.integral * distance * elapsed, -Self.longestDrift), Self.longestDrift) }
    }

    /// The picture follows the sound from now on, or both begin anew.
    mutating func release() {
        ratio = 1
        smoothed = nil
    }
}
