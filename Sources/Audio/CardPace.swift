import KioskMedia
import KioskPlatform

/// Judges whether a started card keeps time: its position moves, and not faster than time. A driver can hang without an error, and ALSA's
/// null device takes all frames at once. A pure value.
///
/// The time between two readings counts as standstill for the length of the buffer at most. A running process reads at least that often. A
/// stopped process, or one frozen before a suspend, did not read for longer: the card is not to blame.
struct CardPace {
    private let sampleRate: Int
    private let bufferSize: Int
    private let start: HostTime
    private var lastReading: HostTime
    private var heard = 0
    private var standstill = MediaTime.zero

    enum Fault { case stalled, keepsNoTime }

    /// The time after which a card that has not moved has failed; twice its buffer is added.
    static let longestPause = MediaTime.milliseconds(1000)

    /// Starts to judge a card with a buffer of `bufferSize` frames at `start`.
    init(sampleRate: Int, bufferSize: Int, start: HostTime) {
        (self.sampleRate, self.bufferSize, self.start) = (sampleRate, bufferSize, start)
        lastReading = start
    }

    /// The time that the card plays from a full buffer.
    private var bufferDuration: MediaTime { MediaTime(seconds: Double(bufferSize) / Double(sampleRate)) }

    /// Returns whether a card that has stopped by `now` cannot have played half of the `given` frames since its start. If so, it has not
    /// run empty.
    func stopsEarly(given: Int, at now: HostTime) -> Bool { (now - start).seconds * Double(sampleRate) < 0.5 * Double(given) }

    /// Takes a reading. Of the `rendered` frames since the start, `heard` have been heard by `now`. `heard` is nil if the card does not
    /// report it.
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
