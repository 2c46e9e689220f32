import KioskPlatform
import KioskVocabulary

/// The playlist. Any thread can change it at any time; display and sound card are not disturbed.
///
/// If the item on the screen has left the list, it plays to its end or is left at once (``ListChange``). Then comes the item after the one
/// that stood before it. An item that is open already, because the current one is about to end, may be played once more. While the list is
/// empty, a playlist that loops shows the background.
extension PlaybackEngine {
    /// When a change of the playlist takes effect.
    package enum ListChange: Sendable {
        /// When the item on the screen has been played to its end.
        case atNextBoundary
        /// At once, if the item on the screen has left the list; the frame stays until the next item is ready. An item that is still on the
        /// list plays on.
        case now
    }

    /// Plays `entries` from now on; the same entries as before change nothing. An entry that is on both lists stays the same item; of equal
    /// entries, the n-th stays the n-th.
    package func setItems(_ entries: [PlaylistItem], at change: ListChange = .atNextBoundary) {
        changeList(at: change) { $0.replace(with: entries) }
    }

    /// Plays these items from now on, in this order. Those that are on the list stay the same items, and take over the entries given here.
    package func arrange(_ items: [QueueItem], at change: ListChange = .atNextBoundary) {
        changeList(at: change) { $0.arrange(items) }
    }

    /// Appends new items to the list. Returns their identities.
    @discardableResult package func append(_ entries: [PlaylistItem]) -> [QueueItem.ID] { insert(entries, at: .max) }

    /// Inserts new items before a place, counted from 0, or at the end if the place is beyond it. Returns their identities.
    @discardableResult package func insert(_ entries: [PlaylistItem], at place: Int) -> [QueueItem.ID] {
        var new: [QueueItem.ID] = []
        changeList(at: .atNextBoundary) { list in
            let change = list.insert(entries, at: place)
            new = change.new
            return change.forgotten
        }
        return new
    }

    /// Removes items from the list; ignores those that are not on it.
    package func remove(_ ids: [QueueItem.ID], at change: ListChange = .atNextBoundary) {
        changeList(at: change) { $0.remove(Set(ids)) }
    }

    /// Moves an item to a place, counted from 0 in the list without it.
    package func move(_ id: QueueItem.ID, to place: Int) { changeList(at: .atNextBoundary) { $0.move(id, to: place) } }

    /// Changes the gravity of an item at once; does nothing if the item has left the list.
    package func setGravity(_ gravity: VideoGravity, of id: QueueItem.ID) {
        changeList(at: .atNextBoundary) { $0.setGravity(gravity, of: id) ? [] : nil }
    }

    /// The playlist as it is now.
    package var items: [QueueItem] { pipeline.withLock { $0.cursor.list.items } }

    /// Returns the entry of an item, and its place on the list, counted from 0. The place is nil if the item has left the list; the result
    /// is nil if that was long ago.
    package func item(_ id: QueueItem.ID) -> (entry: PlaylistItem, place: Int?)? {
        pipeline.withLock { pipeline in pipeline.cursor.list[id].map { ($0, pipeline.cursor.list.place(of: id)) } }
    }

    /// Changes the list as one step. `make` returns the identities that are void, or nil if nothing changes; it may be called again.
    private func changeList(at change: ListChange, _ make: (inout Playlist) -> [QueueItem.ID]?) {
        while true {
            // Compare and number without the lock: the presenter must not wait for that.
            let before = pipeline.withLock { $0.cursor.list }
            var list = before
            guard let forgotten = make(&list) else { return }
            let (revision, refitted) = (before.revision, list.gravities(changedSince: before))
            var isDone = false
            go { pipeline in
                let wasMoving = pipeline.seek.underWay != nil
                isDone = pipeline.exchange(&list, madeFrom: revision, forgotten: forgotten, refitted: refitted)
                if !wasMoving, pipeline.seek.underWay != nil { pipeline.noteRequest(at: now()) }
                return isDone && change == .now ? leaveWhatIsGone(&pipeline) : nil
            }
            if isDone { return }
        }
    }

    /// Goes on with the next item if the current one has left the list. Returns the buffers to give back; nil if it plays on.
    private func leaveWhatIsGone(_ pipeline: inout Pipeline) -> [PreparedScene]? {
        guard let (position, _, _) = playhead(pipeline), pipeline.cursor.list.place(of: position.item) == nil,
            !pipeline.cursor.list.isInterlude(position.item)
        else { return nil }
        if let next = pipeline.cursor.nextItem(after: position) {
            defer { pipeline.noteRequest(at: now()) }
            return pipeline.skip(to: SeekRequest(position: next))
        }
        // At the end of a playlist that does not loop the last frame stays.
        return pipeline.cursor.awaitsItems ? pipeline.clear() : nil
    }
}
