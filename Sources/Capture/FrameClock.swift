import KioskPlatform

/// The times of a camera's pictures, and the number of missing ones: a pure value, from the driver's sequence numbers and timestamps.
///
/// A driver's timestamps jitter: by a millisecond over USB, by more if the driver reads the clock late. A camera has its own crystal, and
/// takes pictures evenly. So each picture is expected one frame duration after the last one, and a tenth of the error is corrected; the
/// duration follows slowly. An error of more than 0.6 durations is no jitter, because cameras lower their rate in the dark: then the
/// timestamp counts at once. Gaps in the sequence numbers are dropped pictures; later pictures keep their times.
struct FrameClock: Sendable {
    /// The measured time from one picture to the next.
    private(set) var frameDuration: MediaTime
    /// The number of pictures dropped by the camera, its driver or this program.
    private(set) var droppedCount = 0
    private var last: (time: HostTime, number: UInt32)?

    /// Makes a clock for a camera with this frame duration.
    init(frameDuration: MediaTime) { self.frameDuration = max(frameDuration, .milliseconds(1)) }

    /// Returns the time of the picture with this number and timestamp; always later than that of the last picture.
    mutating func time(ofPicture number: UInt32, stamp: HostTime) -> HostTime {
        guard let (before, lastNumber) = last else {
            last = (stamp, number)
            return stamp
        }
        // Some drivers do not count; some restart at 0.
        let ahead = number &- lastNumber
        let counts = ahead > 0 && ahead < 10_000
        let elapsed = stamp - before
        let steps = counts ? Int64(ahead) : max(1, Int64(saturating: elapsed.seconds / frameDuration.seconds))
        if counts { droppedCount += Int(ahead) - 1 }

        let expected = before + frameDuration * steps
        let error = stamp - expected
        let tolerance = max(frameDuration.scaled(by: 0.6), .milliseconds(8))
        var time: HostTime
        if error > tolerance || error < -tolerance {
            time = stamp
            let measured = elapsed.scaled(by: 1 / Double(steps))
            if measured > .milliseconds(1), measured < .seconds(2) { frameDuration = measured }
        } else {
            time = expected + error.scaled(by: 0.1)
            frameDuration = frameDuration + error.scaled(by: 0.005 / Double(steps))
        }
        time = max(time, before + MediaTime(nanoseconds: 100_000))
        last = (time, number)
        return time
    }
}
