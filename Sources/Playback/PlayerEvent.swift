import Platform

/// What happens in a ``Player``, in order.
///
/// An `index` is an item's place on the list the player was made with, and stays the item's own while ``Player/setItems(_:)`` moves it about: an item that is new
/// in a later list gets the next index that was never used. ``Player/item(_:)`` tells where it stands.
public enum PlayerEvent: Hashable, Sendable {
    /// The first frame of an item is on the screen. `isSeam` when it followed the frame before without a seek or skip, `late` vblanks after its
    /// time.
    case itemStarted(index: Int, isSeam: Bool, late: Int)
    /// An item was on the screen to its end.
    case itemEnded(index: Int)
    /// Something is wrong with an item: it could not be opened, or broke off half-way, and the playlist went on without it; or it is played without its
    /// sound, or seems to be cut off. Reported once for each item until the reason changes, or it has been played without fault.
    case itemFailed(index: Int, message: String)
    /// Nothing on the playlist can be played: the background is shown, and the playlist is tried again after this time, and
    /// from then on every few seconds. Reported once until something plays.
    case nothingPlayable(retryAfter: MediaTime)
    /// The last item of a playlist that does not loop has ended.
    case playlistEnded
    /// ``Player/timeControlStatus`` has changed.
    case statusChanged(TimeControlStatus)
    /// A viewer asked to end the program.
    case quitRequested
}

/// What the player is doing about time: AVPlayer's words.
public enum TimeControlStatus: String, Hashable, Sendable {
    /// The picture stands still because it was asked to.
    case paused
    /// It should be playing and has nothing to play yet: opening, seeking, or waiting for the disk or the network.
    case waiting
    case playing
}

/// A consistent view of a ``Player`` at one moment.
public struct PlayerSnapshot: Hashable, Sendable {
    /// What it is doing about time.
    public var status: TimeControlStatus
    /// The index of the item on the screen, as in ``PlayerEvent``; nil before the first, and when nothing can be played.
    public var itemIndex: Int?
    /// The item time on the screen.
    public var time: MediaTime
    /// The item time after its last frame; nil for a live stream.
    public var duration: MediaTime?
    /// Counts since the player was made.
    public var statistics: PlayerStatistics
    /// What lies ready to be shown and heard.
    public var buffered: BufferLevel
}
