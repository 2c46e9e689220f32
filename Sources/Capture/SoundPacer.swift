import KioskPlatform
import KioskPlayback

/// Keeps recorded sound in step with the pictures: a pure value.
///
/// Master is CLOCK_MONOTONIC, on which V4L2 stamps pictures and ALSA the position of the card. The card counts samples by a crystal of its own, which is off by up to some
/// hundred millionths: 200 ppm are 0.7 s in an hour. ``DeviceClock`` smooths the card's reports, and says when a sample was at the microphone. Where that is in the film
/// and where the sound has been written up to differ by the error. The resampler is told to make as many samples more or fewer as
/// bring a tenth of the error back in a second, at most a thousandth: nobody hears that. So a card that is off by 200 ppm ends up 2 ms off, and stays there.
///
/// After a start, a pause or an overrun the next sample is put where it belongs at once, by silence or by leaving samples out; and wherever it is off by more than
/// ``tolerance``.
struct SoundPacer: Sendable {
    /// What is to be done with the next samples.
    struct Order: Hashable, Sendable {
        /// Samples of silence to be written before them.
        var silence = 0
        /// Samples of the film's rate to be left out.
        var skipped = 0
        /// Samples more, or fewer, to be made in a second.
        var correction = 0
    }

    /// What is not put right by and by.
    static let tolerance = MediaTime.milliseconds(12)
    /// Of the error in a second.
    private static let gain = 0.1
    /// More than that could be heard.
    private static let mostCorrection = 0.001

    private let sampleRate: Double
    private var isAligned = false
    /// The last error, in seconds: positive where sound is behind.
    private(set) var error = 0.0

    /// A pacer of film sound of `sampleRate`.
    init(sampleRate: Int) { self.sampleRate = Double(sampleRate) }

    /// What comes next does not follow what came before.
    mutating func interrupt() { isAligned = false }

    /// The next samples belong at `time` of the film, and would be written at sample number `position`.
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
