import KioskMedia
import KioskPlatform

// Live streams: what is left out, and how fast they are played.

extension PlaythroughReader {
    /// Leaves out what a live stream has received, while it waited for its turn, beyond what it is to have in hand.
    func catchUpBeforeBeginning() {
        guard let reception = reader.reception, reception.receivedUntil - mapping.itemTime > reception.goal + .seconds(1) else { return }
        // What comes in parts has all of them from the beginning on.
        if liveClock.keepsFirst, reception.receivedUntil - mapping.itemTime < Self.longestBeginning { return }
        if let landed = reader.catchUp() { mapping.itemTime = landed }
    }

    private var isUnread: Bool {
        switch pictures {
        case .unread: true
        default: false
        }
    }

    private static let longestBeginning = MediaTime.seconds(30)

    /// Compares what has been received of a live stream with what is heard of it, the timeline instant `heard`; leaves out what is too much
    /// for the clock to make good. `written` is the instant up to which sound has been enqueued.
    ///
    /// - Returns: how it is to be played; nil where it is no live stream.
    func followSender(heard: MediaTime?, written: MediaTime, format: AudioFormat, mayCatchUp: Bool, at now: HostTime) -> LivePace? {
        guard mapping.rate == 1, !isSoundOnly, let reception = reader.reception else { return nil }
        // Before that, what is heard is what came before, or before what was left out.
        guard let heard, heard >= mapping.instant else { return pace }
        let level = reception.receivedUntil - mapping.itemTime(at: heard)
        if liveClock.follow(level: level, goal: reception.goal, gaps: reception.gaps, at: now), mayCatchUp, isUnread,
            let landed = reader.catchUp()
        {
            mapping = TimeMapping(itemTime: landed, instant: end, rate: mapping.rate)
            sound.restart(at: landed, rate: mapping.rate, format: format)
            if givesSound { sound.catchUp(with: mapping, written: written, format: format, from: reader) }
        }
        lastLevel = level
        return pace
    }

    private var pace: LivePace { LivePace(serial: playthrough.serial, ratio: liveClock.ratio, latency: lastLevel) }
}
