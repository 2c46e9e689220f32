import KioskPlatform
import KioskVocabulary

/// A consistent view of a ``PlaybackEngine`` at one moment.
package struct PlayerSnapshot: Hashable, Sendable {
    /// What it is doing about time.
    package var status = TimeControlStatus.waitingToPlay
    /// Whether the last item of a playlist that does not loop has ended: to play is to begin again.
    package var hasEnded = false
    /// The item on the screen; nil before the first, and when nothing can be played.
    package var item: QueueItem.ID?
    /// Its place on the playlist, counted from 1; nil where it is not on it, as what is played between two items.
    package var itemNumber: Int?
    /// How many items the playlist has.
    package var itemCount = 0
    /// What the item is called: as the playlist says, else as its file says, else the file's name without its ending.
    package var title: String?
    /// Who made it, where it is called as its file says and that says so.
    package var artist: String?
    /// The path or URL of the item, with the password that is in it.
    package var source: String?
    /// What a tap does while the item is shown, instead of what a tap does otherwise.
    package var onTap: Command?
    /// Whether the item is repeated until ``Command/waitEnded``.
    package var waitsForTap = false
    /// The item time on the screen; where a seek or a scrub goes, from when it is asked for until its frame is on the screen.
    package var time = MediaTime.zero
    /// The item time after its last frame; nil for a live stream.
    package var duration: MediaTime?
    /// Whether one can move about in the item.
    package var isSeekable = false
    /// Whether the slider is held: from ``Command/scrub(_:)`` to ``Command/endScrub(_:)``.
    package var isScrubbing = false
    /// The item time up to which the item is there without waiting for its source: its end where that is a file, what has been
    /// received of a stream; nil where that is not known.
    package var bufferedUntil: MediaTime?
    /// Loudness, 0…1 of full scale, and whether the sound is off.
    package var volume = 1.0
    package var isMuted = false
    /// Counts since the player was made.
    package var statistics = PlayerStatistics()
    /// What lies ready to be shown and heard.
    package var buffered = BufferLevel(frames: 0, sound: .zero)

    /// That of a player that has not begun.
    package init() {}
}
