import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Decides which playthrough comes next, and has its item opened ahead of time (``ItemOpener``). Used by the feeder's thread alone.
///
/// If an item cannot be opened, the next one is opened instead. If all items have failed in a row, the playlist starts over after a while
/// (``FailureRecord``).
///
/// A stream that has broken off is opened again while its last picture stands, and so is a live stream that has ended (``StreamRecovery``).
/// If that takes too long, the playlist goes on without the stream (``LostItem``), and returns to it when an item ends. The playlist also
/// goes on without items that took long to open or to fail.
struct UpcomingPlaythrough: ~Copyable {
    /// The item to play next: its position on the playlist, and the item time at which it begins.
    struct Item {
        var position: PlaylistCursor.Position
        var item: PlaylistItem
        var time: MediaTime
        /// Whether it follows the current playthrough without a seek between them.
        var isSeam: Bool
        /// The opener's request for it; 0 if the request is still to be made.
        var serial: UInt64
    }

    enum Next {
        /// Not decided yet, or none.
        case none
        case opening(Item)
        /// To be opened when the wait after a failure is over (``due``).
        case later(Item)
        /// Open already: an item that was lost.
        case ready(Item, ItemOpener.Opened)
        /// The playlist is empty; the first item that joins it comes next.
        case firstOfEmptyList
    }

    /// The result of an opening.
    enum Outcome {
        /// The item is open: read it now, or when the current playthrough has ended.
        case opened(Item, ItemOpener.Opened)
        /// The item at this position failed, and so has every other item in a row.
        case everythingFailed(PlaylistCursor.Position)
        /// The item failed, and nothing follows it.
        case endOfPlaylist
        /// Another item is being opened, or none is wanted any more.
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
    /// The stream that is opened again while its last picture stands, and the one before it.
    var recovery: StreamRecovery?, lastRecovery: StreamRecovery?
    /// The items that the playlist goes on without, by their source.
    var lost: [Path: LostItem] = [:]
    /// The items that made playback wait too long when they were opened last.
    var slow: Set<QueueItem.ID> = []
    /// When the opening was requested, and when the playthrough before it was enqueued to its end, which may be earlier or later.
    private(set) var askedAt: HostTime, endedAt: HostTime
    /// Whether the current playthrough has no known end. No lost item is opened meanwhile.
    private var playsOn = false

    /// A stream that breaks off sooner than this counts as one that cannot be opened.
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

    /// Returns the number of a new playthrough or opening.
    mutating func nextSerial() -> UInt64 {
        lastSerial += 1
        return lastSerial
    }

    // MARK: State

    var upcoming: Item? {
        switch next {
        case .opening(let item), .later(let item), .ready(let item, _): item
        case .none, .firstOfEmptyList: nil
        }
    }

    /// Whether the next item is open, being opened, or to be opened.
    var isDecided: Bool { upcoming != nil || failures.retryAt != nil }

    /// Whether a stream is opened again while its last picture stands.
    var isRecovering: Bool { recovery != nil }

    /// Whether to take the next item as soon as it is open, if nothing is read.
    var isAwaited: Bool {
        switch next {
        case .opening, .ready: failures.retryAt == nil
        case .none, .later, .firstOfEmptyList: false
        }
    }

    /// When there is something to open again, or to give up (``retry()``).
    var due: HostTime? { [failures.retryAt, recovery?.due, playsOn ? nil : nextAttempt?.attemptAt].compactMap { $0 }.min() }

    /// Whether the requested item has been opened, or has failed to open.
    var hasOutcome: Bool {
        if case .ready = next { return true }
        return opener.hasOutcome(of: upcoming?.serial ?? 0)
    }

    /// Whether the requested item has failed to open.
    var hasFailed: Bool { opener.hasFailed(upcoming?.serial ?? 0) }

    /// Whether, after a failure, the item behind the failed one may be opened while `current` is read. The last failure of a round is
    /// handled in its place on the playlist.
    func mayLeaveOut(during current: PlaythroughReader) -> Bool {
        guard let upcoming, cursor.list.isInterlude(upcoming.position.item) || failures.maySkipAhead(of: cursor.list.items.count)
        else { return false }
        return cursor.nextItem(after: upcoming.position).map { mayOpen($0, during: current) } ?? false
    }

    /// Returns the position after a playthrough that has been read to its end.
    func following(_ playthrough: Playthrough) -> PlaylistCursor.Position? { cursor.following(playthrough) }

    /// Whether the item after a playthrough may be opened before its end.
    func mayOpenFollowing(_ current: PlaythroughReader) -> Bool {
        following(current.playthrough).map { mayOpen($0, during: current) } ?? false
    }

    /// Whether `next` may be opened while `current` is still being read. A file always may. A network stream is read as it is sent, and
    /// goes stale if it is open and unread. So it is opened ahead of a known end only. If the end is not known (a camera, a channel), the
    /// stream is opened after it, and the last frame stands meanwhile. A live stream is never opened a second time before the first is
    /// closed: cameras often allow one session.
    private func mayOpen(_ next: PlaylistCursor.Position, during current: PlaythroughReader) -> Bool {
        let next = passingLost(next).position
        guard let item = cursor.list[next.item], isStream(item.source) else { return true }
        if !current.isLengthKnown, item.path == current.playthrough.item.path { return false }
        return current.playthrough.itemEnd != nil
    }

    // MARK: Opening

    /// Opens the item after `current`, whose end is near, unless that is under way.
    mutating func prepare(after current: PlaythroughReader) {
        guard upcoming == nil, let next = following(current.playthrough), mayOpen(next, during: current) else { return }
        let isRepeated = next.remaining != nil && next.begin == nil
        open(next, time: isRepeated ? current.playthrough.item.start : nil, isSeam: true)
    }

    /// Opens an item, from its configured beginning or from `time`, and drops the earlier decision. If the playlist goes on without that
    /// item, the next one is opened instead. With `isAskedFor`, it is opened all the same: a viewer asked for it, or it is an awaited
    /// stream.
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

    /// Opens the first item, or waits for one. Returns false if there is none.
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

    /// Makes the attempts that are ``due``, or gives up a stream.
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

    /// Takes the outcome of an opening, while `current` is read or nothing is.
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
                // This server sends it only from the beginning.
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

    /// Notes that an item cannot be played, and opens the item behind it instead.
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

    /// Has the whole playlist tried again after a while, from the item behind `position` on. If that is the same item, it keeps its
    /// beginning.
    mutating func retryLater(after position: PlaylistCursor.Position) {
        if let delay = failures.wait(from: now()) { emit(.nothingPlayable(retryAfter: delay)) }
        for item in lost.values { item.hasten(at: now()) }
        guard let behind = cursor.nextItem(after: position) ?? cursor.first else { return }
        openLater(position.begin != nil && behind.item == position.item ? position : behind, isSeam: false)
    }

    /// Reports a problem of an item, if that is news.
    mutating func complain(_ item: QueueItem.ID, _ message: String) {
        if failures.isNews(message, about: item) { emit(.itemFailed(item: item, message: message.withoutCredentials)) }
    }

    /// Notes that a part of an item has been enqueued.
    mutating func played() { failures.played() }

    // MARK: Playthroughs

    /// Notes that the feeder begins to enqueue a playthrough.
    mutating func hasBegun(_ begun: PlaythroughReader) {
        (lastRecovery, recovery) = (recovery, nil)
        playsOn = !begun.isLengthKnown && begun.limit == nil
    }

    /// Notes that a playthrough has been enqueued to its end; `isFollowed` says whether the next one is open already.
    mutating func hasEnded(_ ended: PlaythroughReader, isFollowed: Bool) {
        if !ended.isFlawed { failures.clear(ended.playthrough.position.item) }
        let (playthrough, now) = (ended.playthrough, now())
        (playsOn, endedAt) = (false, now)
        defer { if recovery == nil { openBesideIfSlow(playthrough) } }
        guard ended.hasSourceEnded, !isFollowed, isStream(playthrough.item.source), playthrough.position.resumption == nil,
            !ended.isLengthKnown || ended.reader.prematureEnd != nil, cursor.list.place(of: playthrough.position.item) != nil
        else { return }
        let isCutOff = ended.reader.prematureEnd != nil
        // An HTTP stream that ends in order is complete, like a file.
        let isDone = !isCutOff && playthrough.item.source.lowercased().hasPrefix("http")
        if isDone, cursor.following(playthrough)?.item != playthrough.position.item { return }
        if !isCutOff { complain(playthrough.position.item, "\(playthrough.item.source): the stream has ended") }
        var position = cursor.following(playthrough) ?? playthrough.position
        if position.item != playthrough.position.item { position = playthrough.position }
        // A file resumes where it broke off.
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

    /// Drops all decisions, because the viewer moves.
    mutating func reset() {
        (recovery, lastRecovery, next) = (nil, nil, .none)
        failures.restart()
    }

    /// Notes that nothing follows. Returns true if the playlist is empty and loops, and so awaits its first item.
    mutating func awaitItems() -> Bool {
        guard cursor.awaitsItems else { return false }
        next = .firstOfEmptyList
        return true
    }

    // MARK: The item opened ahead, when the list or the chosen tracks change

    /// If less than this of the current item is left to enqueue, a change of the list does not replace the open item.
    private static let latestChange = MediaTime.milliseconds(500)

    /// Returns an item's entry, with the tracks that were chosen for it; nil if the item is no longer known.
    func entry(of item: QueueItem.ID) -> PlaylistItem? { cursor.list[item] }

    /// Reopens the item opened ahead if other tracks of it have been chosen since, and there is time for that.
    private mutating func reopenForTracks(_ given: Item, during current: PlaythroughReader?) {
        guard let entry = entry(of: given.position.item), given.serial > 0,
            entry.audioTrack != given.item.audioTrack || entry.videoTrack != given.item.videoTrack
                || entry.subtitleTrack != given.item.subtitleTrack
        else { return }
        if let current, isTooLate(during: current) { return }
        open(given.position, time: given.time, isSeam: given.isSeam)
    }

    /// Whether no time is left to open another item than the open one.
    private func isTooLate(during current: PlaythroughReader) -> Bool {
        let left = current.playthrough.itemEnd.map { current.mapping.instant(of: $0) - current.end }
        return current.isAtEnd || left.map { $0 < Self.latestChange } ?? false
    }

    /// Whether an interlude is due between the current item and the one opened ahead, and there is time for it.
    private func isOvertaken(_ given: Item, during current: PlaythroughReader?) -> Bool {
        guard let current, let following = cursor.following(current.playthrough) else { return false }
        return cursor.list.due.contains(following.item) && following.item != given.position.item && !isTooLate(during: current)
    }

    /// The revision of the playlist that was taken over last.
    var revision: Int { cursor.list.revision }

    /// Takes over a new list and its rules. The current playthrough goes on. If the item opened ahead has left the list, it is replaced
    /// while there is time for that.
    ///
    /// - Returns: whether nothing follows any more.
    mutating func setList(_ list: Playlist, _ rules: PlaylistRules, during current: PlaythroughReader?) -> Bool {
        (cursor.list, cursor.rules) = (list, rules)
        // If an item leaves the list and comes back, its complaints are made anew, though its identity is the old one.
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
            // Nothing could be played so far; the new list may change that.
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
