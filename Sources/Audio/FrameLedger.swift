import Media
import Platform

/// Counts the frames of one run of a card (from its start to the next drop, underrun or loss), so that it is known at any time
/// how many of the rendered frames have not been heard.
struct FrameLedger {
    let sampleRate: Int
    /// Frames rendered in this run.
    private(set) var rendered = 0
    private var seen: (unheard: Int, time: HostTime)?

    init(sampleRate: Int) { self.sampleRate = sampleRate }

    /// More frames were rendered for the card.
    mutating func render(_ frames: Int) {
        rendered += frames
        seen?.unheard += frames
    }

    /// The card said that `delay` of the written frames were ahead of the speaker at `time`; `pending` more are rendered and not
    /// written. Returns the rendered frames unheard at that time: a card's delay may count more than it was given (its own
    /// FIFO, the silence before the start) or, after an underrun, be negative.
    mutating func observe(delay: Int, pending: Int, at time: HostTime) -> Int {
        let unheard = min(max(0, delay) + pending, rendered)
        seen = (unheard, time)
        return unheard
    }

    /// Frames rendered and not heard by `now`, from the last observation and the time since; all of them before the first.
    func unheard(at now: HostTime) -> Int {
        guard let seen else { return rendered }
        let elapsed = min(max(0, (now - seen.time).nanoseconds), 60_000_000_000)
        return max(0, seen.unheard - Int(elapsed * Int64(sampleRate) / 1_000_000_000))
    }

    /// A new run begins.
    mutating func restart() {
        rendered = 0
        seen = nil
    }
}
