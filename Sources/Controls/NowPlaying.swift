import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// What is played, as far as the controls are concerned with it.
package struct NowPlaying: Hashable, Sendable {
    package var status = TimeControlStatus.waitingToPlay
    /// Whether the last item of a playlist that does not loop has been on the screen to its end.
    package var hasEnded = false
    /// Names the item on the screen; nil where there is none.
    package var item: Int?
    /// Its place on the playlist, from 1; nil where it is not on it.
    package var place: Int?
    /// How many items there are.
    package var count = 0
    package var title = ""
    /// What is played, for previews.
    package var source = ""
    /// Item time at which the item begins.
    package var start = MediaTime.zero
    /// The item time on the screen; where a seek goes as soon as it is asked for.
    package var time = MediaTime.zero
    /// The item time after the last frame; nil for a live stream.
    package var duration: MediaTime?
    package var isSeekable = false
    /// Item time up to which there is something to show.
    package var bufferedUntil: MediaTime?
    /// Item seconds a second.
    package var rate = 1.0
    /// 0…100.
    package var volume = 100
    package var isMuted = false
    /// Whether the item repeats until it is tapped, and what a tap does instead of what it does otherwise.
    package var waitsForTap = false, onTap: Command?
    /// The item's tracks, those that are played by their identities, and what was asked for.
    package var tracks: [AssetTrack] = [], selectedTracks: [TrackKind: Int] = [:], asked = TrackSelection()

    package init() {}

    /// How long the item lasts; nil where nobody knows, or it lasts no time.
    var length: MediaTime? { duration.flatMap { $0 > start ? $0 - start : nil } }

    /// A time of the item as a fraction of its length, 0…1.
    func fraction(_ time: MediaTime) -> Double {
        guard let length else { return 0 }
        return min(max((time - start).seconds / length.seconds, 0), 1)
    }

    /// The item time at a fraction of its length.
    func time(at fraction: Double) -> MediaTime { start + (length ?? .zero).scaled(by: min(max(fraction, 0), 1)) }

    /// Seconds from the item's beginning as they are shown, within its length. They are rounded, as ``total`` is, and the last half second
    /// is the end: with its last picture up nothing remains.
    func elapsed(at time: MediaTime) -> Int {
        let elapsed = max(time - start, .zero)
        guard let length, let total else { return Self.rounded(elapsed) }
        return length - elapsed <= .milliseconds(500) && total > 0 ? total : min(Self.rounded(elapsed), total)
    }

    /// Seconds of its length as they are shown.
    var total: Int? { length.map(Self.rounded) }

    private static func rounded(_ time: MediaTime) -> Int { Int((time + .milliseconds(500)).nanoseconds / 1_000_000_000) }

    /// Whether a viewer has something to choose: subtitles, or one of several sound tracks (``selectionGroups``).
    var hasSelection: Bool { hasSubtitles || selectedTracks[.audio] != nil && tracks.count { $0.kind == .audio } > 1 }

    var hasSubtitles: Bool { tracks.contains { $0.kind == .subtitle } }

    /// Seconds as `0:41` or `1:02:03`.
    static func text(_ seconds: Int) -> String {
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        return (hours > 0 ? "\(hours):\(minutes.padded(to: 2))" : "\(minutes)") + ":\((seconds % 60).padded(to: 2))"
    }
}

extension NowPlaying {
    /// What a player says. `entry` is what its item plays.
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
