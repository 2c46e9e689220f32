import KioskMedia
import KioskPlatform
import KioskVocabulary

/// What is played, and what is known of it, with the lock held.
extension Pipeline {
    /// Takes over `list`, where the present one is still the one it was made from (`revision`), and gives that back to be freed.
    /// `refitted` are the items whose pictures are to be fitted another way.
    mutating func exchange(
        _ list: inout Playlist, madeFrom revision: Int, forgotten: [QueueItem.ID], refitted: [QueueItem.ID: VideoGravity] = [:]
    ) -> Bool {
        guard cursor.list.revision == revision else { return false }
        refit(refitted, forgotten: forgotten)
        let wasEmpty = cursor.list.isEmpty
        swap(&cursor.list, &list)
        for id in forgotten { (statistics.items[id], records[id]) = (nil, nil) }
        // The first list there is begins with a move to its first item.
        if wasEmpty, screen.place?.playthrough == nil, seek.underWay == nil, let first = cursor.first {
            seek.expect(SeekRequest(position: first))
        }
        return true
    }

    /// Takes over what is known of an item; true where it is another status than before.
    mutating func setRecord(_ record: ItemFacts.Record, of item: QueueItem.ID) -> Bool {
        guard cursor.list[item] != nil else { return false }
        let before = records.updateValue(record, forKey: item)
        return before?.status != record.status
    }

    /// An item could not be opened or played; true where that is news. What is known of its file stays.
    mutating func setFailed(_ item: QueueItem.ID, reason: String) -> Bool {
        var record = records[item] ?? .init()
        record.status = .failed(reason: reason)
        return setRecord(record, of: item)
    }

    /// Where the playhead goes on from a position whose item could not be opened or played: to the next that is not known for that; the position
    /// itself where there is none.
    func onward(from position: PlaylistCursor.Position) -> PlaylistCursor.Position {
        func hasFailed(_ item: QueueItem.ID) -> Bool { if case .failed? = records[item]?.status { true } else { false } }
        var next = position
        for _ in 0...cursor.list.items.count {
            if !hasFailed(next.item) { return next }
            guard let following = cursor.nextItem(after: next) else { return position }
            next = following
        }
        return position
    }

    /// So much is there of the source of a playthrough.
    mutating func setLoading(_ source: Loading?, of serial: UInt64, isSeam: Bool) { loading = (serial, isSeam, source) }

    /// What of a playthrough is there at `now` without waiting for its source; nil where that is not known.
    func loaded(of playthrough: Playthrough, at now: HostTime) -> LoadedMedia? {
        // Of one that is read no longer, because its end has been, all is.
        if playthrough.isWhole || loading.serial > playthrough.serial && loading.isSeam {
            return playthrough.itemEnd.map { LoadedMedia(until: $0, isWhole: true) }
        }
        guard loading.serial == playthrough.serial, var loaded = loading.source?.loaded(at: now) else { return nil }
        guard let end = playthrough.itemEnd else { return loaded }
        loaded.isWhole = loaded.isWhole || loaded.until >= end
        if loaded.isWhole { loaded.until = end }
        return loaded
    }

    /// Makes an item of a source that is to be played between two of the list, at the item `present`.
    mutating func addInterlude(_ source: String, at present: QueueItem.ID?) -> QueueItem.ID {
        var entry = PlaylistItem(source: source)
        if let listed = cursor.list.items.first(where: { $0.entry.path == Path(source) })?.entry {
            entry = listed
        } else if let present {
            entry.gravity = cursor.list[present]?.gravity ?? entry.gravity
            entry.deinterlace = cursor.list[present]?.deinterlace ?? entry.deinterlace
            // Not how the present one is fetched: what its server may be told is no business of another's.
            entry.stream = cursor.rules.stream
        }
        (entry.repeatCount, entry.waitsForTap) = (1, false)
        let (id, forgotten) = cursor.list.addInterlude(entry, at: present)
        for id in forgotten { (statistics.items[id], records[id]) = (nil, nil) }
        return id
    }
}
