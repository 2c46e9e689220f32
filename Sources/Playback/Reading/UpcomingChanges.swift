import KioskMedia
import KioskPlatform
import KioskVocabulary

/// What becomes of what has been opened ahead when the playlist changes meanwhile, or the tracks that are chosen of an item.
extension UpcomingPlaythrough {
    /// A list that changes when no more of the present item than this is still to be enqueued does not change what is open already.
    private static let latestChange = MediaTime.milliseconds(500)

    /// What an item plays, with the tracks that were chosen of it; nil of one that is not known any more.
    func entry(of item: QueueItem.ID) -> PlaylistItem? { cursor.list[item] }

    /// Opens what has been opened ahead once more where other tracks of it have been chosen since, while there is time for that.
    private mutating func reopenForTracks(_ given: Item, during current: PlaythroughReader?) {
        guard let entry = entry(of: given.position.item), given.serial > 0,
            entry.audioTrack != given.item.audioTrack || entry.videoTrack != given.item.videoTrack
        else { return }
        if let current, isTooLate(during: current) { return }
        open(given.position, time: given.time, isSeam: given.isSeam)
    }

    /// Whether there is no time left to open something else than what is open.
    private func isTooLate(during current: PlaythroughReader) -> Bool {
        let left = current.playthrough.itemEnd.map { current.mapping.instant(of: $0) - current.end }
        return current.isAtEnd || left.map { $0 < Self.latestChange } ?? false
    }

    /// How often the playlist had changed when it was taken over.
    var revision: Int { cursor.list.revision }

    /// Takes over a new list, and how it is played. What is read goes on; what has been opened ahead and is no longer on the list is replaced while there is time
    /// for that.
    ///
    /// - Returns: whether nothing follows any more.
    mutating func setList(_ list: Playlist, _ rules: PlaylistRules, during current: PlaythroughReader?) -> Bool {
        (cursor.list, cursor.rules) = (list, rules)
        // What leaves the list and comes back is complained about anew, though its identity is the old one.
        keepLost(on: list)
        if let item = recovery?.position.item, list.place(of: item) == nil { recovery = nil }
        failures.keepComplaints { list.place(of: $0) != nil || list.isInterlude($0) }
        if case .firstOfEmptyList = next {
            if !list.isEmpty { openFirst() }
            return false
        }
        guard let given = upcoming else { return false }
        let isListed = list.place(of: given.position.item) != nil || list.isInterlude(given.position.item)
        if failures.retryAt != nil {
            // Nothing could be played: perhaps now.
            failures.restart()
            if isListed { open(given.position, isSeam: given.isSeam) }
        }
        if isListed {
            reopenForTracks(upcoming ?? given, during: current)
            return false
        }
        if let current {
            if isTooLate(during: current) { return false }
            next = .none
            prepare(after: current)
            return false
        }
        next = .none
        failures.restart()
        guard let behind = cursor.nextItem(after: given.position) else { return true }
        open(behind, isSeam: given.isSeam)
        return false
    }
}
