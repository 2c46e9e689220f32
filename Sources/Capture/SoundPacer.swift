import KioskPlatform
import KioskPlayback

/// Keeps recorded sound in step with the pictures: a pure value.
///
/// The clock is CLOCK_MONOTONIC: V4L2 stamps pictures with it, and ALSA the card's position. The card's own crystal, which counts the
/// samples, is off by up to some hundred ppm: 200 ppm are 0.7 s in an hour. ``DeviceClock`` smooths the card's reports, and returns when a
/// sample was at the microphone. The error is the difference between that sample's place in the film and the end of the written sound. The
/// resampler makes more or fewer samples, to correct a tenth of the error in a second, at most a thousandth of the rate: nobody hears that.
/// So a card that is off by 200 ppm ends up 2 ms off, and stays there.
///
/// After a start, a pause or an overrun, and for errors above ``tolerance``, the pacer corrects the next sample's place at once: it inserts
/// silence or drops samples.
struct SoundPacer: Sendable {
    /// The instructions for the next samples.
    struct Order: Hashable, Sendable {
        /// Samples of silence to write before them.
        var silence = 0
        /// Samples to drop, at the film's rate.
        var skipped = 0
        /// Samples to add (or remove, if negative) in a second.
        var correction = 0
    }

    /// The largest error that is corrected gradually.
    static let tolerance = MediaTime.milliseconds(12)
    /// The share of the error to correct in a second.
    private static let gain = 0.1
    /// The largest correction; a larger one would be audible.
    private static let mostCorrection = 0.001

    private let sampleRate: Double
    private var isAligned = false
    /// The last error, in seconds: positive if the sound is behind.
    private(set) var error = 0.0

    /// Makes a pacer for a film with sound of `sampleRate`.
    init(sampleRate: Int) { self.sampleRate = Double(sampleRate) }

    /// Notes that the next samples do not follow the last ones.
    mutating func interrupt() { isAligned = false }

    /// Returns the instructions for the next samples, which belong at `time` of the film and would be written as sample number `position`.
    mutating func order(at time: MediaTime, position: Int) -> Order {
        let difference = time.seconds * sampleRate - Double(position)
        error = difference / sampleRate
        guard isAligned, abs(error) <= Self.tolerance.seconds else {
            isAligned = true
            let samples = Int(difference.rounded())
            return samples > 0 ? Order(silence: samples) : Order(skipped: -samples)
        }
        let most = sampleRate * Self.mostCorrection
        return Order(correction: Int(min(max(difference * Self.gain, -most), most).rounded()))
    }
}
