import KioskPlatform
import KioskVocabulary

/// Which playthrough of which item comes next: the playlist's order as a pure value.
struct PlaylistCursor: Hashable, Sendable {
    /// A place in the playlist.
    struct Position: Hashable, Sendable {
        /// Which item it is, wherever that stands.
        var item: QueueItem.ID
        /// How many playthroughs of the item came before this one, of its `repeatCount`.
        var repetition = 0
        /// What is left of the item's configured `duration` when a clip shorter than it begins again; nil at its beginning.
        var remaining: MediaTime?
        /// Item time to begin at, where that is not the item's own beginning: an interlude returns there.
        var begin: MediaTime?
        /// Whether it is paused when its first picture is on the screen, as it was when it was left for an interlude.
        var isPaused = false
        /// Where it goes on after it; nil for what follows on the list.
        var resumption: Resumption?
        /// The round it is played in, where the playlist is shuffled.
        var round = ShuffledOrder.Round()

        /// Whether it is the same playthrough, wherever that is begun.
        func isSamePlaythrough(as other: Position) -> Bool {
            (item, repetition, remaining) == (other.item, other.repetition, other.remaining) && resumption == other.resumption
        }
    }

    /// What was left for an interlude, and where.
    struct Resumption: Hashable, Sendable {
        var item: QueueItem.ID
        var repetition = 0
        /// As in ``Position``, at its beginning.
        var remaining: MediaTime?
        /// Item time; nil for the beginning of what cannot be moved about in.
        var time: MediaTime?
        var isPaused = false
        var round = ShuffledOrder.Round()
    }

    var list: Playlist
    var rules: PlaylistRules
    private var loop: LoopMode { rules.loop }

    init(_ items: [PlaylistItem], rules: PlaylistRules) { (list, self.rules) = (Playlist(items), rules) }

    init(_ items: [PlaylistItem], loop: LoopMode) { self.init(items, rules: PlaylistRules(loop: loop)) }

    /// Whether an empty list is to be filled: one that does not loop has ended then.
    var awaitsItems: Bool { list.isEmpty && loop != .off }

    /// The first item; nil where there is none.
    var first: Position? { first(of: ShuffledOrder.Round()) }

    private func first(of round: ShuffledOrder.Round) -> Position? {
        let first = rules.shuffle.map { $0.order(of: round, list).first } ?? list.items.first?.id
        return first.map { Position(item: $0, round: round) }
    }

    /// What comes after `position` has been played to its end; nil at the end of a playlist that does not loop. An item that has left the
    /// list is not repeated. An interlude that is due comes first, and returns to what would have come.
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

    /// What comes after a playthrough: the same clip again where its slot is longer than it, else what the playlist says.
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

    /// The item after, as when a viewer skips or when an item fails; nil at the end of a playlist that does not loop, and where there is
    /// no item. An interlude returns to what was left for it.
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
        // What has left the list meanwhile is not returned to.
        guard list.place(of: left.item) != nil || list.isInterlude(left.item) else {
            return nextItem(after: Position(item: left.item, round: left.round))
        }
        return Position(
            item: left.item, repetition: left.repetition, remaining: left.remaining, begin: left.time, isPaused: left.isPaused,
            round: left.round)
    }

    /// The same item from its beginning.
    func restarted(_ position: Position) -> Position {
        Position(item: position.item, resumption: position.resumption, round: position.round)
    }

    /// The item at a place, counted from 1; nil where there is none.
    func item(number: Int) -> Position? {
        number >= 1 && number <= list.items.count ? Position(item: list.items[number - 1].id) : nil
    }

    /// What follows an item that waits for a tap; nil for any other.
    func afterWaiting(_ position: Position) -> Position? {
        list[position.item]?.waitsForTap == true ? nextItem(after: position) : nil
    }

    /// Where an interlude returns to that begins when `position` is at item time `time`; nil there for what cannot be moved about in. What is
    /// left for an interlude and is one itself, and returns, is not returned to, but what was left for that.
    func resumption(of position: Position, at time: MediaTime?, isPaused: Bool) -> Resumption {
        if let resumption = position.resumption { return resumption }
        let begin = position.begin ?? list[position.item]?.start ?? .zero
        return Resumption(
            item: position.item, repetition: position.repetition,
            remaining: position.remaining.map { max(.milliseconds(1), $0 - max(.zero, (time ?? begin) - begin)) }, time: time,
            isPaused: isPaused, round: position.round)
    }

    /// The item before; the first stays where a playlist does not loop. nil where there is no item.
    func previousItem(before position: Position) -> Position? {
        if let shuffle = rules.shuffle {
            let before =
                shuffle.previous(before: position.item, in: position.round, list)
                ?? (loop == .off ? shuffle.order(of: position.round, list).first : shuffle.order(of: position.round, list).last)
            return before.map { Position(item: $0, round: position.round) }
        }
        // What has left the list stood behind what it would follow now.
        let place = list.place(of: position.item) ?? list.place(after: position.item)
        if place > 0 { return Position(item: list.items[place - 1].id) }
        return loop == .off ? first : list.items.last.map { Position(item: $0.id) }
    }
}
