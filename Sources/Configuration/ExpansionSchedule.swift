import Platform

/// When folders and lists are looked into again, as a pure value.
///
/// At each round of the playlist, but no more often than every two seconds, however short the round is; every two seconds while there is a
/// problem, and every second while nothing can be played; and once a minute in any case, since a live stream or an item that is repeated
/// for ever has no rounds.
struct ExpansionSchedule {
    /// When to look next.
    private(set) var due: HostTime
    private var lookedAt: HostTime
    /// The place of the item that began last.
    private var place: Int?
    private var hasProblems = false
    private var nothingPlays = false

    static let withProblems = MediaTime.seconds(2)
    static let withNothing = MediaTime.seconds(1)
    static let shortestRound = MediaTime.seconds(2)
    static let longest = MediaTime.seconds(60)

    /// Due at once.
    init(now: HostTime) { (due, lookedAt) = (now, now) }

    /// Everything has been looked into, and there were problems or no items.
    mutating func looked(at now: HostTime, hasProblems: Bool, isEmpty: Bool) {
        lookedAt = now
        self.hasProblems = hasProblems
        nothingPlays = nothingPlays || isEmpty
        due = now + pause
    }

    /// An item began to be shown; one at an earlier place than the last, or at the same, begins a round. `place` is nil for one that has
    /// left the list.
    mutating func began(at place: Int?) {
        nothingPlays = false
        guard let place else { return }
        if self.place.map({ place <= $0 }) ?? false { due = min(due, lookedAt + Self.shortestRound) }
        self.place = place
    }

    /// Nothing on the list can be played.
    mutating func nothingCanBePlayed() {
        nothingPlays = true
        due = min(due, lookedAt + pause)
    }

    /// What had hung has answered.
    mutating func answered() { due = min(due, lookedAt + Self.shortestRound) }

    private var pause: MediaTime { nothingPlays ? Self.withNothing : hasProblems ? Self.withProblems : Self.longest }
}
