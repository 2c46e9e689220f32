import KioskVocabulary

/// The items that are played, in order, each with an identity of its own (``QueueItem``).
///
/// The list can be changed while it plays. Frames on their way, seek requests, complaints and counts name items by their identity, so that
/// none of them has to be changed when the list is. Identities are numbers that begin as the places of the first list; none is used twice.
///
/// What has left the list is remembered for a while (``memory`` items): it may still be on the screen, and what follows it then is what
/// follows the item that stood before it and stayed. An item that comes back, as with a stick that is put in again, gets its old identity.
struct Playlist: Hashable, Sendable {
    private(set) var items: [QueueItem]
    /// Grows with every change.
    private(set) var revision = 0
    private var places: [QueueItem.ID: Int]
    private var left: [QueueItem.ID: Left] = [:]
    /// The keys of ``left``, the oldest first.
    private var leavers: [QueueItem.ID] = []
    /// Of those, what was never on the list: it is played between two items, and stands behind the one it was asked for at.
    private var interludes: Set<QueueItem.ID> = []
    /// Of those, what is to be played at the next boundary, and at those after it.
    private(set) var due: [QueueItem.ID] = []
    /// The tracks that have been chosen of items, on the list or not.
    private var selections: [QueueItem.ID: TrackSelection] = [:]
    private var nextNumber: Int

    /// An item that is no longer on the list.
    private struct Left: Hashable {
        var entry: PlaylistItem
        /// What stood before it and stayed; nil where it stood at the beginning.
        var after: QueueItem.ID?
    }

    /// Items that are remembered after they have left.
    static let memory = 256

    /// A list whose items are numbered by their places.
    init(_ entries: [PlaylistItem]) {
        items = entries.enumerated().map { QueueItem(id: .init($0), $1) }
        nextNumber = entries.count
        places = Dictionary(uniqueKeysWithValues: items.indices.map { (.init($0), $0) })
    }

    var isEmpty: Bool { items.isEmpty }

    /// Where an item stands; nil when it has left.
    func place(of id: QueueItem.ID) -> Int? { places[id] }

    /// What an item plays that is on the list, or that has left and is remembered; with the tracks that were chosen of it.
    subscript(id: QueueItem.ID) -> PlaylistItem? { entry(id)?.selecting(selections[id]) }

    /// The same as the list has it.
    private func entry(_ id: QueueItem.ID) -> PlaylistItem? { places[id].map { items[$0].entry } ?? left[id]?.entry }

    /// The place of what follows an item: the list's length after the last, 0 for an item that is not known any more.
    func place(after id: QueueItem.ID) -> Int {
        if let place = places[id] { return place + 1 }
        return left[id]?.after.flatMap { places[$0] }.map { $0 + 1 } ?? 0
    }

    /// Whether an item is played between two of the list.
    func isInterlude(_ id: QueueItem.ID) -> Bool { interludes.contains(id) }

    // MARK: Changing

    /// Makes an item that is not on the list, to be played at the item `present`. The same as before where that is asked for again.
    ///
    /// - Returns: its identity, and those that mean nothing any more.
    mutating func addInterlude(_ entry: PlaylistItem, at present: QueueItem.ID?) -> (id: QueueItem.ID, forgotten: [QueueItem.ID]) {
        let after = present.flatMap { places[$0] != nil ? $0 : left[$0]?.after }
        if let place = leavers.firstIndex(where: { interludes.contains($0) && left[$0] == Left(entry: entry, after: after) }) {
            // The last one to be forgotten.
            leavers.append(leavers.remove(at: place))
            return (leavers[leavers.count - 1], [])
        }
        let id = newID()
        left[id] = Left(entry: entry, after: after)
        leavers.append(id)
        interludes.insert(id)
        revision += 1
        return (id, forgetOldest())
    }

    /// Has an item that is not on the list be played when the present one has ended; not twice where it is to be already. Returns as
    /// ``addInterlude(_:at:)``.
    mutating func enqueueInterlude(_ entry: PlaylistItem, at present: QueueItem.ID?) -> (id: QueueItem.ID, forgotten: [QueueItem.ID]) {
        if let known = due.first(where: { left[$0]?.entry == entry }) { return (known, []) }
        let made = addInterlude(entry, at: present)
        due.append(made.id)
        revision += 1
        return made
    }

    /// An item is on the screen, or cannot be played, or is not wanted: it is not due any more.
    mutating func interludeIsOver(_ id: QueueItem.ID) {
        guard let place = due.firstIndex(of: id) else { return }
        due.remove(at: place)
        revision += 1
    }

    /// Replaces the list by what is to be played; the n-th of several equal entries is the n-th of them in the new list. How pictures are fitted
    /// makes no entry another. A file that was missing and has come stays the item that was listed without it: that may be on the screen already, opened by
    /// its name before the folder was looked into, and would be played twice in a row else. It takes over the tracks that were chosen of the file before.
    ///
    /// - Returns: the identities that mean nothing any more; nil where the lists are equal and nothing was done.
    mutating func replace(with entries: [PlaylistItem]) -> [QueueItem.ID]? {
        if entries == items.map(\.entry) { return nil }
        // Taken from the end: first those on the list in their order, then those that have left, the last one first.
        // Fitted another way it is the same item.
        func key(_ entry: PlaylistItem) -> PlaylistItem {
            var key = entry
            key.gravity = .resizeAspect
            return key
        }
        var known: [PlaylistItem: [QueueItem.ID]] = [:]
        for id in leavers + items.reversed().map(\.id) { known[key(entry(id)!), default: []].append(id) }
        return set(
            entries.map { entry in
                let key = key(entry)
                guard key.version != nil else { return QueueItem(id: known[key]?.popLast() ?? newID(), entry) }
                var missing = key
                missing.version = nil
                let former = known[key]?.popLast()
                // The one that is on the list, or left it last: a file that has come is not on it while it may still be written.
                func rank(_ id: QueueItem.ID?) -> Int { id.map { places[$0] != nil ? .max : leavers.lastIndex(of: $0) ?? -1 } ?? -1 }
                guard let listed = known[missing]?.last, rank(listed) > rank(former) else { return QueueItem(id: former ?? newID(), entry) }
                known[missing]?.removeLast()
                selections[listed] = selections[listed] ?? former.flatMap { selections[$0] }
                return QueueItem(id: listed, entry)
            })
    }

    /// Replaces the list by items in any order: those that are on it, or have been not long ago, keep their identity and take over what
    /// `items` says of them. One that is not known, or that comes a second time, is a new item.
    ///
    /// - Returns: as ``replace(with:)``.
    mutating func arrange(_ items: [QueueItem]) -> [QueueItem.ID]? {
        var taken: Set<QueueItem.ID> = []
        let items = items.map { item in
            self[item.id] != nil && taken.insert(item.id).inserted ? item : QueueItem(id: newID(), item.entry)
        }
        return items == self.items ? nil : set(items)
    }

    /// Puts new items before place `place`, at the end where that is beyond it.
    ///
    /// - Returns: their identities, and those that mean nothing any more.
    mutating func insert(_ entries: [PlaylistItem], at place: Int) -> (new: [QueueItem.ID], forgotten: [QueueItem.ID]?) {
        let new = entries.map { QueueItem(id: newID(), $0) }
        var items = items
        items.insert(contentsOf: new, at: min(max(place, 0), items.count))
        return (new.map(\.id), new.isEmpty ? nil : set(items))
    }

    /// Takes items off the list. Returns as ``replace(with:)``.
    mutating func remove(_ ids: Set<QueueItem.ID>) -> [QueueItem.ID]? {
        let staying = items.filter { !ids.contains($0.id) }
        return staying.count == items.count ? nil : set(staying)
    }

    /// Has a track of an item be played from now on, whatever its entry says; false where that changes nothing.
    mutating func select(_ choice: TrackChoice, of kind: TrackKind, in id: QueueItem.ID) -> Bool {
        guard let entry = entry(id) else { return false }
        let before = selections[id]
        var selection = before ?? TrackSelection()
        switch kind {
        case .audio: selection.audio = choice
        case .video: selection.video = choice
        case .subtitle: selection.subtitle = choice
        }
        guard entry.selecting(selection) != entry.selecting(before) else { return false }
        selections[id] = selection
        revision += 1
        return true
    }

    /// Has the pictures of an item on the list be fitted as `gravity` says; false where that changes nothing.
    mutating func setGravity(_ gravity: VideoGravity, of id: QueueItem.ID) -> Bool {
        guard let place = places[id], items[place].entry.gravity != gravity else { return false }
        items[place].entry.gravity = gravity
        revision += 1
        return true
    }

    /// The items on the list whose pictures are fitted otherwise than `former` said, and how.
    func gravities(changedSince former: Playlist) -> [QueueItem.ID: VideoGravity] {
        var changed: [QueueItem.ID: VideoGravity] = [:]
        for item in items {
            guard let before = former.entry(item.id)?.gravity, before != item.entry.gravity else { continue }
            changed[item.id] = item.entry.gravity
        }
        return changed
    }

    /// How it is played has changed, which those are told who keep a copy.
    mutating func noteRules() { revision += 1 }

    /// Moves an item to a place, counted in the list without it. Returns as ``replace(with:)``.
    mutating func move(_ id: QueueItem.ID, to place: Int) -> [QueueItem.ID]? {
        guard let present = places[id] else { return nil }
        var items = items
        let item = items.remove(at: present)
        items.insert(item, at: min(max(place, 0), items.count))
        return items == self.items ? nil : set(items)
    }

    private mutating func newID() -> QueueItem.ID {
        nextNumber += 1
        return .init(nextNumber - 1)
    }

    /// Takes over a list of items whose identities are unique.
    private mutating func set(_ new: [QueueItem]) -> [QueueItem.ID] {
        let before = items
        items = new
        revision += 1
        places = Dictionary(uniqueKeysWithValues: items.enumerated().map { ($1.id, $0) })

        leavers.removeAll { places[$0] != nil }
        left = left.filter { places[$0.key] == nil }
        var leaving: [QueueItem.ID: QueueItem.ID?] = [:]
        var stayed: QueueItem.ID?
        for item in before {
            if places[item.id] != nil {
                stayed = item.id
            } else {
                left[item.id] = Left(entry: item.entry, after: stayed)
                leavers.append(item.id)
                leaving[item.id] = .some(stayed)
            }
        }
        for id in leavers { if let after = left[id]!.after, let further = leaving[after] { left[id]!.after = further } }
        interludes = interludes.filter { left[$0] != nil }
        return forgetOldest()
    }

    private mutating func forgetOldest() -> [QueueItem.ID] {
        let forgotten = Set(leavers.filter { !due.contains($0) }.prefix(max(0, leavers.count - Self.memory)))
        if forgotten.isEmpty { return [] }
        leavers.removeAll { forgotten.contains($0) }
        for id in forgotten {
            left[id] = nil
            selections[id] = nil
            interludes.remove(id)
        }
        return Array(forgotten)
    }
}

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
