import KioskPlatform
import KioskVocabulary

/// What happens in a ``PlaybackEngine``, in order.
///
/// ``PlaybackEngine/item(_:)`` tells what an item plays and where it stands.
package enum PlaybackEvent: Hashable, Sendable {
    /// The first frame of an item is on the screen. `isSeam` when it followed the frame before without a seek or skip, `late` vblanks
    /// after its time.
    case itemStarted(item: QueueItem.ID, isSeam: Bool, late: Int)
    /// An item was on the screen to its end.
    case itemEnded(item: QueueItem.ID)
    /// Something is wrong with an item: it could not be opened, or broke off half-way, and the playlist went on without it; or it is
    /// played without its sound, or seems to be cut off. Reported once for each item until the reason changes, or it has been played
    /// without fault.
    case itemFailed(item: QueueItem.ID, message: String)
    /// ``ItemFacts/status`` of an item has changed: it has been opened, ahead of its turn, or could not be.
    case itemStatusChanged(item: QueueItem.ID, ItemFacts.Status)
    /// Nothing on the playlist can be played: the background is shown, and the playlist is tried again after this time, and
    /// from then on every few seconds. Reported once until something plays.
    case nothingPlayable(retryAfter: MediaTime)
    /// The last item of a playlist that does not loop has ended.
    case playlistEnded
    /// ``PlaybackEngine/timeControlStatus`` has changed.
    case statusChanged(TimeControlStatus)
    /// Another program interrupts the sound (``PlaybackEngine/beginInterruption(_:for:)``), or the last one has ended its interruption.
    case interruptionBegan, interruptionEnded
}
