// [[zone]].
import KioskVocabulary

extension Configuration {
    /// `[[zone]]`: a part of the display with a playlist of its own.
    package struct Zone: Hashable, Sendable {
        package var name = ""
        package var region = Region.full
        /// nil for the value of `[display]`, as for the other optional keys.
        package var gravity: VideoGravity?
        package var background: Color?
        /// 0…100; of a zone with 0, kiosk decodes only the pictures.
        package var volume = 0
        package var onTap: Command?
        package var playlist: [PlaylistEntry] = []

        package init() {}

        /// Whether the zone takes touches.
        package var takesTaps: Bool { onTap != nil || playlist.contains { $0.onTap != nil || $0.waitsForTap == true } }
    }

    /// Returns the configuration for the player of `zone`: with the zone's region, playlist and loudness.
    package func configuration(of zone: Zone) -> Configuration {
        var own = self
        (own.playlist, own.programs, own.timers, own.overlays, own.zones) = (zone.playlist, [], [], [], [])
        if zone.volume == 0 {
            for index in own.playlist.indices { own.playlist[index].audioTrack = .off }
            own.audio.delays = AudioDelays()
        }
        (own.display.region, own.display.gravity) = (zone.region, zone.gravity ?? display.gravity)
        own.display.background = zone.background ?? display.background
        (own.audio.volume, own.audio.isMuted) = (zone.volume, false)
        (own.playback.usb, own.playback.fallback) = (.off, nil)
        return own
    }
}

extension Configuration.Zone: TableRow {
    static let identity: String? = "name"

    static let keys: [Key<Self>] = keyList {
        "Name of the zone in the log and for kiosk ctl zone. Every zone needs one."
        Key("name", \.name, .line("a name", longest: 100), example: "\"news\"", missing: "give it a name")
        """
        Place of the zone on the display: left, top, width and height in hundredths, as a viewer sees the
        display. The zone lies over the picture in [display] region, and over the zones before it in this
        file.
        """
        Key("region", \.region, .region, example: "\"75 0 25 100\"", missing: "give a place")
        """
        Fit of the zone's pictures, and colour beside them. While the zone has nothing to play, all of it
        has this colour. No default: as in [display]. An example:
        """
        Key("gravity", \.gravity, .gravity, example: "\"fill\"")
        Key("background", \.background, .color("#000000"), example: "\"#202020\"")
        """
        Loudness of the zone, from 0 to 100, on top of the player's. With 0 kiosk does not decode the
        zone's sound.
        """
        Key("volume", \.volume, .number(in: 0...100))
        """
        Command of a tap on the zone, as in [input.keys]: such as "zone news next", or
        "play demo/details.mp4". The main playlist plays that file. Items of the zone can have on-tap and
        wait-for, too. No default: a tap on the zone is like any other tap, unless its items have one of
        these keys. An example:
        """
        Key(
            "on-tap", \.onTap,
            .command(otherwise: "leave on-tap out for the usual tap") { CommandWords(folder: $0, resumesByDefault: true) },
            example: "\"zone news next\"")
        """
        Playlist of the zone: [[zone.playlist]] has the keys of [[playlist]], and belongs to the [[zone]]
        above it.
        """
        Key(list: "zone.playlist", \.playlist, explainedIn: "playlist")
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        if row.onTap?.isTap == true { table.complain("a tap cannot have the command of a tap", about: "on-tap") }
        if row.playlist.isEmpty { table.require("playlist", "give it a playlist: [[zone.playlist]]") }
    }
}

extension Command {
    /// Whether it does the same as a tap on a zone.
    var isTap: Bool { if case .program(.zone(_, .tap)) = self { true } else { false } }
}
