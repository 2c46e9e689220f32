/// An item of a player's playlist: an identity of its own, and what is played under it.
///
/// The player gives the identity when an item comes onto the list (``Player/append(_:)`` and the like), and the item keeps it wherever the
/// list is changed or reordered. Events, statistics and commands name items by it. Two items that play the same file are two items.
public struct PlayerItem: Hashable, Sendable, Identifiable {
    /// Names an item of one player.
    public struct ID: Hashable, Comparable, Sendable, CustomStringConvertible {
        /// Counted from 0 in the order in which items first came onto the list, and never used again.
        public let number: Int

        init(_ number: Int) { self.number = number }

        /// Whether `a` was on the list before `b`, or stood before it on the first one.
        public static func < (a: ID, b: ID) -> Bool { a.number < b.number }
        /// The number.
        public var description: String { "\(number)" }
    }

    /// Its identity.
    public let id: ID
    /// What is played, and how.
    public var entry: PlaylistItem

    init(id: ID, _ entry: PlaylistItem) { (self.id, self.entry) = (id, entry) }
}
