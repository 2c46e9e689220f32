import KioskMedia
import KioskPlatform
import KioskVocabulary

// Lost items: streams that do not come back in time, and items that hold up those behind them. The playlist goes on without them.
//
// If an item takes longer than ``UpcomingPlaythrough/patience`` to open in its place, or to fail, playback waits for it once. From then on
// it is opened beside the current playthrough (``LostItem``): a while after each failure, and at once when it has been played. The playlist
// passes over its place and opens the next item instead, unless the lost item is open by then. A quick attempt, whether it works or fails,
// ends that: the item holds up nothing.

extension UpcomingPlaythrough {
    /// An item that opens or fails within this time holds up nothing.
    static let patience = MediaTime.seconds(2)
    /// The most lost items that are open beside the current playthrough.
    private static let mostOpen = 2

    // MARK: Getting lost

    /// Gives up the awaited stream, whose time is over, and opens the item behind it. If nothing else is on the list, everything has
    /// failed, and playback resumes when the stream is there again.
    mutating func giveUp() -> Outcome {
        guard let given = recovery else { return .none }
        (recovery, lastRecovery, next) = (nil, nil, .none)
        opener.request(nil)
        guard let behind = cursor.nextItem(after: given.position) else { return .endOfPlaylist }
        if behind.item == given.position.item {
            var position = given.position
            if given.hasBrokenOffAgain { position.begin = nil }
            return .everythingFailed(position)
        }
        var recovery = given
        if recovery.attemptAt == nil { recovery.failed(at: now()) }
        lose(recovery, hasBrokenOff: true)
        open(behind, isSeam: true)
        return .none
    }

    /// Judges an item that has been opened, or has failed to, at `time`. If it has held up playback, it is opened beside other items from
    /// now on.
    mutating func judge(_ given: Item, hasFailed: Bool, at time: HostTime) {
        let (took, waited) = (time - askedAt, time - max(askedAt, endedAt))
        if hasFailed {
            if took > Self.patience { lose(StreamRecovery(given.position, reconnect: .zero, at: now()), hasBrokenOff: false) }
        } else if waited > Self.patience {
            slow.insert(given.position.item)
        } else if took <= Self.patience {
            slow.remove(given.position.item)
        }
    }

    /// Opens a slow item that has been played for its next playthrough, unless that is now.
    mutating func openBesideIfSlow(_ playthrough: Playthrough) {
        let item = playthrough.position.item
        guard slow.contains(item), upcoming?.position.item != item, cursor.following(playthrough)?.item != item else { return }
        var recovery = StreamRecovery(PlaylistCursor.Position(item: item), reconnect: .zero, at: now())
        recovery.hasten(at: now())
        lose(recovery, hasBrokenOff: false)
    }

    private mutating func lose(_ recovery: StreamRecovery, hasBrokenOff: Bool) {
        let position = recovery.position
        guard let lostOpener, cursor.list.place(of: position.item) != nil, let item = cursor.list[position.item],
            let behind = cursor.nextItem(after: position), behind.item != position.item
        else { return }
        forgetLost(item.path)
        lost[item.path] = LostItem(recovery, item, hasBrokenOff: hasBrokenOff, opener: lostOpener)
    }

    /// Ends the attempts to open a lost item.
    mutating func forgetLost(_ path: Path) { lost.removeValue(forKey: path)?.abandon() }

    /// Forgets the lost and slow items that have left the list.
    mutating func keepLost(on list: Playlist) {
        for (path, item) in lost where list.place(of: item.id) == nil { forgetLost(path) }
        slow = slow.filter { list.place(of: $0) != nil }
    }

    // MARK: Being found

    /// The lost item to open next beside the current playthrough; only one is opened at a time.
    var nextAttempt: LostItem? {
        if lost.isEmpty || lost.values.contains(where: \.isOpening) { return nil }
        if lost.values.count(where: { $0.opened != nil }) >= Self.mostOpen { return nil }
        return lost.values.filter { $0.attemptAt != nil }.min { $0.attemptAt! < $1.attemptAt! }
    }

    /// Whether an attempt to open a lost item has an outcome.
    var hasLostOutcome: Bool { lost.values.contains(where: \.hasOutcome) }

    /// Takes the outcome of an attempt, while `current` is read or nothing is. If nothing plays because everything has failed, the item
    /// that is there again is next.
    mutating func takeLost(during current: PlaythroughReader?) {
        guard let (path, found) = lost.first(where: { $0.value.hasOutcome }) else { return }
        let (took, error) = found.take(at: now())
        if let error, error.reason != .cancelled { complain(found.id, error.description) }
        if current == nil, failures.isRetrying, found.opened != nil {
            opener.request(nil)
            failures.retry()
            _ = takeOpened(found, at: found.recovery.position, isSeam: false)
        } else if took > Self.patience {
            slow.insert(found.id)
        } else if !found.hasBrokenOff {
            slow.remove(found.id)
            forgetLost(path)
        }
    }

    /// Returns to a stream that broke off and is there again, if neither its end nor its duration is configured: an item has ended, and the
    /// stream is next. Other lost items wait for their place.
    mutating func returnsToLost() -> Bool {
        let found = lost.values.first { $0.hasBrokenOff && $0.opened != nil && $0.item.end == nil && $0.item.duration == nil }
        return found.map { takeOpened($0, at: $0.recovery.position, isSeam: true) } ?? false
    }

    /// Returns where the playlist goes on in place of `position`, behind the lost items, and how many those are. Returns `position` if all
    /// items are lost.
    func passingLost(_ position: PlaylistCursor.Position) -> (position: PlaylistCursor.Position, count: Int) {
        if lost.isEmpty { return (position, 0) }
        var next = position
        // A shuffled round ends before each has been played.
        for count in 0..<2 * cursor.list.items.count {
            guard let found = lostItem(at: next), found.opened == nil || found.id != next.item else { return (next, count) }
            guard let behind = cursor.nextItem(after: next) else { break }
            next = behind
        }
        return (position, 0)
    }

    private func lostItem(at position: PlaylistCursor.Position) -> LostItem? { cursor.list[position.item].flatMap { lost[$0.path] } }

    /// Makes the item at `position` next if it was lost and is open.
    mutating func takeOpenedLost(at position: PlaylistCursor.Position, isSeam: Bool) -> Bool {
        guard let found = lostItem(at: position), found.id == position.item else { return false }
        var position = position
        position.begin = found.recovery.position.begin
        return takeOpened(found, at: position, isSeam: isSeam)
    }

    private mutating func takeOpened(_ found: LostItem, at position: PlaylistCursor.Position, isSeam: Bool) -> Bool {
        guard let opened = found.takeOpened() else { return false }
        lost[found.item.path] = nil
        next = .ready(Item(position: position, item: found.item, time: opened.time, isSeam: isSeam, serial: nextSerial()), opened)
        return true
    }
}

/// An item that the playlist goes on without: a stream that broke off and did not come back, or an item that took long to open or to fail.
/// Its opener has its own thread, so that something else plays meanwhile. Used by the feeder's thread alone.
final class LostItem {
    let item: PlaylistItem
    /// Whether it was played and broke off.
    let hasBrokenOff: Bool
    private(set) var recovery: StreamRecovery
    private(set) var opened: ItemOpener.Opened?
    private let opener: ItemOpener
    private var serial: UInt64 = 0
    private var askedAt = HostTime(nanoseconds: 0)

    init(_ recovery: StreamRecovery, _ item: PlaylistItem, hasBrokenOff: Bool, opener: ItemOpener) {
        (self.recovery, self.item, self.hasBrokenOff, self.opener) = (recovery, item, hasBrokenOff, opener)
    }

    var id: QueueItem.ID { recovery.position.item }

    /// When the next attempt to open it is due; nil during an attempt, and once it is open.
    var attemptAt: HostTime? { opened == nil ? recovery.attemptAt : nil }

    var isOpening: Bool { opened == nil && recovery.attemptAt == nil }

    /// Whether ``take(at:)`` has something to do.
    var hasOutcome: Bool { isOpening && opener.hasOutcome(of: serial) }

    func hasten(at now: HostTime) { if attemptAt != nil { recovery.hasten(at: now) } }

    /// Opens the item as request `serial`.
    func attempt(serial: UInt64, at now: HostTime) {
        (self.serial, askedAt) = (serial, now)
        recovery.began()
        opener.request(.init(serial: serial, item: item, time: recovery.position.begin ?? item.start, precision: .exact))
    }

    /// Takes the outcome of an attempt. Returns how long it took, and its error if it failed.
    func take(at now: HostTime) -> (took: MediaTime, error: MediaError?) {
        let took = (opener.outcomeTime(of: serial) ?? now) - askedAt
        switch opener.takeOutcome(of: serial) {
        case .success(let opened):
            self.opened = opened
            return (took, nil)
        case .failure(let error):
            recovery.failed(at: now)
            return (took, error)
        case nil: return (took, nil)
        }
    }

    /// Gives up an attempt that is under way.
    func abandon() { if isOpening { opener.request(nil) } }

    /// Hands over the open item.
    func takeOpened() -> ItemOpener.Opened? { opened.take() }
}

/// When to open a stream again that has broken off: after 0.5 s, 1 s, 2 s and so on, every 30 s at last. A pure value.
///
/// The stream is *awaited* until its time is over (`reconnect`), while its last picture stands. Then it is *lost*: the attempts go on while
/// something else plays.
struct StreamRecovery: Hashable, Sendable {
    static let firstDelay = MediaTime.milliseconds(500)
    static let longestDelay = MediaTime.seconds(30)

    var position: PlaylistCursor.Position
    /// The time until which its last picture stands.
    let deadline: HostTime
    /// When the next attempt to open it is due; nil during an attempt.
    private(set) var attemptAt: HostTime?
    /// Whether it came back and broke off at once: there may be nothing behind that place.
    private(set) var hasBrokenOffAgain = false
    private var delay = firstDelay

    /// Creates the recovery of a stream that has broken off at `now`.
    init(_ position: PlaylistCursor.Position, reconnect: MediaTime, at now: HostTime) {
        self.position = position
        deadline = now + reconnect
        failed(at: now)
    }

    /// Notes that an attempt has begun.
    mutating func began() { attemptAt = nil }

    /// Notes that it could not be opened, or has broken off again at once.
    mutating func failed(at now: HostTime) {
        attemptAt = now + delay
        delay = min(delay + delay, Self.longestDelay)
    }

    /// Makes the next attempt due at `now`, and starts over with the first delay after that.
    mutating func hasten(at now: HostTime) { (attemptAt, delay) = (now, Self.firstDelay) }

    /// Notes that it was opened from `position` on, and has broken off there.
    mutating func brokeOffAgain(_ position: PlaylistCursor.Position, at now: HostTime) {
        (self.position, hasBrokenOffAgain) = (position, true)
        failed(at: now)
    }

    /// Whether the time of its last picture is over.
    func isOver(at now: HostTime) -> Bool { now >= deadline }

    /// When to open it, or to give it up.
    var due: HostTime { min(attemptAt ?? deadline, deadline) }
}
