import KioskMedia
import KioskPlatform
import KioskVocabulary

// What becomes of a stream that does not come back in time.

extension UpcomingPlaythrough {
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
        if let item = cursor.list[given.position.item], let lostOpener {
            abandonLost()
            var recovery = given
            if recovery.attemptAt == nil { recovery.failed(at: now()) }
            lost = LostStream(recovery, item, opener: lostOpener)
        }
        open(behind, isSeam: true)
        return .none
    }

    /// Whether an attempt to open the lost stream has come to something.
    var hasLostOutcome: Bool { lost?.hasOutcome ?? false }

    /// Takes what the attempt has come to.
    mutating func takeLost() { lost?.take(at: now()) }

    /// An item has ended: where the lost stream is there again, and is one that goes on without end, it is next. Others wait for their
    /// turn.
    mutating func returnsToLost() -> Bool {
        guard let item = lost?.item, item.end == nil, item.duration == nil else { return false }
        return takeOpenedLost(isSeam: true)
    }

    /// Whether `position` is that of the lost stream, and something else is done instead of opening it: it is there, or the next item's turn
    /// comes. Who asks for it without a seam (a viewer) has it opened at once.
    mutating func leavesOutLost(_ position: PlaylistCursor.Position, isSeam: Bool) -> Bool {
        guard lost?.recovery.position.item == position.item else { return false }
        if isSeam {
            if takeOpenedLost(isSeam: true) { return true }
            if let behind = cursor.nextItem(after: position), behind.item != position.item {
                open(behind, isSeam: true)
                return true
            }
        }
        abandonLost()
        return false
    }

    mutating func abandonLost() {
        if let abandoned = lost.take() { abandoned.abandon() }
    }

    private mutating func takeOpenedLost(isSeam: Bool) -> Bool {
        guard lost?.opened != nil, let found = lost.take() else { return false }
        let (item, position) = (found.item, found.recovery.position)
        guard let opened = found.takeOpened() else { return false }
        next = .ready(Item(position: position, item: item, time: opened.time, isSeam: isSeam, serial: nextSerial()), opened)
        return true
    }
}
