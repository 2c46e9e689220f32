import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Decides which playthrough comes next, and has its item opened ahead of time (``ItemOpener``). Used by the feeder's thread alone.
///
/// An item that cannot be opened is left out, and the one behind it is opened instead. When all of the playlist has failed in a row, it is
/// begun anew after a while (``FailureRecord``).
///
/// A stream that has broken off, and a live stream that has ended, is opened again (``StreamRecovery``), with its last picture up. When that
/// has taken too long, the playlist goes on without it (``LostItem``), and returns to it when an item ends. So it does without what took long
/// to open or to fail.
struct UpcomingPlaythrough: ~Copyable {
    /// An item to be played next: where it stands on the playlist, and from which item time on.
    struct Item {
        var position: PlaylistCursor.Position
        var item: PlaylistItem
        var time: MediaTime
        /// Whether it follows what is read now without a seek between them.
        var isSeam: Bool
        /// The opener's request for it; 0 where it is to be made when the wait after failures is over.
        var serial: UInt64
    }

    enum Next {
        /// Not decided yet, or none.
        case none
        case opening(Item)
        /// To be opened when the wait after failures is over (``retryAt``).
        case later(Item)
        /// Open: a stream that had been lost.
        case ready(Item, ItemOpener.Opened)
        /// The first item that there will be: the playlist is empty.
        case firstOfEmptyList
    }

    /// What has become of what was opened.
    enum Outcome {
        /// It is to be read, now or when what is read now has ended.
        case opened(Item, ItemOpener.Opened)
        /// It failed, and so has every other item in a row; it stood at this position.
        case everythingFailed(PlaylistCursor.Position)
        /// It failed, and nothing follows it.
        case endOfPlaylist
        /// Another one is being opened, or none is wanted any more.
        case none
    }

    let opener: ItemOpener
    let lostOpener: ItemOpener?
    var cursor: PlaylistCursor
    private let emit: @Sendable (PlaybackEvent) -> Void
    let now: @Sendable () -> HostTime
    /// Called when an item could not be opened or played, with the reason.
    private let onFailure: @Sendable (QueueItem.ID, String) -> Void
    var next = Next.none
    var failures = FailureRecord()
    private var lastSerial: UInt64 = 0
    /// The stream that is opened again with its last picture up, and the one that was last.
    var recovery: StreamRecovery?, lastRecovery: StreamRecovery?
    /// What the playlist goes on without, by its source.
    var lost: [Path: LostItem] = [:]
    /// The items that were waited for too long when they were opened last.
    var slow: Set<QueueItem.ID> = []
    /// When what is opened was asked for; and when what was read before had been enqueued, which may be earlier or later.
    private(set) var askedAt: HostTime, endedAt: HostTime
    /// Whether what is read has no end that is known: nothing is opened meanwhile to follow on it.
    private var playsOn = false

    /// A stream that broke off sooner than this is as bad as one that cannot be opened.
    private static let shortestStream = MediaTime.seconds(1)

    init(
        _ cursor: PlaylistCursor, opener: ItemOpener, lostOpener: ItemOpener?, emit: @escaping @Sendable (PlaybackEvent) -> Void,
        now: @escaping @Sendable () -> HostTime, onFailure: @escaping @Sendable (QueueItem.ID, String) -> Void
    ) {
        (self.cursor, self.opener, self.lostOpener, self.emit, self.now, self.onFailure) = (
            cursor, opener, lostOpener, emit, now, onFailure
        )
        (askedAt, endedAt) = (now(), now())
        openFirst()
    }

    /// The number of another playthrough, or of another opening.
    mutating func nextSerial() -> UInt64 {
        lastSerial += 1
        return lastSerial
    }

    // MARK: What it is doing

    var upcoming: Item? {
        switch next {
        case .opening(let item), .later(let item), .ready(let item, _): item
        case .none, .firstOfEmptyList: nil
        }
    }

    /// Whether it is open, being opened, or to be opened.
    var isDecided: Bool { upcoming != nil || failures.retryAt != nil }

    /// Whether a stream is opened again with its last picture up.
    var isRecovering: Bool { recovery != nil }

    /// Whether what is opened is to be taken as soon as it is open, where nothing is read.
    var isAwaited: Bool {
        switch next {
        case .opening, .ready: failures.retryAt == nil
        case .none, .later, .firstOfEmptyList: false
        }
    }

    /// When there is something to open again, or to give up (``retry()``).
    var due: HostTime? { [failures.retryAt, recovery?.due, playsOn ? nil : nextAttempt?.attemptAt].compactMap { $0 }.min() }

    /// Whether what is asked for has been opened, or has failed to.
    var hasOutcome: Bool {
        if case .ready = next { return true }
        return opener.hasOutcome(of: upcoming?.serial ?? 0)
    }

    /// Whether what is asked for has failed to open.
    var hasFailed: Bool { opener.hasFailed(upcoming?.serial ?? 0) }

    /// Whether, if it has failed, the one behind it may be opened while `current` is read: the last failure of a round is dealt with when
    /// its place in the playlist comes.
    func mayLeaveOut(during current: PlaythroughReader) -> Bool {
        guard let upcoming, cursor.list.isInterlude(upcoming.position.item) || failures.maySkipAhead(of: cursor.list.items.count)
        else { return false }
        return cursor.nextItem(after: upcoming.position).map { mayOpen($0, during: current) } ?? false
    }

    /// What comes after a playthrough that has been read to its end.
    func following(_ playthrough: Playthrough) -> PlaylistCursor.Position? { cursor.following(playthrough) }

    /// Whether what comes after a playthrough may be opened before its end.
    func mayOpenFollowing(_ current: PlaythroughReader) -> Bool {
        following(current.playthrough).map { mayOpen($0, during: current) } ?? false
    }

    /// Whether `next` may be opened while `current` is still being read. A file always; what comes over the network is read as it is sent,
    /// and goes stale when it is open and nobody reads it. So it is opened ahead of an end that is known. Where the end is not known (a
    /// camera, a channel) it is opened when that has come, and the last frame stands meanwhile. A live stream is never opened a second time
    /// before the first has been closed: cameras often allow one session.
    private func mayOpen(_ next: PlaylistCursor.Position, during current: PlaythroughReader) -> Bool {
        let next = passingLost(next).position
        guard let item = cursor.list[next.item], isStream(item.source) else { return true }
        if !current.isLengthKnown, item.path == current.playthrough.item.path { return false }
        return current.playthrough.itemEnd != nil
    }

    // MARK: Opening

    /// Opens what follows `current`, whose end is near, unless that is under way.
    mutating func prepare(after current: PlaythroughReader) {
        guard upcoming == nil, let next = following(current.playthrough), mayOpen(next, during: current) else { return }
        let isRepeated = next.remaining != nil && next.begin == nil
        open(next, time: isRepeated ? current.playthrough.item.start : nil, isSeam: true)
    }

    /// Opens an item, from its configured beginning or `time` on; what was decided before is given up. Where the playlist goes on without that
    /// item, the next one is opened, unless it was asked for by a viewer or is a stream that is awaited (`isAskedFor`).
    mutating func open(
        _ position: PlaylistCursor.Position, time: MediaTime? = nil, precision: MediaReader.SeekPrecision = .exact, isSeam: Bool,
        isAskedFor: Bool = false
    ) {
        if !isAskedFor {
            let passing = passingLost(position)
            failures.failAhead(passing.count)
            if takeOpenedLost(at: passing.position, isSeam: isSeam) { return }
            if passing.count > 0 { return open(passing.position, isSeam: isSeam) }
        }
        // A seek request may lead to an item that has left the list, but not long ago.
        guard let item = cursor.list[position.item] else {
            openFirst()
            return
        }
        let upcoming = Item(
            position: position, item: item, time: max(time ?? position.begin ?? item.start, .zero), isSeam: isSeam, serial: nextSerial())
        forgetLost(item.path)
        askedAt = now()
        next = .opening(upcoming)
        let isAlone = cursor.list.items.allSatisfy { $0.entry.path == item.path }
        opener.request(.init(serial: upcoming.serial, item: item, time: upcoming.time, precision: precision, isAlone: isAlone))
    }

    /// Opens the first item, or waits for one; false where there is none.
    @discardableResult mutating func openFirst() -> Bool {
        next = .firstOfEmptyList
        guard let first = cursor.first else { return false }
        open(first, isSeam: false)
        return true
    }

    /// Opens an item when the wait after failures is over.
    private mutating func openLater(_ position: PlaylistCursor.Position, isSeam: Bool) {
        guard let item = cursor.list[position.item] else {
            openFirst()
            return
        }
        next = .later(Item(position: position, item: item, time: .zero, isSeam: isSeam, serial: 0))
    }

    /// Does what is ``due``.
    mutating func retry() -> Outcome {
        let now = now()
        if !playsOn, let attempt = nextAttempt, let attemptAt = attempt.attemptAt, now >= attemptAt {
            attempt.attempt(serial: nextSerial(), at: now)
        }
        if let recovery {
            if recovery.isOver(at: now) { return giveUp() }
            if let attemptAt = recovery.attemptAt, now >= attemptAt {
                self.recovery!.began()
                open(recovery.position, isSeam: true, isAskedFor: true)
            }
        } else if let retryAt = failures.retryAt, now >= retryAt {
            failures.retry()
            if let upcoming { open(upcoming.position, isSeam: upcoming.isSeam) }
        }
        return .none
    }

    /// Takes what has been opened, while `current` is read or nothing is.
    mutating func take(during current: PlaythroughReader?) -> Outcome {
        if case .ready(let item, let opened) = next {
            next = .none
            failures.takePlaythrough()
            return .opened(item, opened)
        }
        guard let given = upcoming, let time = opener.outcomeTime(of: given.serial), let outcome = opener.takeOutcome(of: given.serial)
        else { return .none }
        next = .none
        switch outcome {
        case .success(let opened):
            if recovery == nil { judge(given, hasFailed: false, at: time) }
            failures.takePlaythrough()
            return .opened(given, opened)
        case .failure(let error):
            if error.reason == .cancelled { return .none }
            if recovery?.position.item == given.position.item {
                complain(given.position.item, error.description)
                recovery!.failed(at: now())
                // A server that gives it out from its beginning alone.
                if case .notSeekable = error.reason { recovery!.position.begin = nil }
                next = .later(given)
                return .none
            }
            judge(given, hasFailed: true, at: time)
            if current != nil, let behind = cursor.nextItem(after: given.position) {
                if !cursor.list.isInterlude(given.position.item) { failures.failAhead() }
                complain(given.position.item, error.description)
                onFailure(given.position.item, error.description.withoutCredentials)
                open(behind, isSeam: given.isSeam)
                return .none
            }
            var position = given.position
            if case .notSeekable = error.reason { position.begin = nil }
            return fail(position, isSeam: given.isSeam, error.description)
        }
    }

    // MARK: Failing

    /// An item cannot be played; what is behind it is opened instead.
    mutating func fail(_ position: PlaylistCursor.Position, isSeam: Bool, _ message: String) -> Outcome {
        complain(position.item, message)
        onFailure(position.item, message.withoutCredentials)
        if !cursor.list.isInterlude(position.item), !cursor.list.isEmpty, failures.fail(of: cursor.list.items.count) {
            return .everythingFailed(position)
        }
        guard let behind = cursor.nextItem(after: position) else { return .endOfPlaylist }
        open(behind, isSeam: isSeam)
        return .none
    }

    /// Has all of the playlist tried again in a while, from the item behind `position` on; where that is the same one, from where it is to begin.
    mutating func retryLater(after position: PlaylistCursor.Position) {
        if let delay = failures.wait(from: now()) { emit(.nothingPlayable(retryAfter: delay)) }
        for item in lost.values { item.hasten(at: now()) }
        guard let behind = cursor.nextItem(after: position) ?? cursor.first else { return }
        openLater(position.begin != nil && behind.item == position.item ? position : behind, isSeam: false)
    }

    /// Tells what is wrong with an item, where that is news.
    mutating func complain(_ item: QueueItem.ID, _ message: String) {
        if failures.isNews(message, about: item) { emit(.itemFailed(item: item, message: message.withoutCredentials)) }
    }

    /// Something of an item has been enqueued.
    mutating func played() { failures.played() }

    // MARK: What happens to the playthroughs

    /// A playthrough begins to be enqueued.
    mutating func hasBegun(_ begun: PlaythroughReader) {
        (lastRecovery, recovery) = (recovery, nil)
        playsOn = !begun.isLengthKnown && begun.limit == nil
    }

    /// A playthrough has been enqueued to its end, up to the timeline instant `end`; `isFollowed` where the next one is open already.
    mutating func hasEnded(_ ended: PlaythroughReader, isFollowed: Bool) {
        if !ended.isFlawed { failures.clear(ended.playthrough.position.item) }
        let (playthrough, now) = (ended.playthrough, now())
        (playsOn, endedAt) = (false, now)
        defer { if recovery == nil { openBesideIfSlow(playthrough) } }
        guard ended.hasSourceEnded, !isFollowed, isStream(playthrough.item.source), playthrough.position.resumption == nil,
            !ended.isLengthKnown || ended.reader.prematureEnd != nil, cursor.list.place(of: playthrough.position.item) != nil
        else { return }
        let isCutOff = ended.reader.prematureEnd != nil
        // What is sent by HTTP and ends in order has come to its end, like a file.
        let isDone = !isCutOff && playthrough.item.source.lowercased().hasPrefix("http")
        if isDone, cursor.following(playthrough)?.item != playthrough.position.item { return }
        if !isCutOff { complain(playthrough.position.item, "\(playthrough.item.source): the stream has ended") }
        var position = cursor.following(playthrough) ?? playthrough.position
        if position.item != playthrough.position.item { position = playthrough.position }
        // A file goes on where it broke off.
        position.begin = ended.isLengthKnown ? ended.itemTime : nil
        let isShort = ended.end - ended.mapping.instant < Self.shortestStream
        if isShort, var last = lastRecovery, last.position.item == position.item {
            last.brokeOffAgain(position, at: now)
            recovery = last
        } else {
            recovery = StreamRecovery(position, reconnect: playthrough.item.stream.reconnect, at: now)
        }
        next = .later(Item(position: position, item: playthrough.item, time: .zero, isSeam: true, serial: 0))
    }

    /// The viewer moves: what was decided is given up.
    mutating func reset() {
        (recovery, lastRecovery, next) = (nil, nil, .none)
        failures.restart()
    }

    /// Nothing follows; true where the first item of an empty playlist is awaited, which loops.
    mutating func awaitItems() -> Bool {
        guard cursor.awaitsItems else { return false }
        next = .firstOfEmptyList
        return true
    }

    // MARK: What becomes of what has been opened ahead when the list changes, or the tracks that are chosen of an item

    /// A list that changes when no more of the present item than this is still to be enqueued does not change what is open already.
    private static let latestChange = MediaTime.milliseconds(500)

    /// What an item plays, with the tracks that were chosen of it; nil of one that is not known any more.
    func entry(of item: QueueItem.ID) -> PlaylistItem? { cursor.list[item] }

    /// Opens what has been opened ahead once more where other tracks of it have been chosen since, while there is time for that.
    private mutating func reopenForTracks(_ given: Item, during current: PlaythroughReader?) {
        guard let entry = entry(of: given.position.item), given.serial > 0,
            entry.audioTrack != given.item.audioTrack || entry.videoTrack != given.item.videoTrack
                || entry.subtitleTrack != given.item.subtitleTrack
        else { return }
        if let current, isTooLate(during: current) { return }
        open(given.position, time: given.time, isSeam: given.isSeam)
    }

    /// Whether there is no time left to open something else than what is open.
    private func isTooLate(during current: PlaythroughReader) -> Bool {
        let left = current.playthrough.itemEnd.map { current.mapping.instant(of: $0) - current.end }
        return current.isAtEnd || left.map { $0 < Self.latestChange } ?? false
    }

    /// Whether something is to come between the present item and what has been opened, and there is time for that.
    private func isOvertaken(_ given: Item, during current: PlaythroughReader?) -> Bool {
        guard let current, let following = cursor.following(current.playthrough) else { return false }
        return cursor.list.due.contains(following.item) && following.item != given.position.item && !isTooLate(during: current)
    }

    /// How often the playlist had changed when it was taken over.
    var revision: Int { cursor.list.revision }

    /// Takes over a new list, and how it is played. What is read goes on; what has been opened ahead and is no longer on the list is replaced while there is time
    /// for that.
    ///
    /// - Returns: whether nothing follows any more.
    mutating func setList(_ list: Playlist, _ rules: PlaylistRules, during current: PlaythroughReader?) -> Bool {
        (cursor.list, cursor.rules) = (list, rules)
        // What leaves the list and comes back is complained about anew, though its identity is the old one.
        keepLost(on: list)
        if let item = recovery?.position.item, list.place(of: item) == nil { recovery = nil }
        failures.keepComplaints { list.place(of: $0) != nil || list.isInterlude($0) }
        if case .firstOfEmptyList = next {
            if !list.isEmpty { openFirst() }
            return false
        }
        guard let given = upcoming else { return false }
        let isListed = list.place(of: given.position.item) != nil || list.isInterlude(given.position.item)
        if failures.retryAt != nil {
            // Nothing could be played: perhaps now.
            failures.restart()
            if isListed { open(given.position, isSeam: given.isSeam) }
        }
        if isListed, !isOvertaken(given, during: current) {
            reopenForTracks(upcoming ?? given, during: current)
            return false
        }
        if let current {
            if isTooLate(during: current) { return false }
            next = .none
            prepare(after: current)
            return false
        }
        next = .none
        failures.restart()
        guard let behind = cursor.nextItem(after: given.position) else { return true }
        open(behind, isSeam: given.isSeam)
        return false
    }
}
