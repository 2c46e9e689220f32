import KioskMedia
import KioskPlatform
import KioskVocabulary

// What the playlist goes on without: streams that do not come back in time, and items that hold up those behind them.
//
// What took longer than ``UpcomingPlaythrough/patience`` to open when its turn had come, or to fail, is waited for once. From then on it is opened
// beside what is played (``LostItem``): after each failure a while later, and when it has been played, at once. Its turn is passed over, and the
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
        opener.cancel()
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

    /// An item that took long to open has been played: it is opened for its next turn, unless that is now.
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
            opener.cancel()
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
    /// turn.
    mutating func returnsToLost() -> Bool {
        let found = lost.values.first { $0.hasBrokenOff && $0.opened != nil && $0.item.end == nil && $0.item.duration == nil }
        return found.map { takeOpened($0, at: $0.recovery.position, isSeam: true) } ?? false
    }

    /// Where the playlist goes on in place of `position`, behind what it goes on without, and how many that are; `position` where that is
    /// everything.
    func passingLost(_ position: PlaylistCursor.Position) -> (position: PlaylistCursor.Position, count: Int) {
        if lost.isEmpty { return (position, 0) }
        var next = position
        // A shuffled round ends before each has had its turn.
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
