import KioskVocabulary

/// Decides which thumbnail to make next, and which ones to keep in memory. A pure value.
///
/// A request is a list, the most urgent first: the visible cards, then the next in the scroll's direction. Each list replaces the previous
/// one, so no thumbnail is made for cards scrolled past. One thumbnail is made at a time. Pictures in memory have a limit in bytes; the
/// least recently requested ones go first. A failed thumbnail is remembered, and not retried as long as the file is the same.
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

    /// Requests these thumbnails, the most urgent first, and no others.
    mutating func want(_ entries: [ShelfEntry]) {
        wanted = entries
        uses += 1
        for entry in entries { kept[entry]?.used = uses }
    }

    /// The next thumbnail to make; nil if all requested ones exist.
    var next: ShelfEntry? { wanted.first { kept[$0] == nil && !without.contains($0) } }

    /// Adds a thumbnail; nil if the clip has no picture.
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

    /// Returns the picture of an entry, if it exists.
    func picture(_ entry: ShelfEntry) -> Picture? { kept[entry]?.picture }

    /// Removes all but these.
    mutating func keepOnly(_ entries: Set<ShelfEntry>) {
        for entry in kept.keys where !entries.contains(entry) { byteCount -= kept.removeValue(forKey: entry)?.bytes ?? 0 }
        without.formIntersection(entries)
        wanted.removeAll { !entries.contains($0) }
    }
}
