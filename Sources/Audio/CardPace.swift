import Media
import Platform

/// Judges whether a card that was started keeps time: it moves, and not faster than time does. A driver can hang without an error, and
/// ALSA's null device takes everything at once.
///
/// A card stands still while somebody looks. Of a time in which nobody did (the process was stopped, or frozen with the machine before
/// a suspend, which can take seconds on either side of it) only as much counts as there is between two looks.
struct CardPace {
    private let sampleRate: Int
    private let bufferSize: Int
    private let start: HostTime
    private var lastLook: HostTime
    private var heard = 0
    private var standing = MediaTime.zero

    enum Fault { case stalled, keepsNoTime }

    /// A card that has not moved for this long, and twice its buffer, has failed.
    static let longestPause = MediaTime.milliseconds(1000)

    /// A card with a buffer of `bufferSize` frames begins at `start`.
    init(sampleRate: Int, bufferSize: Int, start: HostTime) {
        (self.sampleRate, self.bufferSize, self.start) = (sampleRate, bufferSize, start)
        lastLook = start
    }

    /// How long the card plays from a full buffer: the longest time between two looks of who plays to it.
    private var bufferDuration: MediaTime { MediaTime(seconds: Double(bufferSize) / Double(sampleRate)) }

    /// Whether a card that has stopped by `now` cannot have played half of the `given` frames since its start: then it did not run empty.
    func stopsEarly(given: Int, at now: HostTime) -> Bool { (now - start).seconds * Double(sampleRate) < 0.5 * Double(given) }

    /// Of the `rendered` frames since the start, `heard` have been heard by `now`; nil when the card does not say.
    mutating func check(rendered: Int, heard: Int?, at now: HostTime) -> Fault? {
        standing += min(now - lastLook, bufferDuration)
        lastLook = now
        if let heard, heard != self.heard {
            self.heard = heard
            standing = .zero
        }
        let elapsed = (now - start).seconds
        if Double(rendered) > Double(2 * bufferSize + sampleRate) + elapsed * 2 * Double(sampleRate) { return .keepsNoTime }
        return standing > Self.longestPause + bufferDuration + bufferDuration ? .stalled : nil
    }
}
