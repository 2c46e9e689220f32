import KioskPlatform

/// What has failed since something last played, as a pure value: whether it is all of the playlist, when that is tried again, and what has
/// been said of it.
struct FailureRecord {
    /// Items in a row that failed.
    private var count = 0
    /// Items in a row after the one that is being read that failed to open ahead of time.
    private var ahead = 0
    private var retryDelay = firstRetryDelay
    /// When to begin anew, after everything has failed.
    private(set) var retryAt: HostTime?
    /// The complaints about each item since it last played without fault, so that each is made once.
    private var complaints: [QueueItem.ID: Set<String>] = [:]

    /// So many are remembered of an item.
    private static let mostComplaints = 16

    private static let firstRetryDelay = MediaTime.seconds(1)
    /// The display is not to be without a picture for longer than this after the cause is gone.
    private static let longestRetryDelay = MediaTime.seconds(2)

    /// Whether another of so many items may be skipped ahead of time: the last failure of a round is dealt with in its place.
    func maySkipAhead(of items: Int) -> Bool { count + ahead + 1 < items }

    /// An item has failed ahead of time, while another is being read, or so many are passed over.
    mutating func failAhead(_ items: Int = 1) { ahead += items }

    /// An item has failed in its place; true when so many have in a row. Then the round begins anew.
    mutating func fail(of items: Int) -> Bool {
        takePlaythrough()
        count += 1
        guard count >= items else { return false }
        count = 0
        return true
    }

    /// The place has come of what failed ahead, and of what follows it.
    mutating func takePlaythrough() { (count, ahead) = (count + ahead, 0) }

    mutating func played() { (count, retryDelay) = (0, Self.firstRetryDelay) }

    /// Waits a while before everything is tried again; returns how long where it is the first time.
    mutating func wait(from now: HostTime) -> MediaTime? {
        let delay = retryDelay
        retryAt = now + delay
        retryDelay = min(delay + delay, Self.longestRetryDelay)
        return delay == Self.firstRetryDelay ? delay : nil
    }

    /// Whether everything has failed, and nothing has played since.
    var isRetrying: Bool { retryDelay > Self.firstRetryDelay }

    /// The wait is over.
    mutating func retry() { retryAt = nil }

    /// The viewer moves, or the playlist has changed: everything may be tried again.
    mutating func restart() { (retryAt, count, ahead) = (nil, 0, 0) }

    /// Whether this has not been said of an item yet. What a reader that writes over its memory claims has another number each time, and is no news for that:
    /// numbers of more than three digits do not count.
    mutating func isNews(_ message: String, about item: QueueItem.ID) -> Bool {
        let message = message.replacing(/[0-9]{4,}/, with: "…")
        if complaints[item, default: []].count >= Self.mostComplaints, complaints[item]?.contains(message) == false {
            complaints[item] = []
        }
        return complaints[item, default: []].insert(message).inserted
    }

    /// Complaints about items that are no longer there are dropped.
    mutating func keepComplaints(about isThere: (QueueItem.ID) -> Bool) {
        complaints = complaints.filter { isThere($0.key) }
    }

    /// An item played without fault: the next complaint about it is news.
    mutating func clear(_ item: QueueItem.ID) { complaints[item] = nil }
}
