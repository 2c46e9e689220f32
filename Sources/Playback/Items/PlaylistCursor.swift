import Platform

/// Which playthrough of which item comes next: the playlist's order as a pure value.
struct PlaylistCursor: Hashable, Sendable {
    /// A place in the playlist.
    struct Position: Hashable, Sendable {
        /// Which item it is, wherever that stands.
        var item: PlayerItem.ID
        /// How many playthroughs of the item came before this one, of its `repeatCount`.
        var repetition = 0
        /// What is left of the item's configured `duration` when a clip shorter than it begins again; nil at its beginning.
        var remaining: MediaTime?
    }

    /// What is played.
    var list: Playlist
    private let loop: LoopMode

    init(_ items: [PlaylistItem], loop: LoopMode) {
        list = Playlist(items)
        self.loop = loop
    }

    /// Whether an empty list is to be filled: one that does not loop has ended then.
    var awaitsItems: Bool { list.isEmpty && loop != .off }

    /// The first item; nil where there is none.
    var first: Position? { list.items.first.map { Position(item: $0.id) } }

    /// What comes after `position` has been played to its end; nil at the end of a playlist that does not loop. An item that has left the
    /// list is not repeated.
    func following(_ position: Position) -> Position? {
        guard let place = list.place(of: position.item) else { return nextItem(after: position) }
        if loop == .item { return Position(item: position.item) }
        if position.repetition + 1 < list.items[place].entry.repeatCount {
            return Position(item: position.item, repetition: position.repetition + 1)
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
                var position = playthrough.position
                position.remaining = slot - played
                return position
            }
        }
        return following(playthrough.position)
    }

    /// The item after, as when a viewer skips or when an item fails; nil at the end of a playlist that does not loop, and where there is
    /// no item.
    func nextItem(after position: Position) -> Position? {
        let place = list.place(after: position.item)
        if place < list.items.count { return Position(item: list.items[place].id) }
        return loop == .off ? nil : first
    }

    /// The item before; the first stays where a playlist does not loop. nil where there is no item.
    func previousItem(before position: Position) -> Position? {
        // What has left the list stood behind what it would follow now.
        let place = list.place(of: position.item) ?? list.place(after: position.item)
        if place > 0 { return Position(item: list.items[place - 1].id) }
        return loop == .off ? first : list.items.last.map { Position(item: $0.id) }
    }
}
