import KioskPlatform

/// How much faster or slower than sent a live stream is played, so that what lies between what is received and what is heard stays the
/// same. A pure value: levels and times in, a ratio out.
///
/// The sender's crystal and ours never agree. At 50 parts per million a stream falls behind by four seconds a day, or runs dry as often. So
/// the player follows the sender, by at most ``limit``: the sound is resampled by that ratio (``AudioQueue/ratio``), and once in some
/// minutes a frame stands a vblank more or less (``FrameScheduler/senderRatio``). That is a proportional and an integral part, damped
/// critically, on the distance of the *level* (what is received and not yet heard) from its target. What counts is the highest level of each
/// ``block``: that of the packet with the shortest way through the network. Lower ones are packets that were late, and bursts.
///
/// The target is what the stream is meant to have in hand; of one that comes in parts (HLS), what it had in its first block.
///
/// A level that stays above the target by more than ``surplus(over:)`` for ``patience`` is what a gap of the network has left: the stream
/// has gone on meanwhile. That much would take hours to make good; so it is left out, in one step.
struct LiveClock: Hashable, Sendable {
    /// A pitch that is off by a thousandth is heard by nobody.
    static let limit = 0.001
    /// More than this between two crystals is a fault, and not learned.
    private static let longestDrift = 0.0005
    private static let block = MediaTime.seconds(15)
    private static let patience = MediaTime.seconds(2)
    private static let proportional = 0.006
    private static let integral = proportional * proportional / 4

    /// Whether the target is never less than what the stream had in its first block.
    let keepsFirst: Bool
    private var first: MediaTime?
    private var drift = 0.0
    private var highest: MediaTime?
    private var blockBegin: HostTime?
    /// Since when the level has been too high without a break.
    private var surplusSince: HostTime?
    private var gaps = 0

    /// Seconds of the stream to play in a second of ours.
    private(set) var ratio = 1.0

    init(keepsFirst: Bool) { self.keepsFirst = keepsFirst }

    /// What the level is to be, where `goal` is what the stream is meant to have in hand.
    func target(_ goal: MediaTime) -> MediaTime { max(goal, first ?? .zero) }

    /// How far the level may be above its target before something is left out.
    static func surplus(over target: MediaTime) -> MediaTime { max(.milliseconds(500), target.scaled(by: 0.5)) }

    /// Takes in the level at `now`, and how often the stream has run dry so far. True where what is too much is to be left out.
    mutating func follow(level: MediaTime, goal: MediaTime, gaps: Int, at now: HostTime) -> Bool {
        if gaps != self.gaps {
            self.gaps = gaps
            restart(at: now)
        }
        guard let begin = blockBegin else {
            restart(at: now)
            return false
        }
        highest = max(highest ?? level, level)
        let target = target(goal)
        if !keepsFirst || first != nil, level > target + Self.surplus(over: target) {
            if let since = surplusSince {
                if now - since >= Self.patience {
                    restart(at: now)
                    return true
                }
            } else {
                surplusSince = now
            }
        } else {
            surplusSince = nil
        }
        if now - begin >= Self.block, let highest {
            if keepsFirst, first == nil { first = highest }
            correct(by: (highest - self.target(goal)).seconds, after: (now - begin).seconds)
            restart(at: now)
        }
        return false
    }

    /// What was measured so far says nothing of what comes: something was left out, or the clock stood.
    mutating func restart(at now: HostTime) { (highest, blockBegin, surplusSince) = (nil, now, nil) }

    private mutating func correct(by error: Double, after elapsed: Double) {
        let wanted = 1 + drift + Self.proportional * error
        ratio = min(max(wanted, 1 - Self.limit), 1 + Self.limit)
        // What the ratio cannot follow is not learned.
        if ratio == wanted { drift = min(max(drift + Self.integral * error * min(elapsed, 60), -Self.longestDrift), Self.longestDrift) }
    }
}

/// How a live stream is played: seconds of it in a second of ours, and what lies between what is received and what is heard.
struct LivePace: Hashable, Sendable {
    var serial: UInt64
    var ratio: Double
    var latency: MediaTime?
}
