import KioskVocabulary

/// An item of a player's playlist: an identity of its own, and what is played under it.
///
/// The player gives the identity when an item comes onto the list (``PlaybackEngine/append(_:)`` and the like), and the item keeps it wherever the
/// list is changed or reordered. Events, statistics and commands name items by it. Two items that play the same file are two items.
package struct QueueItem: Hashable, Sendable, Identifiable {
    /// Names an item of one player.
    package struct ID: Hashable, Comparable, Sendable, CustomStringConvertible {
        /// Counted from 0 in the order in which items first came onto the list, and never used again.
        package let number: Int

        init(_ number: Int) { self.number = number }

        /// Whether `a` was on the list before `b`, or stood before it on the first one.
        package static func < (a: ID, b: ID) -> Bool { a.number < b.number }
        /// The number.
        package var description: String { "\(number)" }
    }

    /// Its identity.
    package let id: ID
    /// What is played, and how.
    package var entry: PlaylistItem

    init(id: ID, _ entry: PlaylistItem) { (self.id, self.entry) = (id, entry) }
}
