import Platform
import Vocabulary

/// Everything kiosk.conf says. As made here, every value is the default; kiosk.conf at the top of the repository explains each.
public struct Configuration: Hashable, Sendable {
    /// `[display]`.
    public struct Display: Hashable, Sendable {
        /// `connector`.
        public var connector = DisplayConnector.automatic
        /// `mode`.
        public var mode = DisplayModeChoice.preferred
        /// `gravity`: of every item that has none of its own.
        public var gravity = VideoGravity.resizeAspect
        /// `rotation`: how the picture is turned on a display that was itself turned.
        public var rotation = Rotation.none
        /// `background`: of the bars beside the picture, and of the wall when nothing is played.
        public var background = Color.black
    }

    /// `[audio]`.
    public struct Audio: Hashable, Sendable {
        /// `device`.
        public var device = AudioDevice.automatic
        /// `volume` at the start, 0…100.
        public var volume = 100
        /// `muted` at the start.
        public var isMuted = false
    }

    /// `[playback]`.
    public struct Playback: Hashable, Sendable {
        /// `loop`.
        public var loop = LoopMode.playlist
        /// `seek-step`: more than zero.
        public var seekStep = MediaTime.seconds(10)
        /// `image-duration`: more than zero.
        public var imageDuration = MediaTime.seconds(10)
        /// `transition`.
        public var transition = Transition.cut
        /// `transition-duration`: more than zero.
        public var transitionDuration = MediaTime.seconds(1)
    }

    /// `[input]` and `[input.keys]`.
    public struct Input: Hashable, Sendable {
        /// `touch`: whether touch screens are used.
        public var usesTouch = true
        /// `allow-quit`: whether a key bound to `quit` ends the program.
        public var allowsQuit = false
        /// `grab`: whether the devices are kept from everything else on the machine, the console above all.
        public var grabsDevices = true
        /// The defaults without those the file binds anew, then the file's own in its order, those bound to `none` included.
        public var bindings = KeyBinding.defaults
    }

    /// `[log]`.
    public struct Log: Hashable, Sendable {
        /// `level`.
        public var level = LogLevel.info
    }

    /// `[display]`.
    public var display = Display()
    /// `[audio]`.
    public var audio = Audio()
    /// `[playback]`.
    public var playback = Playback()
    /// `[input]`.
    public var input = Input()
    /// `[log]`.
    public var log = Log()
    /// `[[playlist]]`, in the order of the file.
    public var playlist: [PlaylistEntry] = []
    /// The file it was read from, as the user gave it; nil when there was none.
    public var path: String?

    /// The defaults, and an empty playlist.
    public init() {}

    /// What to tell the user about a key name in the file that evdev does not know; nil for a default binding.
    public func complaint(unknownKey binding: KeyBinding) -> Complaint? {
        guard let path, let position = binding.position else { return nil }
        let text = "[input.keys] \(binding.name): there is no such key; evtest shows the names"
        return Complaint(path: path, position: position, text: text)
    }
}

/// How much is logged, least important first; the raw values are swift-log's.
public enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// What the command line says, which beats the file. nil is silence.
public struct ConfigurationOverrides: Hashable, Sendable {
    /// For `[display] connector`.
    public var connector: DisplayConnector?
    /// For `[display] mode`.
    public var mode: DisplayModeChoice?
    /// For `[display] gravity`, and for the gravity of every playlist entry.
    public var gravity: VideoGravity?
    /// For `[display] rotation`.
    public var rotation: Rotation?
    /// For `[display] background`.
    public var background: Color?
    /// For `[audio] device`.
    public var audioDevice: AudioDevice?
    /// For `[audio] volume`, 0…100.
    public var volume: Int?
    /// For `[audio] muted`.
    public var isMuted: Bool?
    /// For `[playback] loop`.
    public var loop: LoopMode?
    /// For `[log] level`.
    public var logLevel: LogLevel?
    /// Instead of the whole playlist, when there are any; relative paths are relative to the working folder.
    public var sources: [String] = []

    /// Silence.
    public init() {}
}

extension Configuration {
    /// Puts what `overrides` says in place of what is here.
    public mutating func apply(_ overrides: ConfigurationOverrides) {
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
            let folder = Files.workingFolder
            playlist = overrides.sources.map { PlaylistEntry(source: PlaylistSource($0, relativeTo: folder)) }
        }
        if let gravity = overrides.gravity {
            display.gravity = gravity
            for index in playlist.indices { playlist[index].gravity = nil }
        }
    }
}
