import KioskMedia
import KioskPlatform

/// Judges whether a started card keeps time: its position moves, and not faster than time does. A driver can hang without an error, and
/// ALSA's null device takes everything at once. A pure value.
///
/// Time between two readings counts as standstill for at most the length of the buffer, which is the longest time between two readings of a
/// running process: a process that was stopped, or frozen with the machine before a suspend, did not read for longer, and the card is not
/// to blame.
struct CardPace {
    private let sampleRate: Int
    private let bufferSize: Int
    private let start: HostTime
    private var lastReading: HostTime
    private var heard = 0
    private var standstill = MediaTime.zero

    enum Fault { case stalled, keepsNoTime }

    /// A card that has not moved for this long, and twice its buffer, has failed.
    static let longestPause = MediaTime.milliseconds(1000)

    /// A card with a buffer of `bufferSize` frames begins at `start`.
    init(sampleRate: Int, bufferSize: Int, start: HostTime) {
        (self.sampleRate, self.bufferSize, self.start) = (sampleRate, bufferSize, start)
        lastReading = start
    }

    /// How long the card plays from a full buffer.
    private var bufferDuration: MediaTime { MediaTime(seconds: Double(bufferSize) / Double(sampleRate)) }

    /// Whether a card that has stopped by `now` cannot have played half of the `given` frames since its start: then it has not run empty.
    func stopsEarly(given: Int, at now: HostTime) -> Bool { (now - start).seconds * Double(sampleRate) < 0.5 * Double(given) }

    /// A reading: of the `rendered` frames since the start, `heard` have been heard by `now`; nil when the card does not tell.
    mutating func check(rendered: Int, heard: Int?, at now: HostTime) -> Fault? {
        standstill += min(now - lastReading, bufferDuration)
        lastReading = now
        if let heard, heard != self.heard {
            self.heard = heard
            standstill = .zero
        }
        let elapsed = (now - start).seconds
        if Double(rendered) > Double(2 * bufferSize + sampleRate) + elapsed * 2 * Double(sampleRate) { return .keepsNoTime }
        return standstill > Self.longestPause + bufferDuration + bufferDuration ? .stalled : nil
    }
}
