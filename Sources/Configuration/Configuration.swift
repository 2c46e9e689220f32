import KioskPlatform
import KioskVocabulary

/// The content of kiosk.conf. A new value has every default; kiosk.conf at the top of the repository explains them.
package struct Configuration: Hashable, Sendable {
    package var display = Display()
    package var audio = Audio()
    package var playback = Playback()
    /// `[network]`: the default for every item.
    package var network = StreamSettings()
    package var input = Input()
    package var theme = Theme()
    package var shelf = Shelf()
    package var idle = Idle()
    package var control = Control()
    package var web = Web()
    package var record = Record()
    package var log = Log()
    package var place = Place()
    /// `[[playlist]]`, in the order of the file.
    package var playlist: [PlaylistEntry] = []
    /// `[[program]]` and `[[at]]`, in the order of the file.
    package var programs: [Program] = []
    package var timers: [Timer] = []
    /// `[[overlay]]`, in the order of the file.
    package var overlays: [Overlay] = []
    /// `[[zone]]`, likewise.
    package var zones: [Zone] = []
    /// The path of the file, as the user gave it; nil if there was none.
    package var path: String?

    /// Makes a configuration with the defaults and an empty playlist.
    package init() {}

    /// The files and URLs that keys, gestures, taps on items, the idle time and the clock play. Each occurs once, keys first.
    package var commandSources: [String] {
        let commands =
            input.allowedBindings.map(\.command) + input.gestures.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
            + (entries + zones.flatMap(\.playlist)).map(\.onTap) + zones.map(\.onTap) + [idle.after == nil ? nil : idle.command]
            + timers.map(\.command)
        var (sources, seen): ([String], Set<Path>) = ([], [])
        for case .player(.playSource(let source, _))? in commands where seen.insert(Path(source)).inserted { sources.append(source) }
        return sources
    }

    /// Returns the complaint about a key name that evdev does not know; nil for a default binding.
    package func complaint(unknownKey binding: KeyBinding) -> Complaint? {
        guard let path, let position = binding.position else { return nil }
        let text = "[input.keys] \(binding.trigger): there is no such key; evtest shows the names"
        return Complaint(path: path, position: position, text: text)
    }
}

extension Configuration: TableRow {
    static let keys: [Key<Self>] = keyList {
        Key(table: "display", \.display)
        Key(table: "audio", \.audio)
        Key(table: "playback", \.playback)
        "Keys for URLs, and for streams that stop. docs/streams.md"
        Key(table: "network", \.network, isWhole: true)
        Key(table: "input", \.input, needs: .viewers, isWhole: true)
        Key(table: "theme", \.theme, needs: .viewers, isWhole: true)
        """
        The shelf is a browser on the screen. Viewers choose clips by touch, keys, a remote control or
        kiosk ctl shelf. docs/shelf.md
        """
        Key(table: "shelf", \.shelf, needs: .viewers, isWhole: true)
        Key(table: "idle", \.idle, needs: .viewers, isWhole: true)
        """
        The playlist: write one [[playlist]] for each entry, in double brackets. kiosk plays them in this
        order.
        """
        Key(list: "playlist", \.playlist)
        """
        A playlist that kiosk plays instead of [[playlist]] at its own times. The change is a seam like
        any other (docs/schedule.md). kiosk schedule prints the times.
        """
        Key(list: "program", \.programs, isExample: true)
        "Run a command at a time of day: write one [[at]] for each."
        Key(list: "at", \.timers, isExample: true)
        """
        Texts, clocks, pictures, QR codes and tickers over the picture: write one [[overlay]] for each.
        docs/overlays.md
        """
        Key(list: "overlay", \.overlays, isExample: true)
        """
        A part of the display with a playlist of its own. It lies beside or over the main picture, which
        is in [display] region. Write one [[zone]] for each. docs/zones.md
        """
        Key(list: "zone", \.zones, isExample: true)
        Key(table: "control", \.control)
        """
        A page for browsers, and an API for programs, to control this player and to change what it plays.
        docs/web.md
        """
        Key(table: "web", \.web, isWhole: true)
        """
        Films of visitors, with a camera and a microphone. A key, a tap or a program begins one with
        "record start" (docs/record.md).
        """
        Key(table: "record", \.record, isWhole: true)
        Key(table: "log", \.log)
        "Place of the display, for the times of the schedule and of clocks."
        Key(table: "place", \.place)
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        (row.network.furtherFormats, row.network.furtherCodecs) = (row.playback.moreFormats, row.playback.moreCodecs)
    }
}

/// The command line's value for one key, which overrides the file.
package struct ConfigurationOverride: Sendable {
    fileprivate let apply: @Sendable (inout Configuration) -> Void

    /// Makes an override; nil leaves the file's value.
    package init<Value: Sendable>(_ path: any WritableKeyPath<Configuration, Value> & Sendable, _ value: Value?) {
        apply = { configuration in if let value { configuration[keyPath: path] = value } }
    }
}

extension Configuration {
    /// Applies overrides.
    package mutating func apply(_ overrides: [ConfigurationOverride]) { for override in overrides { override.apply(&self) } }

    /// The sources of the whole playlist; relative paths start from the working folder.
    package var sources: [String] {
        get { playlist.map(\.source.location) }
        set {
            playlist = newValue.map { PlaylistEntry(source: PlaylistSource($0, relativeTo: workingFolder)) }
            (programs, zones) = ([], [])
        }
    }

    /// The gravity of `[display]`; setting it also resets that of every playlist entry.
    package var gravity: VideoGravity {
        get { display.gravity }
        set {
            display.gravity = newValue
            for index in playlist.indices { playlist[index].gravity = nil }
            for program in programs.indices {
                for index in programs[program].playlist.indices { programs[program].playlist[index].gravity = nil }
            }
            for zone in zones.indices {
                zones[zone].gravity = nil
                for index in zones[zone].playlist.indices { zones[zone].playlist[index].gravity = nil }
            }
        }
    }
}

/// The differences between two configurations, as names of tables and keys: those that a running player applies, and those that need its
/// restart.
package struct ConfigurationChange: Hashable, Sendable {
    /// The changes that apply at once, or with the next item.
    package private(set) var applied: [String] = []
    /// The changes that need a restart.
    package private(set) var postponed: [String] = []
    /// Whether the viewers' input or the controls differ.
    package private(set) var concernsViewers = false

    /// Makes the differences from `old` to `new`.
    package init(from old: Configuration, to new: Configuration) {
        for (name, needs) in Configuration.keys.flatMap({ $0.differences(old, new) }) {
            if needs == .viewers { concernsViewers = true }
            if needs == .restart { postponed.append(name) } else if applied.last != name { applied.append(name) }
        }
    }

    package var isEmpty: Bool { applied.isEmpty && postponed.isEmpty }
}
