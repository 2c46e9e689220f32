import KioskPlatform
import KioskVocabulary

/// Everything kiosk.conf says. As made here, every value is the default; kiosk.conf at the top of the repository explains each.
package struct Configuration: Hashable, Sendable {
    /// `[display]`.
    package struct Display: Hashable, Sendable {
        /// `connector`.
        package var connector = DisplayConnector.automatic
        /// `mode`.
        package var mode = DisplayModeChoice.preferred
        /// `gravity`: of every item that has none of its own.
        package var gravity = VideoGravity.resizeAspect
        /// `rotation`: how the picture is turned on a display that was itself turned.
        package var rotation = Rotation.none
        /// `background`: of the bars beside the picture, and of the screen when nothing is played.
        package var background = Color.black
        /// `region`: where on the display the picture is.
        package var region = Region.full
        /// `physical-size`, where the connector's own is not to be believed.
        package var physicalSize: PhysicalSize?
        /// `picture-path`.
        package var picturePath = PicturePathChoice.automatic
    }

    /// `[audio]`.
    package struct Audio: Hashable, Sendable {
        /// `device`.
        package var device = AudioDevice.automatic
        /// `volume` at the start, 0…100.
        package var volume = 100
        /// `muted` at the start.
        package var isMuted = false
        /// `mix`, `follow`, `interruption` and `duck-volume`.
        package var session = AudioSession()
    }

    /// `[playback]`.
    package struct Playback: Hashable, Sendable {
        /// `loop`.
        package var loop = LoopMode.playlist
        /// `shuffle`: whether each round has an order of its own.
        package var shuffles = false
        /// `fallback`: what is shown when nothing can be played, an absolute path or a URL; nil is the background.
        package var fallback: String?
        /// `usb`: what is done with the videos of a USB stick.
        package var usb = StickUse.off
        /// `seek-step`: more than zero.
        package var seekStep = MediaTime.seconds(10)
        /// `image-duration`: more than zero.
        package var imageDuration = MediaTime.seconds(10)
        /// `transition`.
        package var transition = Transition.cut
        /// `transition-duration`: more than zero.
        package var transitionDuration = MediaTime.seconds(1)
        /// `deinterlace`: of every item that has none of its own.
        package var deinterlace = Deinterlace.auto
        /// `decoder`: of every item that has none of its own.
        package var decoder = DecoderSetting.automatic
        /// `cache`: how much of what comes over HTTP is kept on the disk.
        package var cache = CacheChoice.off
        /// `cache-folder`: where, an absolute path; nil is the service's own folder, else the user's.
        package var cacheFolder: String?
        /// `audio-track`: of every item that has none of its own.
        package var audioTrack = TrackChoice.automatic
        /// `decoder-device`: the node of the hardware decoder's device; nil is each of /dev/dri/renderD*.
        package var decoderDevice: String?
        /// `more-formats`, `more-codecs`: FFmpeg's names of what is played beside what always is.
        package var moreFormats: [String] = [], moreCodecs: [String] = []
    }

    /// `[shelf]`.
    package struct Shelf: Hashable, Sendable {
        /// `folders`: absolute paths; where there are none there is no shelf.
        package var folders: [String] = []
        /// `close-after`: how long after the last touch or key; nil is never.
        package var closeAfter: MediaTime? = .seconds(120)
        /// `cache`: how many bytes of thumbnails are kept on the disk.
        package var cache = CacheChoice.limit(ByteCount(200_000_000))
        /// `export-folder`: where films that are made on the shelf go, an absolute path; nil where none can be made.
        package var exportFolder: String?
    }

    /// `[idle]`.
    package struct Idle: Hashable, Sendable {
        /// `after`: how long after the last touch or key; nil is never.
        package var after: MediaTime?
        /// `do`.
        package var command = Command.player(.restartPlaylist)
    }

    /// `[control]`.
    package struct Control: Hashable, Sendable {
        /// `socket`.
        package var socket = ControlSocketChoice.automatic
        /// `metrics`.
        package var metrics = MetricsChoice.off
    }

    /// `[log]`.
    package struct Log: Hashable, Sendable {
        /// `level`.
        package var level = LogLevel.info
        /// `proof-of-play`.
        package var proofOfPlay = ProofOfPlayChoice.off
    }

    /// `[display]`.
    package var display = Display()
    /// `[audio]`.
    package var audio = Audio()
    /// `[playback]`.
    package var playback = Playback()
    /// `[network]`: of every item that says nothing of its own.
    package var network = StreamSettings()
    /// `[input]`.
    package var input = Input()
    /// `[theme]`.
    package var theme = Theme()
    /// `[shelf]`.
    package var shelf = Shelf()
    /// `[idle]`.
    package var idle = Idle()
    /// `[control]`.
    package var control = Control()
    /// `[record]`.
    package var record = Record()
    /// `[log]`.
    package var log = Log()
    /// `[[playlist]]`, in the order of the file.
    package var playlist: [PlaylistEntry] = []
    /// The file it was read from, as the user gave it; nil when there was none.
    package var path: String?

    /// The defaults, and an empty playlist.
    package init() {}

    /// The files and URLs that keys, gestures, taps on items and the idle time play: each once, keys first.
    package var commandSources: [String] {
        let commands =
            input.allowedBindings.map(\.command) + input.gestures.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
            + playlist.map(\.onTap) + [idle.after == nil ? nil : idle.command]
        var (sources, seen): ([String], Set<Path>) = ([], [])
        for case .player(.playSource(let source, _))? in commands where seen.insert(Path(source)).inserted { sources.append(source) }
        return sources
    }

    /// The complaint about a key name in the file that evdev does not know; nil for a default binding.
    package func complaint(unknownKey binding: KeyBinding) -> Complaint? {
        guard let path, let position = binding.position else { return nil }
        let text = "[input.keys] \(binding.trigger): there is no such key; evtest shows the names"
        return Complaint(path: path, position: position, text: text)
    }
}

/// How much is logged, least important first; the raw values are swift-log's.
package enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// What the command line says, which beats the file. nil is what it leaves out.
package struct ConfigurationOverrides: Hashable, Sendable {
    /// For `[display] connector`.
    package var connector: DisplayConnector?
    /// For `[display] mode`.
    package var mode: DisplayModeChoice?
    /// For `[display] gravity`, and for the gravity of every playlist entry.
    package var gravity: VideoGravity?
    /// For `[display] rotation`.
    package var rotation: Rotation?
    /// For `[display] background`.
    package var background: Color?
    /// For `[audio] device`.
    package var audioDevice: AudioDevice?
    /// For `[audio] volume`, 0…100.
    package var volume: Int?
    /// For `[audio] muted`.
    package var isMuted: Bool?
    /// For `[playback] loop`.
    package var loop: LoopMode?
    /// For `[log] level`.
    package var logLevel: LogLevel?
    /// Instead of the whole playlist, when there are any; relative paths are relative to the working folder.
    package var sources: [String] = []

    /// Overrides that leave everything to the file.
    package init() {}
}

extension Configuration {
    /// Puts what `overrides` says in place of what is here.
    package mutating func apply(_ overrides: ConfigurationOverrides) {
        if let connector = overrides.connector { display.connector = connector }
        if let mode = overrides.mode { display.mode = mode }
        if let rotation = overrides.rotation { display.rotation = rotation }
        if let background = overrides.background { display.background = background }
        if let device = overrides.audioDevice { audio.device = device }
        if let volume = overrides.volume { audio.volume = volume }
        if let isMuted = overrides.isMuted { audio.isMuted = isMuted }
        if let loop = overrides.loop { playback.loop = loop }
        if let level = overrides.logLevel { log.level = level }
        if !overrides.sources.isEmpty {
            let folder = workingFolder
            playlist = overrides.sources.map { PlaylistEntry(source: PlaylistSource($0, relativeTo: folder)) }
        }
        if let gravity = overrides.gravity {
            display.gravity = gravity
            for index in playlist.indices { playlist[index].gravity = nil }
        }
    }
}
