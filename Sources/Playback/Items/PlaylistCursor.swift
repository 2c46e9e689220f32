import KioskPlatform
import KioskVocabulary

/// The playlist's order as a pure value: it finds the playthrough that comes next, and its item.
struct PlaylistCursor: Hashable, Sendable {
    /// A place in the playlist.
    struct Position: Hashable, Sendable {
        /// The item, wherever it stands in the list.
        var item: QueueItem.ID
        /// The number of playthroughs of the item before this one, of its `repeatCount`.
        var repetition = 0
        /// The rest of the item's configured `duration` when a shorter clip begins again; nil at the item's beginning.
        var remaining: MediaTime?
        /// The item time at which it begins, if not the item's own beginning: the place to which an interlude returns.
        var begin: MediaTime?
        /// Whether playback pauses at its first picture, because it was paused when the interlude interrupted it.
        var isPaused = false
        /// The place at which playback goes on afterwards; nil for the next item on the list.
        var resumption: Resumption?
        /// The round of a shuffled playlist.
        var round = ShuffledOrder.Round()

        /// Returns whether it is the same playthrough, at any beginning.
        func isSamePlaythrough(as other: Position) -> Bool {
            (item, repetition, remaining) == (other.item, other.repetition, other.remaining) && resumption == other.resumption
        }
    }

    /// The playthrough that an interlude interrupted, and its position.
    struct Resumption: Hashable, Sendable {
        var item: QueueItem.ID
        /// The interludes to play before, in order.
        var interludes: [QueueItem.ID] = []
        var repetition = 0
        /// The rest of the item's `duration` at the interruption, as in ``Position``.
        var remaining: MediaTime?
        /// The item time at the interruption; nil for the beginning of an item that is not seekable.
        var time: MediaTime?
        /// How much later to go on, and the last item time for that.
        var offset = MediaTime.zero, limit: MediaTime?
        var isPaused = false
        var round = ShuffledOrder.Round()
    }

    var list: Playlist
    var rules: PlaylistRules
    private var loop: LoopMode { rules.loop }

    init(_ items: [PlaylistItem], rules: PlaylistRules) { (list, self.rules) = (Playlist(items), rules) }

    init(_ items: [PlaylistItem], loop: LoopMode) { self.init(items, rules: PlaylistRules(loop: loop)) }

    /// Whether an empty list waits for items. A list that does not loop has ended instead.
    var awaitsItems: Bool { list.isEmpty && loop != .off }

    /// The first item; nil if the list is empty.
    var first: Position? { first(of: ShuffledOrder.Round()) }

    private func first(of round: ShuffledOrder.Round) -> Position? {
        let first = rules.shuffle.map { $0.order(of: round, list).first } ?? list.items.first?.id
        return first.map { Position(item: $0, round: round) }
    }

    /// Returns the position after `position` has played to its end; nil at the end of a playlist that does not loop. An item that has left
    /// the list does not repeat. A due interlude comes first, and returns to the position that would have come.
    func following(_ position: Position) -> Position? {
        guard let next = followingOnList(position), position.resumption == nil, let due = list.due.first(where: { $0 != position.item })
        else { return followingOnList(position) }
        let left = Resumption(
            item: next.item, repetition: next.repetition, remaining: next.remaining, time: next.begin, isPaused: next.isPaused,
            round: next.round)
        return Position(item: due, resumption: left, round: next.round)
    }

    private func followingOnList(_ position: Position) -> Position? {
        guard let place = list.place(of: position.item), position.resumption == nil else { return nextItem(after: position) }
        if loop == .item || list.items[place].entry.waitsForTap { return Position(item: position.item, round: position.round) }
        if position.repetition + 1 < list.items[place].entry.repeatCount {
            return Position(item: position.item, repetition: position.repetition + 1, round: position.round)
        }
        return nextItem(after: position)
    }

    /// Returns the position after a playthrough: the same clip again if its slot is longer than the clip, otherwise the playlist's next
    /// one.
    func following(_ playthrough: Playthrough) -> Position? {
        if !playthrough.isStill, list.place(of: playthrough.position.item) != nil,
            let slot = playthrough.position.remaining ?? playthrough.item.duration,
            let itemEnd = playthrough.itemEnd
        {
            let played = itemEnd - playthrough.item.start
            if played > .milliseconds(1), slot - played > .milliseconds(20) {
                let position = playthrough.position
                return Position(
                    item: position.item, repetition: position.repetition, remaining: slot - played, round: position.round)
            }
        }
        return following(playthrough.position)
    }

    /// Returns the next item, for example when a viewer skips or an item fails. nil at the end of a playlist that does not loop, or if the
    /// list is empty. An interlude returns to the interrupted item.
    func nextItem(after position: Position) -> Position? {
        if let resumption = position.resumption { return resumed(resumption) }
        if let shuffle = rules.shuffle {
            if let next = shuffle.next(after: position.item, in: position.round, list) {
                return Position(item: next, round: position.round)
            }
            return loop == .off ? nil : first(of: .init(number: position.round.number &+ 1, before: position.item))
        }
        let place = list.place(after: position.item)
        if place < list.items.count { return Position(item: list.items[place].id) }
        return loop == .off ? nil : first
    }

    private func resumed(_ left: Resumption) -> Position? {
        if let next = left.interludes.first {
            var rest = left
            rest.interludes.removeFirst()
            return Position(item: next, resumption: rest, round: left.round)
        }
        // Does not return to an item that has left the list meanwhile.
        guard list.place(of: left.item) != nil || list.isInterlude(left.item) else {
            return nextItem(after: Position(item: left.item, round: left.round))
        }
        let begin = left.offset == .zero ? left.time : left.time.map { max(.zero, min($0 + left.offset, left.limit ?? $0 + left.offset)) }
        return Position(
            item: left.item, repetition: left.repetition, remaining: left.remaining, begin: begin, isPaused: left.isPaused,
            round: left.round)
    }

    /// Returns the position after an interlude and all that would follow it, `offset` later than the interrupted one; nil if `position` is
    /// no interlude that returns.
    func resumed(from position: Position, offset: MediaTime?) -> Position? {
        guard var left = position.resumption else { return nil }
        left.interludes = []
        if let offset { left.offset = offset }
        return resumed(left)
    }

    /// Returns the same item from its beginning.
    func restarted(_ position: Position) -> Position {
        Position(item: position.item, resumption: position.resumption, round: position.round)
    }

    /// Returns the item at a place, counted from 1; nil if there is none.
    func item(number: Int) -> Position? {
        number >= 1 && number <= list.items.count ? Position(item: list.items[number - 1].id) : nil
    }

    /// Returns the item after one that waits for a tap; nil for any other item.
    func afterWaiting(_ position: Position) -> Position? {
        list[position.item]?.waitsForTap == true ? nextItem(after: position) : nil
    }

    /// Returns the place to which an interlude returns that begins at item time `time` of `position`; `time` is nil if the item is not
    /// seekable. If `position` is itself an interlude that returns, the new one returns to the place that the first one interrupted.
    func resumption(of position: Position, at time: MediaTime?, isPaused: Bool) -> Resumption {
        if let resumption = position.resumption { return resumption }
        let begin = position.begin ?? list[position.item]?.start ?? .zero
        return Resumption(
            item: position.item, repetition: position.repetition,
            remaining: position.remaining.map { max(.milliseconds(1), $0 - max(.zero, (time ?? begin) - begin)) }, time: time,
            isPaused: isPaused, round: position.round)
    }

    /// Returns the item before; the first one stays if the playlist does not loop. nil if the list is empty.
    func previousItem(before position: Position) -> Position? {
        if let shuffle = rules.shuffle {
            let before =
                shuffle.previous(before: position.item, in: position.round, list)
                ?? (loop == .off ? shuffle.order(of: position.round, list).first : shuffle.order(of: position.round, list).last)
            return before.map { Position(item: $0, round: position.round) }
        }
        // An item that has left the list counts as standing behind its present predecessor.
        let place = list.place(of: position.item) ?? list.place(after: position.item)
        if place > 0 { return Position(item: list.items[place - 1].id) }
        return loop == .off ? first : list.items.last.map { Position(item: $0.id) }
    }
}
