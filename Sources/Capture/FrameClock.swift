import KioskPlatform

/// When the pictures of a camera were taken, and which of them are missing: a pure value, from the numbers and times that the driver gives.
///
/// Times of a driver jitter: by a millisecond where USB carries the pictures, by more where the driver looks at the clock late. A camera has a
/// crystal of its own, and takes pictures evenly. So each picture is expected one frame duration after the one before, and a tenth of what it was off by is
/// believed; the duration follows slowly. What is off by most of a duration is no jitter (cameras take fewer pictures in the dark): it is believed at
/// once. Numbers that are left out are pictures that were dropped: what comes after them keeps its time.
struct FrameClock: Sendable {
    /// From one picture to the next, as measured.
    private(set) var frameDuration: MediaTime
    /// Pictures that the camera, its driver or this program had no room for.
    private(set) var droppedCount = 0
    private var last: (time: HostTime, number: UInt32)?

    /// A clock of a camera that takes a picture every `frameDuration`.
    init(frameDuration: MediaTime) { self.frameDuration = max(frameDuration, .milliseconds(1)) }

    /// The time of the picture of this number, which its driver stamped at `stamp`; later than that of the picture before.
    mutating func time(ofPicture number: UInt32, stamp: HostTime) -> HostTime {
        guard let (before, lastNumber) = last else {
            last = (stamp, number)
            return stamp
        }
        // Some drivers do not count, some begin anew.
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
