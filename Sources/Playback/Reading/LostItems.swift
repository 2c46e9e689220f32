import KioskMedia
import KioskPlatform
import KioskVocabulary

// What the playlist goes on without: streams that do not come back in time, and items that hold up those behind them.
//
// What took longer than ``UpcomingPlaythrough/patience`` to open when its place had come, or to fail, is waited for once. From then on it is opened
// beside what is played (``LostItem``): after each failure a while later, and when it has been played, at once. Its place is passed over, and the
// next item opened instead, unless it lies open by then. An attempt that is quick, whether it works or fails, ends that: it holds up nobody.

extension UpcomingPlaythrough {
    /// What opens, or fails, within this time holds up nobody.
    static let patience = MediaTime.seconds(2)
    /// So many at most lie open beside what is played.
    private static let mostOpen = 2

    // MARK: Getting lost

    /// The stream that is awaited has had its time: what follows is opened. Where nothing else is on the list, everything has failed, and it is gone
    /// on with when it is there again.
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

    /// An item has been opened, or has failed to, at `time`: it is opened beside what is played from now on where it held that up.
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

    /// An item that took long to open has been played: it is opened for its next playthrough, unless that is now.
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

    /// What is lost is not asked for any more.
    mutating func forgetLost(_ path: Path) { lost.removeValue(forKey: path)?.abandon() }

    /// What has left the list is neither lost nor slow.
    mutating func keepLost(on list: Playlist) {
        for (path, item) in lost where list.place(of: item.id) == nil { forgetLost(path) }
        slow = slow.filter { list.place(of: $0) != nil }
    }

    // MARK: Being found

    /// What is to be opened next beside what is played: one at a time.
    var nextAttempt: LostItem? {
        if lost.isEmpty || lost.values.contains(where: \.isOpening) { return nil }
        if lost.values.count(where: { $0.opened != nil }) >= Self.mostOpen { return nil }
        return lost.values.filter { $0.attemptAt != nil }.min { $0.attemptAt! < $1.attemptAt! }
    }

    /// Whether an attempt to open what is lost has come to something.
    var hasLostOutcome: Bool { lost.values.contains(where: \.hasOutcome) }

    /// Takes what the attempt has come to, while `current` is read or nothing is. Where nothing plays because everything has failed, what is there
    /// again is next.
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

    /// An item has ended: where a stream that broke off is there again, and is one that goes on without end, it is next. Others wait for their
    /// place.
    mutating func returnsToLost() -> Bool {
        let found = lost.values.first { $0.hasBrokenOff && $0.opened != nil && $0.item.end == nil && $0.item.duration == nil }
        return found.map { takeOpened($0, at: $0.recovery.position, isSeam: true) } ?? false
    }

    /// Where the playlist goes on in place of `position`, behind what it goes on without, and how many that are; `position` where that is
    /// everything.
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

    /// Has what stands at `position` be next where it was lost and lies open.
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

/// An item that the playlist goes on without: a stream that broke off and did not come back, or an item that took long to open, or to fail.
/// It is opened on threads of its own, while something else is played. Used by the feeder's thread alone.
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

    /// When it is to be opened next; nil while that is under way, and once it is there.
    var attemptAt: HostTime? { opened == nil ? recovery.attemptAt : nil }

    var isOpening: Bool { opened == nil && recovery.attemptAt == nil }

    /// Whether ``take(at:)`` has something to do.
    var hasOutcome: Bool { isOpening && opener.hasOutcome(of: serial) }

    func hasten(at now: HostTime) { if attemptAt != nil { recovery.hasten(at: now) } }

    /// Opens it as request `serial`.
    func attempt(serial: UInt64, at now: HostTime) {
        (self.serial, askedAt) = (serial, now)
        recovery.began()
        opener.request(.init(serial: serial, item: item, time: recovery.position.begin ?? item.start, precision: .exact))
    }

    /// Takes what the attempt has come to; how long that took, and what is wrong where it failed.
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

    /// Gives up what is open, or being opened.
    func abandon() { if isOpening { opener.request(nil) } }

    /// Gives out what is open.
    func takeOpened() -> ItemOpener.Opened? { opened.take() }
}

/// When a stream that has broken off is opened again: after 0.5 s, 1 s, 2 s and so on, every 30 s at last. A pure value.
///
/// It is *awaited* until its time is over (`reconnect`), with its last picture up; then it is *lost*, and something else is played while it
/// is still asked for.
struct StreamRecovery: Hashable, Sendable {
    static let firstDelay = MediaTime.milliseconds(500)
    static let longestDelay = MediaTime.seconds(30)

    var position: PlaylistCursor.Position
    /// Until when its last picture stands.
    let deadline: HostTime
    /// When it is opened next; nil while that is under way.
    private(set) var attemptAt: HostTime?
    /// Whether it was there again and broke off at once: there may be nothing behind that place.
    private(set) var hasBrokenOffAgain = false
    private var delay = firstDelay

    /// It has broken off at `now`.
    init(_ position: PlaylistCursor.Position, reconnect: MediaTime, at now: HostTime) {
        self.position = position
        deadline = now + reconnect
        failed(at: now)
    }

    /// It is being opened.
    mutating func began() { attemptAt = nil }

    /// It could not be opened, or has broken off again at once.
    mutating func failed(at now: HostTime) {
        attemptAt = now + delay
        delay = min(delay + delay, Self.longestDelay)
    }

    /// It is to be opened at `now`, and as soon as at first after that.
    mutating func hasten(at now: HostTime) { (attemptAt, delay) = (now, Self.firstDelay) }

    /// It was opened from `position` on, and has broken off there.
    mutating func brokeOffAgain(_ position: PlaylistCursor.Position, at now: HostTime) {
        (self.position, hasBrokenOffAgain) = (position, true)
        failed(at: now)
    }

    /// Whether its last picture is to stand no longer.
    func isOver(at now: HostTime) -> Bool { now >= deadline }

    /// When there is something to do: it is to be opened, or given up.
    var due: HostTime { min(attemptAt ?? deadline, deadline) }
}
