import KioskPlatform
import KioskVocabulary
import Schedule

/// One `[[playlist]]`: what to play and what it says about how. nil is what the file leaves out.
package struct PlaylistEntry: Hashable, Sendable {
    /// A file, a folder, a list or a URL.
    package var source: PlaylistSource
    package var isRecursive: Bool?
    package var gravity: VideoGravity?
    /// 0…100.
    package var volume: Int?
    package var isMuted: Bool?
    package var deinterlace: Deinterlace?
    /// At least 1.
    package var repeatCount: Int?
    package var start: MediaTime?
    /// After `start`.
    package var end: MediaTime?
    /// More than zero.
    package var duration: MediaTime?
    /// More than zero.
    package var imageDuration: MediaTime?
    package var title: String?
    package var decoder: DecoderSetting?
    package var audioTrack: TrackChoice?
    package var videoTrack: TrackChoice?
    package var subtitleTrack: TrackChoice?
    /// What it says of `[network]`.
    package var stream = StreamChoices()
    /// When it is played.
    package var time = TimeRule()
    /// Of all that are on, those of the highest priority are played.
    package var priority = 0
    /// How often each of its items comes in a round.
    package var weight = 1
    /// Whether it repeats until it is tapped.
    package var waitsForTap: Bool?
    package var onTap: Command?

    package init(source: PlaylistSource) { self.source = source }

    /// One item for the engine: what this entry says, and `configuration`'s defaults for what it does not.
    ///
    /// - Parameters:
    ///   - source: an absolute path or a URL, one of those the entry's source stands for.
    ///   - version: of the file, where that is known.
    package func resolved(source: String, version: FileVersion? = nil, in configuration: Configuration) -> PlaylistItem {
        var item = PlaylistItem(
            source: source, version: version, gravity: gravity ?? configuration.display.gravity, volume: Double(volume ?? 100) / 100,
            isMuted: isMuted ?? false, repeatCount: repeatCount ?? 1, start: start ?? .zero, end: end, duration: duration,
            imageDuration: imageDuration, waitsForTap: waitsForTap ?? false, onTap: onTap, title: title,
            deinterlace: deinterlace ?? configuration.playback.deinterlace, decoder: decoder ?? configuration.playback.decoder,
            audioTrack: audioTrack ?? configuration.playback.audioTrack, videoTrack: videoTrack ?? .automatic,
            stream: stream.resolved(in: configuration.network))
        item.subtitleTrack = subtitleTrack ?? configuration.playback.subtitleTrack
        return item
    }
}

extension PlaylistEntry: TimedRow {
    /// One whose source has still to be read.
    init() { self.init(source: PlaylistSource("", relativeTo: "/")) }

    static let keys: [Key<Self>] = keyList {
        """
        A file; a folder, whose videos, sounds and images are played in the order of their names (2 before 10); names with * and ? in them, as in
        "videos/*.mp4"; a list (.m3u, .m3u8); or a URL. A path that does not begin with / is relative to the folder this file is in. No default: every
        entry needs one. file:///srv/media/a%20b.mp4 is the file /srv/media/a b.mp4. Folders of network storage such as @eaDir and #recycle are left out.
        Files, folders and lists are watched while they are played (network shares are looked at every five seconds): files may come, change and go, and
        USB sticks be plugged in later. Symbolic links on the way to them are watched, too: ln -sfn changes a whole release. A new file is played when it is
        complete: closed by who wrote it, unchanged for two seconds, or last written a minute ago; and opened once to see whether it can be played. Until then
        the file that it replaces is played. What is on the screen is shown to its end.
        """
        Key("source", \.source, .source("a path or a URL"), example: "\"demo/one.mp4\"", missing: "say what to play")
        """
        true plays the files in the folders of a folder, too: first its own, then those of each of them. Folders
        more than sixteen deep are left out, and the log says so.
        """
        Key("recursive", \.isRecursive, .flag, shown: "false")
        "What the controls call it. No default: the title in the file, else its name. An example:"
        Key("title", \.title, .line("a line of text", longest: 500), example: "\"The making of\"")
        "Loudness of this entry, from 0 to 100, on top of the one in [audio]."
        Key("volume", \.volume, .number(in: 0...100), shown: "100")
        "true leaves this entry's sound out."
        Key("muted", \.isMuted, .flag, shown: "false")
        "How many times in a row it is played. For a folder or a list this and all keys below hold for each file in it."
        Key("repeat", \.repeatCount, .number(in: 1...1_000_000), shown: "1")
        for key in timeKeys { key }
        """
        Of all entries whose time it is, those with the highest priority are played: one for the holidays with 1 takes the place of all others, which have 0.
        """
        Key("priority", \.priority, .priority)
        "How often each of its items comes in a round, spread over it: 3 is three times as often as the others."
        Key("weight", \.weight, .number(in: 1...100))
        "Where to begin in the clip."
        Key("start", \.start, .timeOrZero, shown: "0")
        "Where to end in the clip, counted from its beginning. No default: it is played to its end. An example:"
        Key("end", \.end, .time, example: "\"1:30\"")
        """
        How long it stays on the screen: a longer clip is cut, a shorter one begins again. No default: a clip's own length, image-duration for
        a still. `kiosk check` warns of each clip that is cut. An example:
        """
        Key("duration", \.duration, .time, example: "20")
        """
        Which picture track is seen of a file that has several: its number, from 1, or a language; "off" plays its sound over the background.
        """
        Key("video-track", \.videoTrack, .track, shown: "\"auto\"")
        """
        "end" goes on to the next item at its end, "tap" repeats it without a gap until the screen is tapped (or a key asks to "go-on"): an item that
        attracts.
        """
        Key("wait-for", \.waitsForTap, Kind<WaitFor>.word.map({ $0 == .tap }, back: { $0 ? .tap : .end }), shown: "\"end\"")
        """
        What a tap does while it is shown: a command as in [input.keys], where "play" returns to this item afterwards unless "then next" is said. So a touch
        branches to another file and returns. No default: with wait-for = "tap" it goes on, else it does what [input.gestures] says. An example:
        """
        Key(
            "on-tap", \.onTap,
            .command(otherwise: "leave it out for what a tap does elsewhere") { CommandWords(folder: $0, resumesByDefault: true) },
            example: "\"play demo/details.mp4\"")
        for key in Key<Self>.inherited(from: "display", Configuration.Display.keys) { key }
        for key in Key<Self>.inherited(from: "playback", Configuration.Playback.keys) { key }
        for key in Key<Self>.inherited(from: "network", StreamSettings.keys) { key }
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        table.require(row.end, after: row.start ?? .zero)
        if row.onTap?.isTap == true { table.complain("a tap that does what a tap does has no end", about: "on-tap") }
        checkTime(row, table)
    }

    /// What an item goes on after.
    private enum WaitFor: String, CaseIterable {
        case end, tap
    }
}

extension Configuration {
    /// An item of a source that is on no `[[playlist]]`: what a key, a tap or `fallback` plays.
    package func item(of source: String) -> PlaylistItem {
        PlaylistEntry(source: PlaylistSource(source, relativeTo: "/")).resolved(source: source, in: self)
    }

    /// What is fetched without verifying who sends it, by its names.
    package var unverifiedSources: [String] {
        if !network.verifiesTLS { return ["[network]"] }
        return (entries + zones.flatMap(\.playlist)).filter { $0.stream.verifiesTLS == false }.map(\.source.location)
    }
}
