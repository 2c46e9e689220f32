import KioskPlatform

/// Decides when received packets may be decoded. A pure value: levels and times in, a decision out.
///
/// The *level* is the time of packets received and not taken. At the beginning of a live stream, and after a gap with an empty queue, the
/// gate closes. It opens once the level reaches ``goal``. From then on playback is that far behind reception, and a packet may be that
/// late. A gap shorter than ``longestJitter`` was too much for the goal, which grows by half. A longer one was a network fault, which no
/// goal outlasts.
struct ReceptionGate: Hashable, Sendable {
    /// The level at which the gate opens.
    private(set) var goal: MediaTime
    /// How often the queue ran dry while more was to come.
    private(set) var gaps = 0
    private let longestGoal: MediaTime
    /// The time since which the gate waits for the goal; nil while it is open.
    private var fillingSince: HostTime?
    /// The time at which the queue ran dry; nil once a packet has come again.
    private var gapSince: HostTime?

    private static let longestJitter = MediaTime.seconds(2)

    /// Creates an open gate. It closes at the first ``fill(at:)`` or ``ranDry(at:)``.
    init(goal: MediaTime) {
        self.goal = goal
        longestGoal = max(goal, min(goal.scaled(by: 4), .seconds(60)))
    }

    /// Closes the gate until the level reaches the goal.
    mutating func fill(at now: HostTime) { fillingSince = now }

    /// Notes that a packet was requested from an empty queue.
    mutating func ranDry(at now: HostTime) {
        guard gapSince == nil else { return }
        gaps += 1
        (gapSince, fillingSince) = (now, now)
    }

    /// Notes that a packet has come.
    mutating func received(at now: HostTime) {
        guard let since = gapSince else { return }
        if now - since < Self.longestJitter { goal = min(goal + goal.scaled(by: 0.5), longestGoal) }
        (gapSince, fillingSince) = (nil, now)
    }

    /// Whether a packet may be taken. The wait has a limit, for a stream that comes more slowly than it plays.
    mutating func isOpen(level: MediaTime, isFull: Bool, at now: HostTime) -> Bool {
        guard let since = fillingSince else { return true }
        guard level >= goal || isFull || now - since > goal + goal + Self.longestJitter else { return false }
        fillingSince = nil
        return true
    }
}
