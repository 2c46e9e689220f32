import KioskPlatform
import KioskSchedule
import KioskVocabulary

/// One `[[playlist]]`: a source and its settings. nil stands for a key that the file leaves out.
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
    /// Its own settings for `[network]`.
    package var stream = StreamChoices()
    /// When it plays.
    package var time = TimeRule()
    /// Of the entries that are on, those of the highest priority play.
    package var priority = 0
    /// How often each of its items plays in a round.
    package var weight = 1
    /// Whether it repeats until a tap.
    package var waitsForTap: Bool?
    package var onTap: Command?

    package init(source: PlaylistSource) { self.source = source }

    /// Returns an item for the engine, with this entry's settings and `configuration`'s defaults for the others.
    ///
    /// - Parameters:
    ///   - source: an absolute path or a URL, from the expansion of the entry's source.
    ///   - version: the version of the file, if known.
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
    /// Makes an entry whose source is not read yet.
    init() { self.init(source: PlaylistSource("", relativeTo: "/")) }

    static let keys: [Key<Self>] = keyList {
        """
        A source is one of these:
          a file
          a folder: kiosk plays its videos, sounds and images in the order of their names (2 before 10)
          names with * and ? in them, as in "videos/*.mp4"
          a list (.m3u, .m3u8)
          a URL; file:///srv/media/a%20b.mp4 is the file /srv/media/a b.mp4
        A path that does not begin with / is relative to this file's folder. No default: every entry needs
        a source. kiosk leaves out folders of network storage such as @eaDir and #recycle. During playback
        kiosk watches files, folders and lists. It looks at network shares every five seconds. So you can
        add, replace and delete files, and plug in USB sticks later. kiosk also watches the symbolic links
        on the way: ln -sfn changes a whole release. A new file is complete if one of these is true:
          its writer has closed it
          it has not changed for two seconds
          its last change was a minute ago
        kiosk then opens the file once to test it, and plays it. Until then kiosk plays the file that the
        new one replaces. The current item stays on the screen to its end.
        """
        Key("source", \.source, .source("a path or a URL"), example: "\"demo/one.mp4\"", missing: "give a path or a URL")
        """
        Set true to play the files in subfolders, too: first those of the folder itself, then those of
        each subfolder. kiosk leaves out folders more than sixteen deep, and the log says so.
        """
        Key("recursive", \.isRecursive, .flag, shown: "false")
        "Title in the controls. No default: the title in the file, else the file's name. An example:"
        Key("title", \.title, .line("a line of text", longest: 500), example: "\"The making of\"")
        "Loudness of this entry, from 0 to 100, on top of [audio] volume."
        Key("volume", \.volume, .number(in: 0...100), shown: "100")
        "Set true to leave out this entry's sound."
        Key("muted", \.isMuted, .flag, shown: "false")
        """
        Number of showings in a row. For a folder or a list, this key and all keys below hold for each
        file in it.
        """
        Key("repeat", \.repeatCount, .number(in: 1...1_000_000), shown: "1")
        for key in timeKeys { key }
        """
        Of all entries of this list that are on, kiosk plays those with the highest priority. An entry for
        the holidays with 1 replaces all others, which have 0.
        """
        Key("priority", \.priority, .priority)
        "Showings of each item in a round, at even distances: 3 is three times as often as others."
        Key("weight", \.weight, .number(in: 1...100))
        "Position in the clip to begin at."
        Key("start", \.start, .timeOrZero, shown: "0")
        """
        Position in the clip to end at, counted from its beginning. No default: the end of the clip.
        An example:
        """
        Key("end", \.end, .time, example: "\"1:30\"")
        """
        Time on the screen: kiosk cuts a longer clip, and begins a shorter one again. No default: a clip's
        own length, image-duration for a still. `kiosk check` warns of each clip that this key cuts.
        An example:
        """
        Key("duration", \.duration, .time, example: "20")
        """
        Picture track of a file that has several: its number, from 1, or a language. "off" plays the sound
        over the background.
        """
        Key("video-track", \.videoTrack, .track, shown: "\"auto\"")
        """
        "end" goes on to the next item at the end of this one. "tap" repeats it without a gap until
        somebody taps the screen, or a key sends "go-on": an item that attracts.
        """
        Key("wait-for", \.waitsForTap, Kind<WaitFor>.word.map({ $0 == .tap }, back: { $0 ? .tap : .end }), shown: "\"end\"")
        """
        Command of a tap during this item, as in [input.keys]. "play" returns to this item afterwards,
        unless you add "then next". So a touch can branch to another file and return. No default: with
        wait-for = "tap" a tap goes on, else it does as [input.gestures] says. An example:
        """
        Key(
            "on-tap", \.onTap,
            .command(otherwise: "leave on-tap out for the usual tap") { CommandWords(folder: $0, resumesByDefault: true) },
            example: "\"play demo/details.mp4\"")
        for key in Key<Self>.inherited(from: "display", Configuration.Display.keys) { key }
        for key in Key<Self>.inherited(from: "playback", Configuration.Playback.keys) { key }
        for key in Key<Self>.inherited(from: "network", StreamSettings.keys) { key }
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        table.require(row.end, after: row.start ?? .zero)
        if row.onTap?.isTap == true { table.complain("a tap cannot have the command of a tap", about: "on-tap") }
        checkTime(row, table)
    }

    /// The event that ends an item.
    private enum WaitFor: String, CaseIterable {
        case end, tap
    }
}

extension Configuration {
    /// Returns an item for a source outside every `[[playlist]]`: from a key, a tap or `fallback`.
    package func item(of source: String) -> PlaylistItem {
        PlaylistEntry(source: PlaylistSource(source, relativeTo: "/")).resolved(source: source, in: self)
    }

    /// The names of sources that are fetched without verification of the server.
    package var unverifiedSources: [String] {
        if !network.verifiesTLS { return ["[network]"] }
        return (entries + zones.flatMap(\.playlist)).filter { $0.stream.verifiesTLS == false }.map(\.source.location)
    }
}
