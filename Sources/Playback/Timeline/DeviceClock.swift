import KioskPlatform

/// The position of the sound card, between and beyond its own reports: a phase-locked loop over (host time, frames heard).
///
/// Reports come once a period, late by the scheduler's delay, and in some drivers in steps of a whole period. A second-order loop with a
/// time constant of about a second averages that away and follows the card's own rate (crystals differ by up to some hundred ppm). After
/// ``restart()`` the loop averages the first reports evenly, so it is usable at once.
package struct DeviceClock: Sendable {
    private let nominalRate: Double  // frames a nanosecond
    private var rate: Double
    private var time: HostTime?
    private var frames = 0.0
    private var reports = 0

    /// Creates a clock for a card of `sampleRate` frames a second that has not reported yet.
    package init(sampleRate: Int) {
        nominalRate = Double(sampleRate) / 1e9
        rate = nominalRate
    }

    /// Starts a new line at the known rate, after the card has stopped and restarted (interruption, xrun).
    package mutating func restart() {
        time = nil
        reports = 0
    }

    /// Takes in that `frames` frames had been heard at `now`.
    package mutating func report(frames observed: Double, at now: HostTime) {
        guard let last = time else {
            (time, frames, reports) = (now, observed, 1)
            return
        }
        let elapsed = Double((now - last).nanoseconds)
        guard elapsed > 0 else { return }
        let predicted = frames + elapsed * rate
        let error = observed - predicted
        if abs(error) > 0.1 * nominalRate * 1e9 {  // a tenth of a second: not jitter
            (time, frames, reports) = (now, observed, 1)
            return
        }
        reports += 1
        let seconds = elapsed / 1e9
        let steady = min(0.5, 1.4 * seconds)
        frames = predicted + error * max(steady, 1 / Double(reports))
        if reports > 50 { rate += error / elapsed * min(0.1, seconds * seconds) }
        rate = min(max(rate, 0.999 * nominalRate), 1.001 * nominalRate)
        time = now
    }

    /// Returns the frames heard at `now`, which may lie in the near future; nil before the first report.
    package func frames(at now: HostTime) -> Double? {
        time.map { frames + Double((now - $0).nanoseconds) * rate }
    }
}
