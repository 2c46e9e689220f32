import Platform

/// The playlist.
extension Player {
    /// Plays `items` from now on; the same ones as before change nothing.
    ///
    /// What is on the screen and has left the list plays to its end; then comes what follows the item that stood before it. What is open
    /// already, because the present item is about to end, may be played once more. With nothing on the list the background is shown until
    /// there is something, where the playlist loops. Items that are on both lists keep their index (see ``PlayerEvent``), the n-th of
    /// equal ones that of the n-th.
    public func setItems(_ items: [PlaylistItem]) {
        while true {
            // Compared and numbered without the lock: the presenter must not wait for that.
            var list = pipeline.withLock { $0.cursor.list }
            let revision = list.revision
            guard let forgotten = list.replace(with: items) else { return }
            let isDone = pipeline.signal { pipeline in
                pipeline.exchange(&list, madeFrom: revision, forgotten: forgotten)
            }
            if isDone { return }
        }
    }

    /// The playlist as it is now.
    public var items: [PlaylistItem] { pipeline.withLock { $0.cursor.list.items } }

    /// The item of an index, and its place on the list, from 0; no place when it has left the list, nil when that was long ago.
    public func item(_ index: Int) -> (item: PlaylistItem, place: Int?)? {
        pipeline.withLock { pipeline in pipeline.cursor.list[index].map { ($0, pipeline.cursor.list.place(of: index)) } }
    }
}
