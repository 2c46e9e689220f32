/// The items that are played, in order, each under a number of its own.
///
/// The list can be replaced while it plays. What is in both lists keeps its number, wherever it stands now; what is new gets a number that was never used.
/// Frames on their way, jumps, complaints and counts name items by number, so that none of them has to be changed when the list is. Numbers begin as the
/// places of the first list.
///
/// What has left the list is remembered for a while (``memory`` items): it may still be on the screen, and what follows it then is what follows the item
/// that stood before it and stayed. An item that comes back, as with a stick that is put in again, gets its old number.
struct Playlist: Hashable, Sendable {
    /// In order.
    private(set) var items: [PlaylistItem]
    /// Their numbers, in the same order.
    private(set) var numbers: [Int]
    /// Grows with every change.
    private(set) var revision = 0
    private var places: [Int: Int]
    private var left: [Int: Left] = [:]
    /// The keys of ``left``, the oldest first.
    private var leavers: [Int] = []
    private var nextNumber: Int

    /// An item that is no longer on the list.
    private struct Left: Hashable {
        var item: PlaylistItem
        /// What stood before it and stayed; nil where it stood at the beginning.
        var after: Int?
    }

    /// Items that are remembered after they have left.
    static let memory = 256

    /// A list whose items are numbered by their places.
    init(_ items: [PlaylistItem]) {
        self.items = items
        numbers = Array(items.indices)
        nextNumber = items.count
        places = Dictionary(uniqueKeysWithValues: items.indices.map { ($0, $0) })
    }

    /// Whether there is nothing on it.
    var isEmpty: Bool { items.isEmpty }

    /// Where an item stands; nil when it has left.
    func place(of number: Int) -> Int? { places[number] }

    /// An item on the list, or one that has left and is remembered.
    subscript(number: Int) -> PlaylistItem? { places[number].map { items[$0] } ?? left[number]?.item }

    /// The place of what follows an item: the list's length after the last, 0 for an item that is not known any more.
    func place(after number: Int) -> Int {
        if let place = places[number] { return place + 1 }
        return left[number]?.after.flatMap { places[$0] }.map { $0 + 1 } ?? 0
    }

    /// Replaces the list; the n-th of several equal items is the n-th of them in the new list.
    ///
    /// - Returns: the numbers that mean nothing any more; nil where the lists are equal and nothing was done.
    mutating func replace(with items: [PlaylistItem]) -> [Int]? {
        if items == self.items { return nil }
        // Taken from the end: first those on the list in their order, then those that have left, the last one first.
        var known: [PlaylistItem: [Int]] = [:]
        for number in leavers + numbers.reversed() { known[self[number]!, default: []].append(number) }
        let before = (items: self.items, numbers: numbers)
        numbers = items.map { item in
            if let number = known[item]?.popLast() { return number }
            nextNumber += 1
            return nextNumber - 1
        }
        self.items = items
        revision += 1
        places = Dictionary(uniqueKeysWithValues: numbers.enumerated().map { ($1, $0) })

        leavers.removeAll { places[$0] != nil }
        left = left.filter { places[$0.key] == nil }
        var leaving: [Int: Int?] = [:]
        var stayed: Int?
        for (number, item) in zip(before.numbers, before.items) {
            if places[number] != nil {
                stayed = number
            } else {
                left[number] = Left(item: item, after: stayed)
                leavers.append(number)
                leaving[number] = .some(stayed)
            }
        }
        for number in leavers { if let after = left[number]!.after, let further = leaving[after] { left[number]!.after = further } }
        let forgotten = Array(leavers.prefix(max(0, leavers.count - Self.memory)))
        leavers.removeFirst(forgotten.count)
        for number in forgotten { left[number] = nil }
        return forgotten
    }
}
