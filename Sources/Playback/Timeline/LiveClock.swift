import KioskPlatform

/// Computes the speed of a live stream against its sender's, which keeps the amount received but not yet heard constant. A pure value:
/// levels and times in, a ratio out.
///
/// The sender's crystal and ours never agree. At 50 parts per million a stream falls behind by four seconds a day, or runs dry as often. So
/// the player follows the sender, by at most ``limit``. The sound is resampled by that ratio (``AudioQueue/ratio``), and once in some
/// minutes a frame stands a vblank more or less (``FrameScheduler/senderRatio``). A proportional and an integral part, critically damped,
/// act on the distance of the *level* (sound received and not yet heard) from its target. Only the highest level of each ``block`` counts:
/// that of the packet with the shortest way through the network. Lower levels come from late packets and bursts.
///
/// The target is the stream's goal; for a stream that comes in parts (HLS), at least the level of its first block.
///
/// A level that stays above the target by more than ``surplus(over:)`` for ``patience`` comes from a gap of the network: the stream has
/// gone on meanwhile. To play off that much would take hours, so the player skips it in one step.
struct LiveClock: Hashable, Sendable {
    /// An inaudible change of pitch: a thousandth.
    static let limit = 0.001
    /// A larger difference between two crystals is a fault; the integral does not learn it.
    private static let longestDrift = 0.0005
    private static let block = MediaTime.seconds(15)
    private static let patience = MediaTime.seconds(2)
    private static let proportional = 0.006
    private static let integral = proportional * proportional / 4

    /// Whether the target is never less than the level of the stream's first block.
    let keepsFirst: Bool
    private var first: MediaTime?
    private var drift = 0.0
    private var highest: MediaTime?
    private var blockBegin: HostTime?
    /// The time since which the level has been too high without a break.
    private var surplusSince: HostTime?
    private var gaps = 0

    /// The seconds of the stream to play in a second of ours.
    private(set) var ratio = 1.0

    init(keepsFirst: Bool) { self.keepsFirst = keepsFirst }

    /// Returns the target level for a stream that should hold `goal`.
    func target(_ goal: MediaTime) -> MediaTime { max(goal, first ?? .zero) }

    /// Returns how far the level may exceed its target before the player skips a part.
    static func surplus(over target: MediaTime) -> MediaTime { max(.milliseconds(500), target.scaled(by: 0.5)) }

    /// Takes in the level at `now`, and the number of times the stream has run dry so far. Returns true if the player should skip the
    /// surplus.
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

    /// Discards the measurements after a skip or a stop of the clock: they say nothing about later levels.
    mutating func restart(at now: HostTime) { (highest, blockBegin, surplusSince) = (nil, now, nil) }

    private mutating func correct(by error: Double, after elapsed: Double) {
        let wanted = 1 + drift + Self.proportional * error
        ratio = min(max(wanted, 1 - Self.limit), 1 + Self.limit)
        // The integral does not learn an error that the ratio cannot follow.
        if ratio == wanted { drift = min(max(drift + Self.integral * error * min(elapsed, 60), -Self.longestDrift), Self.longestDrift) }
    }
}

/// The pace of a live stream: its seconds in a second of ours, and the latency from receiving to hearing.
struct LivePace: Hashable, Sendable {
    var serial: UInt64
    var ratio: Double
    var latency: MediaTime?
}
