import Platform

/// Which turn of which item comes next: the playlist's order as a pure value.
struct PlaylistCursor: Hashable, Sendable {
    /// A place in the playlist.
    struct Position: Hashable, Sendable {
        /// Index into the playlist.
        var index: Int
        /// How many turns of the item came before this one in its `repeatCount`.
        var turn = 0
        /// What is left of the item's configured `duration` when a clip shorter than it begins again; nil at its beginning.
        var remaining: MediaTime?
    }

    private let repeatCounts: [Int]
    private let loop: LoopMode

    init(_ items: [PlaylistItem], loop: LoopMode) {
        repeatCounts = items.map { max(1, $0.repeatCount) }
        self.loop = loop
    }

    /// What comes after `position` has been played to its end; nil at the end of a playlist that does not loop.
    func following(_ position: Position) -> Position? {
        if loop == .item { return Position(index: position.index) }
        if position.turn + 1 < repeatCounts[position.index] { return Position(index: position.index, turn: position.turn + 1) }
        return nextItem(after: position)
    }

    /// What comes after a turn: the same clip again where its slot is longer than it, else what the playlist says.
    func following(_ turn: Turn) -> Position? {
        if !turn.isStill, let slot = turn.position.remaining ?? turn.item.duration, let itemEnd = turn.itemEnd {
            let played = itemEnd - turn.item.start
            if played > .milliseconds(1), slot - played > .milliseconds(20) {
                var position = turn.position
                position.remaining = slot - played
                return position
            }
        }
        return following(turn.position)
    }

    /// The item after, as when a viewer skips or when an item fails; nil at the end of a playlist that does not loop.
    func nextItem(after position: Position) -> Position? {
        if position.index + 1 < repeatCounts.count { return Position(index: position.index + 1) }
        return loop == .off || repeatCounts.isEmpty ? nil : Position(index: 0)
    }

    /// The item before; the first stays where a playlist does not loop.
    func previousItem(before position: Position) -> Position {
        if position.index > 0 { return Position(index: position.index - 1) }
        return Position(index: loop == .off ? 0 : max(0, repeatCounts.count - 1))
    }
}
