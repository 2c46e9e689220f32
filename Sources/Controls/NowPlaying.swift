import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The player's state, for the controls.
package struct NowPlaying: Hashable, Sendable {
    package var status = TimeControlStatus.waitingToPlay
    /// Whether the last item of a playlist that does not loop has been shown to its end.
    package var hasEnded = false
    /// The number of the item on the screen; nil if there is none.
    package var item: Int?
    /// Its place in the playlist, from 1; nil if it is not in it.
    package var place: Int?
    /// The number of items.
    package var count = 0
    package var title = ""
    /// The path or URL of the item, for previews.
    package var source = ""
    /// The item time at which the item begins.
    package var start = MediaTime.zero
    /// The item time on the screen; the target of a seek as soon as that is requested.
    package var time = MediaTime.zero
    /// The item time after the last frame; nil for a live stream.
    package var duration: MediaTime?
    package var isSeekable = false
    /// The item time up to which there are frames to show.
    package var bufferedUntil: MediaTime?
    /// Item seconds per second.
    package var rate = 1.0
    /// 0…100.
    package var volume = 100
    package var isMuted = false
    /// Whether the item repeats until a tap, and the command of a tap in place of its usual one.
    package var waitsForTap = false, onTap: Command?
    /// The item's tracks, the identities of the selected tracks, and the requested selection.
    package var tracks: [AssetTrack] = [], selectedTracks: [TrackKind: Int] = [:], asked = TrackSelection()

    package init() {}

    /// The length of the item; nil if it is unknown or zero.
    var length: MediaTime? { duration.flatMap { $0 > start ? $0 - start : nil } }

    /// Returns a time of the item as a fraction of its length, 0…1.
    func fraction(_ time: MediaTime) -> Double {
        guard let length else { return 0 }
        return min(max((time - start).seconds / length.seconds, 0), 1)
    }

    /// Returns the item time at a fraction of its length.
    func time(at fraction: Double) -> MediaTime { start + (length ?? .zero).scaled(by: min(max(fraction, 0), 1)) }

    /// Returns the displayed seconds from the item's beginning, within its length. They are rounded, like ``total``. The last half second
    /// counts as the end: with the last picture up, nothing remains.
    func elapsed(at time: MediaTime) -> Int {
        let elapsed = max(time - start, .zero)
        guard let length, let total else { return Self.rounded(elapsed) }
        return length - elapsed <= .milliseconds(500) && total > 0 ? total : min(Self.rounded(elapsed), total)
    }

    /// The displayed seconds of its length.
    var total: Int? { length.map(Self.rounded) }

    private static func rounded(_ time: MediaTime) -> Int { Int((time + .milliseconds(500)).nanoseconds / 1_000_000_000) }

    /// Whether a viewer has a choice: subtitles, or one of several sound tracks (``selectionGroups``).
    var hasSelection: Bool { hasSubtitles || selectedTracks[.audio] != nil && tracks.count { $0.kind == .audio } > 1 }

    var hasSubtitles: Bool { tracks.contains { $0.kind == .subtitle } }

    /// Returns seconds as `0:41` or `1:02:03`.
    static func text(_ seconds: Int) -> String {
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        return (hours > 0 ? "\(hours):\(minutes.padded(to: 2))" : "\(minutes)") + ":\((seconds % 60).padded(to: 2))"
    }
}

extension NowPlaying {
    /// Creates the state of a player. `entry` is the playlist's entry of its item.
    init(_ snapshot: PlayerSnapshot, _ facts: ItemFacts?, of entry: PlaylistItem?, rate: Double) {
        if let facts { (tracks, selectedTracks) = (facts.tracks, facts.selectedTracks) }
        if let entry { asked = TrackSelection(audio: entry.audioTrack, video: entry.videoTrack, subtitle: entry.subtitleTrack) }
        status = snapshot.status
        hasEnded = snapshot.hasEnded
        item = snapshot.item?.number
        (place, count) = (snapshot.itemNumber, snapshot.itemCount)
        (title, source) = (snapshot.title ?? "", snapshot.source ?? "")
        if let artist = snapshot.artist { title += " – \(artist)" }
        (start, time, duration) = (entry?.start ?? .zero, snapshot.time, snapshot.duration)
        (isSeekable, bufferedUntil) = (snapshot.isSeekable, snapshot.bufferedUntil)
        self.rate = rate
        (volume, isMuted) = (Int(saturating: snapshot.volume * 100), snapshot.isMuted)
        (waitsForTap, onTap) = (snapshot.waitsForTap, snapshot.onTap)
    }
}
