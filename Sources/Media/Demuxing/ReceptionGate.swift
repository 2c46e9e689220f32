import KioskPlatform

/// Decides when what has been received of a stream may be decoded. A pure value: levels and times in, a decision out.
///
/// The *level* is how much of the stream has been received and not been taken. At the beginning of a live stream, and after a gap in which
/// everything was taken, nothing more is given out before the level has come to ``goal``: what is played is as far behind what is received
/// from then on, and a packet may be as late as that without being missed. A gap that was shorter than ``longestJitter`` was too much for
/// the goal, which grows by half; a longer one was a fault of the network, which no goal outlasts.
struct ReceptionGate: Hashable, Sendable {
    /// How much is received before anything is given out.
    private(set) var goal: MediaTime
    /// How often everything had been taken while more was to come.
    private(set) var gaps = 0
    private let longestGoal: MediaTime
    /// Since when the level is to come to the goal; nil where everything passes.
    private var fillingSince: HostTime?
    /// When everything had been taken; nil once a packet has come again.
    private var gapSince: HostTime?

    private static let longestJitter = MediaTime.seconds(2)

    /// One that lets everything pass before it is told to ``fill(at:)``.
    init(goal: MediaTime) {
        self.goal = goal
        longestGoal = max(goal, min(goal.scaled(by: 4), .seconds(60)))
    }

    /// Lets nothing pass before the level has come to the goal.
    mutating func fill(at now: HostTime) { fillingSince = now }

    /// A packet is asked for and none is there.
    mutating func ranDry(at now: HostTime) {
        guard gapSince == nil else { return }
        gaps += 1
        (gapSince, fillingSince) = (now, now)
    }

    /// A packet has come.
    mutating func received(at now: HostTime) {
        guard let since = gapSince else { return }
        if now - since < Self.longestJitter { goal = min(goal + goal.scaled(by: 0.5), longestGoal) }
        (gapSince, fillingSince) = (nil, now)
    }

    /// Whether a packet may be taken. What comes more slowly than it is played is not waited for without end.
    mutating func isOpen(level: MediaTime, isFull: Bool, at now: HostTime) -> Bool {
        guard let since = fillingSince else { return true }
        guard level >= goal || isFull || now - since > goal + goal + Self.longestJitter else { return false }
        fillingSince = nil
        return true
    }
}
