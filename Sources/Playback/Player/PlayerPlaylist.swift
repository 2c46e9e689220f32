import KioskPlatform
import KioskVocabulary

/// What is played. The list can be changed at any time from any thread; display and sound card notice nothing of it.
///
/// What is on the screen and has left the list plays to its end, or is left at once (``ListChange``); then comes what follows the item
/// that stood before it. What is open already, because the present item is about to end, may be played once more. With nothing on the list
/// the background is shown until there is something, where the playlist loops.
extension PlaybackEngine {
    /// When a change of the playlist is seen.
    package enum ListChange: Sendable {
        /// When what is on the screen has been played to its end.
        case atNextBoundary
        /// At once, where what is on the screen has left the list; the frame stays until what follows it is ready. What is still on the
        /// list plays on.
        case now
    }

    /// Plays `entries` from now on; the same ones as before change nothing. An entry that is on both lists stays the same item, the n-th
    /// of equal ones the n-th.
    package func setItems(_ entries: [PlaylistItem], at change: ListChange = .atNextBoundary) {
        changeList(at: change) { $0.replace(with: entries) }
    }

    /// Plays these items from now on, in this order: those that are on the list stay the items they are, and take over what is said of
    /// them here.
    package func arrange(_ items: [QueueItem], at change: ListChange = .atNextBoundary) {
        changeList(at: change) { $0.arrange(items) }
    }

    /// Puts new items at the end of the list; returns their identities.
    @discardableResult package func append(_ entries: [PlaylistItem]) -> [QueueItem.ID] { insert(entries, at: .max) }

    /// Puts new items before a place, counted from 0; at the end where that is beyond it. Returns their identities.
    @discardableResult package func insert(_ entries: [PlaylistItem], at place: Int) -> [QueueItem.ID] {
        var new: [QueueItem.ID] = []
        changeList(at: .atNextBoundary) { list in
            let change = list.insert(entries, at: place)
            new = change.new
            return change.forgotten
        }
        return new
    }

    /// Takes items off the list; those that are not on it are left alone.
    package func remove(_ ids: [QueueItem.ID], at change: ListChange = .atNextBoundary) {
        changeList(at: change) { $0.remove(Set(ids)) }
    }

    /// Moves an item to a place, counted from 0 in the list without it.
    package func move(_ id: QueueItem.ID, to place: Int) { changeList(at: .atNextBoundary) { $0.move(id, to: place) } }

    /// Fits the pictures of an item another way, at once; nothing where it has left the list.
    package func setGravity(_ gravity: VideoGravity, of id: QueueItem.ID) {
        changeList(at: .atNextBoundary) { $0.setGravity(gravity, of: id) ? [] : nil }
    }

    /// The playlist as it is now.
    package var items: [QueueItem] { pipeline.withLock { $0.cursor.list.items } }

    /// What an item plays, and its place on the list, from 0; no place when it has left the list, nil when that was long ago.
    package func item(_ id: QueueItem.ID) -> (entry: PlaylistItem, place: Int?)? {
        pipeline.withLock { pipeline in pipeline.cursor.list[id].map { ($0, pipeline.cursor.list.place(of: id)) } }
    }

    /// Changes the list as one step; `make` returns the identities that mean nothing any more, nil where nothing changes, and may be
    /// called again.
    private func changeList(at change: ListChange, _ make: (inout Playlist) -> [QueueItem.ID]?) {
        while true {
            // Compared and numbered without the lock: the presenter must not wait for that.
            let before = pipeline.withLock { $0.cursor.list }
            var list = before
            guard let forgotten = make(&list) else { return }
            let (revision, refitted) = (before.revision, list.gravities(changedSince: before))
            var isDone = false
            go { pipeline in
                isDone = pipeline.exchange(&list, madeFrom: revision, forgotten: forgotten, refitted: refitted)
                return isDone && change == .now ? leaveWhatIsGone(&pipeline) : nil
            }
            if isDone { return }
        }
    }

    /// Goes on with what follows the present item, where that has left the list; returns the buffers to give back, nil where it plays on.
    private func leaveWhatIsGone(_ pipeline: inout Pipeline) -> [PreparedScene]? {
        guard let (position, _, _) = playhead(pipeline), pipeline.cursor.list.place(of: position.item) == nil,
            !pipeline.cursor.list.isInterlude(position.item)
        else { return nil }
        if let next = pipeline.cursor.nextItem(after: position) { return pipeline.skip(to: SeekRequest(position: next)) }
        // At the end of a playlist that does not loop the last frame stays.
        return pipeline.cursor.awaitsItems ? pipeline.clear() : nil
    }
}
