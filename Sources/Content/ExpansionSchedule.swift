import KioskPlatform

/// Decides when to look into folders and lists again, as a pure value.
///
/// It looks soon after the kernel has reported a change, but at most five times a second. Without complete reports (a network share) it
/// looks every five seconds, with a problem every two seconds, with nothing to play every second, and otherwise once a minute.
struct ExpansionSchedule {
    /// When to look next.
    private(set) var due: HostTime
    private var lookedAt: HostTime
    /// The time of a change that no look has seen.
    private var changedAt: HostTime?
    private var hasProblems = false
    private var nothingPlays = false
    private var isPartial = false

    static let withProblems = MediaTime.seconds(2)
    static let withNothing = MediaTime.seconds(1)
    static let withPartialCoverage = MediaTime.seconds(5)
    static let longest = MediaTime.seconds(60)
    static let shortest = MediaTime.milliseconds(200)

    /// Makes a schedule that is due at once.
    init(now: HostTime) { (due, lookedAt) = (now, now) }

    /// Notes a look into everything that began at `begun`; and whether it found problems, no items, or folders without complete reports.
    mutating func looked(begun: HostTime, at now: HostTime, hasProblems: Bool, isEmpty: Bool, isPartial: Bool) {
        lookedAt = now
        (self.hasProblems, self.isPartial) = (hasProblems, isPartial)
        nothingPlays = isEmpty
        due = now + pause
        if let changed = changedAt {
            if changed >= begun { due = min(due, now + Self.shortest) } else { changedAt = nil }
        }
    }

    /// Notes a change.
    mutating func changed(at now: HostTime) {
        changedAt = now
        due = min(due, max(now, lookedAt + Self.shortest))
    }

    /// Makes a look due at once.
    mutating func restart(at now: HostTime) { due = now }

    private var pause: MediaTime {
        nothingPlays ? Self.withNothing : hasProblems ? Self.withProblems : isPartial ? Self.withPartialCoverage : Self.longest
    }
}
