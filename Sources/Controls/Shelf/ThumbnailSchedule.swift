import KioskVocabulary

/// Which thumbnail is made next, and which are kept in memory. A pure value.
///
/// What is asked for is a list, the most urgent first: what is seen, then what comes next in the direction of the scroll. Each list replaces the one
/// before, so nothing is made for cards that have been scrolled past. One is made at a time. Pictures in memory have a limit in bytes: those that
/// were asked for longest ago go first. What cannot be made is remembered, and is not tried again as long as the file is the same.
struct ThumbnailSchedule<Picture: Sendable>: Sendable {
    private struct Kept {
        var picture: Picture
        var bytes: Int
        var used: Int
    }

    private let limit: Int
    private var wanted: [ShelfEntry] = []
    private var kept: [ShelfEntry: Kept] = [:]
    private var without: Set<ShelfEntry> = []
    private(set) var byteCount = 0
    private var uses = 0

    /// Keeps at most `limit` bytes of pictures.
    init(limit: Int) { self.limit = max(0, limit) }

    /// These are wanted, the most urgent first, and no others.
    mutating func want(_ entries: [ShelfEntry]) {
        wanted = entries
        uses += 1
        for entry in entries { kept[entry]?.used = uses }
    }

    /// The one to make; nil where all that is wanted is there.
    var next: ShelfEntry? { wanted.first { kept[$0] == nil && !without.contains($0) } }

    /// One has been made; nil where there is no picture of it.
    mutating func made(_ picture: Picture?, bytes: Int, of entry: ShelfEntry) {
        guard let picture else {
            without.insert(entry)
            return
        }
        byteCount += bytes - (kept[entry]?.bytes ?? 0)
        kept[entry] = Kept(picture: picture, bytes: bytes, used: uses)
        guard byteCount > limit else { return }
        for (old, value) in kept.sorted(by: { $0.value.used < $1.value.used }) where old != entry {
            if byteCount <= limit || value.used == uses { break }
            byteCount -= value.bytes
            kept[old] = nil
        }
    }

    /// The picture of an entry, where it is there.
    func picture(_ entry: ShelfEntry) -> Picture? { kept[entry]?.picture }

    /// Forgets all but these.
    mutating func keepOnly(_ entries: Set<ShelfEntry>) {
        for entry in kept.keys where !entries.contains(entry) { byteCount -= kept.removeValue(forKey: entry)?.bytes ?? 0 }
        without.formIntersection(entries)
        wanted.removeAll { !entries.contains($0) }
    }
}
