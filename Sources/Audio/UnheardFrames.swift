import KioskMedia
import KioskPlatform

/// Counts the frames rendered for a card and not heard, from its start to the next drop, underrun or loss.
///
/// Frames heard are ALSA's `hw_ptr` less the delay behind it; frames rendered are its `appl_ptr` and those not written yet. Between two
/// readings of the card, time counts as heard at the sample rate.
struct UnheardFrames {
    let sampleRate: Int
    /// Frames rendered since the start.
    private(set) var rendered = 0
    private var last: (unheard: Int, time: HostTime)?

    init(sampleRate: Int) { self.sampleRate = sampleRate }

    /// Adds frames that were rendered.
    mutating func add(_ frames: Int) {
        rendered += frames
        last?.unheard += frames
    }

    /// Takes a reading of the card. At `time`, `delay` of the written frames had not reached the speaker (`snd_pcm_status_get_delay`).
    /// `pending` more are rendered and not written.
    ///
    /// - Returns: the rendered frames unheard at that time. A card's delay may exceed the frames given to it (its own FIFO, the silence
    ///   before the start). It may be negative after an underrun.
    mutating func observe(delay: Int, pending: Int, at time: HostTime) -> Int {
        let unheard = min(max(0, delay) + pending, rendered)
        last = (unheard, time)
        return unheard
    }

    /// Returns the frames rendered and not heard by `now`, from the last reading and the time since. Returns all of them before the first
    /// reading.
    func count(at now: HostTime) -> Int {
        guard let last else { return rendered }
        let elapsed = min(max(0, (now - last.time).nanoseconds), 60_000_000_000)
        return max(0, last.unheard - Int(elapsed * Int64(sampleRate) / 1_000_000_000))
    }

    /// Resets the count for a new start of the card.
    mutating func restart() {
        rendered = 0
        last = nil
    }
}
