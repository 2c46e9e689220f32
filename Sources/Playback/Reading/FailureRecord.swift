import KioskPlatform

/// The failures since something last played: whether the whole playlist has failed, when to try it again, and the complaints made. A pure
/// value.
struct FailureRecord {
    /// The number of items in a row that failed.
    private var count = 0
    /// The number of items in a row, after the one being read, that failed to open ahead of time.
    private var ahead = 0
    private var retryDelay = firstRetryDelay
    /// When to start over, after everything has failed.
    private(set) var retryAt: HostTime?
    /// The complaints about each item since it last played without fault, so that each is made once.
    private var complaints: [QueueItem.ID: Set<String>] = [:]

    /// The most complaints remembered of an item.
    private static let mostComplaints = 16

    private static let firstRetryDelay = MediaTime.seconds(1)
    /// The display must not be without a picture for longer than this after the cause is gone.
    private static let longestRetryDelay = MediaTime.seconds(2)

    /// Whether another of `items` items may be skipped ahead of time; the last failure of a round is handled in its place.
    func maySkipAhead(of items: Int) -> Bool { count + ahead + 1 < items }

    /// Notes that an item has failed ahead of time, while another is being read, or that `items` items are passed over.
    mutating func failAhead(_ items: Int = 1) { ahead += items }

    /// Notes that an item has failed in its place. Returns true if `items` items have failed in a row; then the round starts over.
    mutating func fail(of items: Int) -> Bool {
        takePlaythrough()
        count += 1
        guard count >= items else { return false }
        count = 0
        return true
    }

    /// Notes that the place of the items that failed ahead has come, and of the item that follows them.
    mutating func takePlaythrough() { (count, ahead) = (count + ahead, 0) }

    mutating func played() { (count, retryDelay) = (0, Self.firstRetryDelay) }

    /// Sets the wait before everything is tried again. Returns its length if it is the first.
    mutating func wait(from now: HostTime) -> MediaTime? {
        let delay = retryDelay
        retryAt = now + delay
        retryDelay = min(delay + delay, Self.longestRetryDelay)
        return delay == Self.firstRetryDelay ? delay : nil
    }

    /// Whether everything has failed, and nothing has played since.
    var isRetrying: Bool { retryDelay > Self.firstRetryDelay }

    /// Ends the wait.
    mutating func retry() { retryAt = nil }

    /// Starts over, because the viewer moves or the playlist has changed: everything may be tried again.
    mutating func restart() { (retryAt, count, ahead) = (nil, 0, 0) }

    /// Whether this complaint about an item is new; remembers it. A reader that overwrites its memory reports another number each time,
    /// which is no news: numbers of more than three digits do not count.
    mutating func isNews(_ message: String, about item: QueueItem.ID) -> Bool {
        let message = message.replacing(/[0-9]{4,}/, with: "…")
        if complaints[item, default: []].count >= Self.mostComplaints, complaints[item]?.contains(message) == false {
            complaints[item] = []
        }
        return complaints[item, default: []].insert(message).inserted
    }

    /// Forgets the complaints about items that are no longer there.
    mutating func keepComplaints(about isThere: (QueueItem.ID) -> Bool) {
        complaints = complaints.filter { isThere($0.key) }
    }

    /// Notes that an item played without fault: the next complaint about it is news.
    mutating func clear(_ item: QueueItem.ID) { complaints[item] = nil }
}
