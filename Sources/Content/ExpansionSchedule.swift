import KioskPlatform

/// When folders and lists are looked into again, as a pure value.
///
/// Soon after the kernel has told of a change there, but no more often than five times a second; every five seconds where it does not tell
/// all (a network share); every two seconds while there is a problem, and every second while there is nothing to play; and once a minute in any
/// case.
struct ExpansionSchedule {
    /// When to look next.
    private(set) var due: HostTime
    private var lookedAt: HostTime
    /// When something has changed that no look has seen.
    private var changedAt: HostTime?
    private var hasProblems = false
    private var nothingPlays = false
    private var isPartial = false

    static let withProblems = MediaTime.seconds(2)
    static let withNothing = MediaTime.seconds(1)
    static let withPartialCoverage = MediaTime.seconds(5)
    static let longest = MediaTime.seconds(60)
    static let shortest = MediaTime.milliseconds(200)

    /// Due at once.
    init(now: HostTime) { (due, lookedAt) = (now, now) }

    /// Everything has been looked into, from `begun` on, and there were problems or no items, or folders of which not every change is told.
    mutating func looked(begun: HostTime, at now: HostTime, hasProblems: Bool, isEmpty: Bool, isPartial: Bool) {
        lookedAt = now
        (self.hasProblems, self.isPartial) = (hasProblems, isPartial)
        nothingPlays = isEmpty
        due = now + pause
        if let changed = changedAt {
            if changed >= begun { due = min(due, now + Self.shortest) } else { changedAt = nil }
        }
    }

    /// Something there has changed.
    mutating func changed(at now: HostTime) {
        changedAt = now
        due = min(due, max(now, lookedAt + Self.shortest))
    }

    /// Everything is to be looked into anew.
    mutating func restart(at now: HostTime) { due = now }

    private var pause: MediaTime {
        nothingPlays ? Self.withNothing : hasProblems ? Self.withProblems : isPartial ? Self.withPartialCoverage : Self.longest
    }
}
