import KioskVocabulary

/// The items to play, in order. Each has its own identity (``QueueItem``).
///
/// The list can change during playback. Queued frames, seek requests, error reports and statistics name items by their identity, so a
/// change of the list leaves them valid. Identities are numbers; the first list's are its places. No number is used twice.
///
/// The list remembers the last ``memory`` items that have left it. Such an item may still be on the screen; its successor is then that of
/// the nearest item before it that stayed. An item that comes back, for example when someone plugs a stick in again, gets its old identity.
struct Playlist: Hashable, Sendable {
    private(set) var items: [QueueItem]
    /// A number that grows with every change.
    private(set) var revision = 0
    private var places: [QueueItem.ID: Int]
    private var left: [QueueItem.ID: Left] = [:]
    /// The keys of ``left``, the oldest first.
    private var leavers: [QueueItem.ID] = []
    /// The items in ``left`` that were never on the list. An interlude plays between two items; its place is behind the item that was
    /// playing at the request.
    private var interludes: Set<QueueItem.ID> = []
    /// The interludes to play at the next boundaries, in order.
    private(set) var due: [QueueItem.ID] = []
    /// The tracks chosen for items, on the list or not.
    private var selections: [QueueItem.ID: TrackSelection] = [:]
    private var nextNumber: Int

    /// An item that is no longer on the list.
    private struct Left: Hashable {
        var entry: PlaylistItem
        /// The item before it that stayed; nil if it stood at the beginning.
        var after: QueueItem.ID?
    }

    /// The number of items that the list remembers after they have left.
    static let memory = 256

    /// Creates a list whose items are numbered by their places.
    init(_ entries: [PlaylistItem]) {
        items = entries.enumerated().map { QueueItem(id: .init($0), $1) }
        nextNumber = entries.count
        places = Dictionary(uniqueKeysWithValues: items.indices.map { (.init($0), $0) })
    }

    var isEmpty: Bool { items.isEmpty }

    /// Returns the place of an item; nil if it has left.
    func place(of id: QueueItem.ID) -> Int? { places[id] }

    /// The entry of an item on the list, or of a remembered one, with the tracks chosen for it.
    subscript(id: QueueItem.ID) -> PlaylistItem? { entry(id)?.selecting(selections[id]) }

    /// Returns the entry without chosen tracks.
    private func entry(_ id: QueueItem.ID) -> PlaylistItem? { places[id].map { items[$0].entry } ?? left[id]?.entry }

    /// Returns the place of an item's successor: the list's length after the last item, 0 for a forgotten item.
    func place(after id: QueueItem.ID) -> Int {
        if let place = places[id] { return place + 1 }
        return left[id]?.after.flatMap { places[$0] }.map { $0 + 1 } ?? 0
    }

    /// Returns whether an item is an interlude: one that plays between two items of the list.
    func isInterlude(_ id: QueueItem.ID) -> Bool { interludes.contains(id) }

    // MARK: Changing

    /// Adds an interlude to play at the item `present`. A repeated request returns the same one.
    ///
    /// - Returns: The interlude's identity, and the identities that are now forgotten.
    mutating func addInterlude(_ entry: PlaylistItem, at present: QueueItem.ID?) -> (id: QueueItem.ID, forgotten: [QueueItem.ID]) {
        let after = present.flatMap { places[$0] != nil ? $0 : left[$0]?.after }
        if let place = leavers.firstIndex(where: { interludes.contains($0) && left[$0] == Left(entry: entry, after: after) }) {
            // The one to be forgotten last.
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

    /// Adds an interlude to play when the present item ends, unless it is already due. Returns the same as ``addInterlude(_:at:)``.
    mutating func enqueueInterlude(_ entry: PlaylistItem, at present: QueueItem.ID?) -> (id: QueueItem.ID, forgotten: [QueueItem.ID]) {
        if let known = due.first(where: { left[$0]?.entry == entry }) { return (known, []) }
        let made = addInterlude(entry, at: present)
        due.append(made.id)
        revision += 1
        return made
    }

    /// Removes an interlude from those that are due: it is on the screen, cannot be played, or is no longer wanted.
    mutating func interludeIsOver(_ id: QueueItem.ID) {
        guard let place = due.firstIndex(of: id) else { return }
        due.remove(at: place)
        revision += 1
    }

    /// Replaces the list. The n-th of several equal entries stays the n-th of them in the new list; the gravity does not count in the
    /// comparison. A missing file that has arrived keeps the item that was listed without it. That item may be on the screen already,
    /// opened by its name before kiosk scanned the folder; a second item would play it twice in a row. It takes over the tracks chosen for
    /// the file before.
    ///
    /// - Returns: The identities that are now forgotten; nil if the lists are equal and nothing was done.
    mutating func replace(with entries: [PlaylistItem]) -> [QueueItem.ID]? {
        if entries == items.map(\.entry) { return nil }
        // popLast() takes from the end: first the items on the list in their order, then those that have left, the last one first. Gravity
        // does not make another item.
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
                // The item on the list, or the one that left last: a file that has arrived is not listed while someone may still be writing
                // it.
                func rank(_ id: QueueItem.ID?) -> Int { id.map { places[$0] != nil ? .max : leavers.lastIndex(of: $0) ?? -1 } ?? -1 }
                guard let listed = known[missing]?.last, rank(listed) > rank(former) else { return QueueItem(id: former ?? newID(), entry) }
                known[missing]?.removeLast()
                selections[listed] = selections[listed] ?? former.flatMap { selections[$0] }
                return QueueItem(id: listed, entry)
            })
    }

    /// Replaces the list by items in any order. Listed and remembered items keep their identity and take over their entry from `items`. An
    /// unknown item, or a second occurrence, becomes a new item.
    ///
    /// - Returns: The same as ``replace(with:)``.
    mutating func arrange(_ items: [QueueItem]) -> [QueueItem.ID]? {
        var taken: Set<QueueItem.ID> = []
        let items = items.map { item in
            self[item.id] != nil && taken.insert(item.id).inserted ? item : QueueItem(id: newID(), item.entry)
        }
        return items == self.items ? nil : set(items)
    }

    /// Inserts new items before place `place`, or at the end if that is beyond it.
    ///
    /// - Returns: The new identities, and the identities that are now forgotten.
    mutating func insert(_ entries: [PlaylistItem], at place: Int) -> (new: [QueueItem.ID], forgotten: [QueueItem.ID]?) {
        let new = entries.map { QueueItem(id: newID(), $0) }
        var items = items
        items.insert(contentsOf: new, at: min(max(place, 0), items.count))
        return (new.map(\.id), new.isEmpty ? nil : set(items))
    }

    /// Removes items from the list. Returns the same as ``replace(with:)``.
    mutating func remove(_ ids: Set<QueueItem.ID>) -> [QueueItem.ID]? {
        let staying = items.filter { !ids.contains($0.id) }
        return staying.count == items.count ? nil : set(staying)
    }

    /// Chooses a track of an item from now on, in place of its entry's choice. Returns false if that changes nothing.
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

    /// Sets the gravity of an item on the list. Returns false if that changes nothing.
    mutating func setGravity(_ gravity: VideoGravity, of id: QueueItem.ID) -> Bool {
        guard let place = places[id], items[place].entry.gravity != gravity else { return false }
        items[place].entry.gravity = gravity
        revision += 1
        return true
    }

    /// Returns the items on the list whose gravity differs from `former`, with their gravity now.
    func gravities(changedSince former: Playlist) -> [QueueItem.ID: VideoGravity] {
        var changed: [QueueItem.ID: VideoGravity] = [:]
        for item in items {
            guard let before = former.entry(item.id)?.gravity, before != item.entry.gravity else { continue }
            changed[item.id] = item.entry.gravity
        }
        return changed
    }

    /// Counts a change of the playback rules, so that holders of a copy refresh it.
    mutating func noteRules() { revision += 1 }

    /// Moves an item to a place, counted in the list without the item. Returns the same as ``replace(with:)``.
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

    /// Installs a list of items with unique identities. Returns the identities that are now forgotten.
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

/// An item of a player's playlist: an identity and the entry that it plays.
///
/// The player assigns the identity when an item joins the list (``PlaybackEngine/append(_:)`` and the like). The item keeps it through all
/// changes and moves. Events, statistics and commands name items by it. Two items that play the same file are two items.
package struct QueueItem: Hashable, Sendable, Identifiable {
    /// The identity of an item of one player.
    package struct ID: Hashable, Comparable, Sendable, CustomStringConvertible {
        /// The number of the item, counted from 0 in the order in which items first joined the list, and never used again.
        package let number: Int

        init(_ number: Int) { self.number = number }

        /// Returns whether `a` joined the list before `b`, or stood before it on the first list.
        package static func < (a: ID, b: ID) -> Bool { a.number < b.number }
        /// The number.
        package var description: String { "\(number)" }
    }

    /// The item's identity.
    package let id: ID
    /// The source to play, and its options.
    package var entry: PlaylistItem

    init(id: ID, _ entry: PlaylistItem) { (self.id, self.entry) = (id, entry) }
}
