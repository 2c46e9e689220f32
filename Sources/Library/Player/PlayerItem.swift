internal import KioskPlatform
internal import KioskPlayback
public import KioskVocabulary
internal import Synchronization

/// An asset as it is played: from where to where, how often, how loud, and how it stands in the picture. It has an identity: two items of one
/// asset are two items.
///
/// What is set of an item is fixed when it is made, but for its tracks (``select(_:in:)``) and how its picture is fitted (``videoGravity``). ``status`` changes when a player has opened it, and the
/// player that has it tells what it holds.
public final class PlayerItem: Sendable {
    /// What is played.
    public let asset: Asset
    /// How it is played.
    public let options: Options

    /// How an item is played.
    public struct Options: Hashable, Sendable {
        /// Where in the asset to begin.
        public var start = Duration.zero
        /// Where in the asset to end; nil is its end.
        public var end: Duration?
        /// How long one showing lasts: a still stands for it, a longer movie is cut, a shorter one begins again. nil is the asset's own
        /// length, and ten seconds for a still.
        public var duration: Duration?
        /// How many times in a row it is played, without a seam.
        public var repeatCount = 1
        /// Loudness of this item, 0…1, on top of the player's.
        public var volume = 1.0
        /// Whether its sound is left out.
        public var isMuted = false
        /// How its picture is fitted to where the player shows it.
        public var videoGravity = VideoGravity.resizeAspect
        /// Which of its sound tracks is heard.
        public var audioTrack = TrackSelection.automatic
        /// Which of its picture tracks is seen.
        public var videoTrack = TrackSelection.automatic
        /// Which of its subtitles are seen.
        public var subtitleTrack = TrackSelection.automatic
        /// How far behind what has been received a live stream is played, 60 s at most; nil is 1 s, and for what comes over HTTP what the server
        /// has ready at the start.
        public var configuredTimeOffsetFromLive: Duration?
        /// How long the last frame of a live stream that has broken off or ended stands while it is opened again, an hour at most; then the next item
        /// follows.
        public var reconnectTime = StreamSettings().reconnect.duration

        /// All of the asset, once, as loud as the player.
        public init() {}
    }

    /// What is known of an item.
    public enum Status: Hashable, Sendable {
        /// It has not been opened yet.
        case unknown
        /// It has been opened, before it is played, and its first picture decoded.
        case readyToPlay
        /// It could not be opened the last time, and what follows is played. It is tried again when it is to be played again.
        case failed(PlaybackError)
    }

    private struct State {
        var status = Status.unknown
        /// Who plays it, and under which identity.
        weak var engine: PlaybackEngine?
        var id: QueueItem.ID?
        /// What has been chosen of its tracks.
        var audio: TrackSelection, video: TrackSelection, subtitle: TrackSelection
        var gravity: VideoGravity
    }

    private let state: Mutex<State>
    private let updates = Broadcast<Status>()
    private let texts = Broadcast<LegibleText>()

    /// An item of an asset.
    public init(_ asset: Asset, options: Options = Options()) {
        (self.asset, self.options) = (asset, options)
        state = Mutex(
            State(
                audio: options.audioTrack, video: options.videoTrack, subtitle: options.subtitleTrack, gravity: options.videoGravity))
    }

    /// An item of a path or a URL.
    public convenience init(_ source: String, options: Options = Options()) { self.init(Asset(source), options: options) }

    /// How its picture is fitted to where the player shows it: as its options say at first. A change is seen within two refresh periods, playing or
    /// paused, and no frame comes later for it.
    public var videoGravity: VideoGravity {
        get { state.withLock { $0.gravity } }
        set {
            state.withLock { $0.gravity = newValue }
            if let place { place.engine.setGravity(newValue, of: place.id) }
        }
    }

    /// What is known of it.
    public var status: Status { state.withLock { $0.status } }

    /// The status now, and whenever it changes.
    public var statusUpdates: AsyncStream<Status> { state.withLock { updates.stream($0.status, limit: 16) } }

    /// What the subtitles say that are seen, from now on: the place of AVPlayerItemLegibleOutput. Each is told some frames before it is seen; of those that
    /// nobody takes the newest 64 are kept.
    public var legibleOutput: AsyncStream<LegibleText> { texts.stream(limit: 64) }

    func note(_ text: LegibleText) { texts.tell(text) }

    func note(_ status: Status) {
        state.withLock { state in
            if state.status == status { return }
            state.status = status
            updates.tell(status)
        }
    }

    /// A player has it on its list under this identity now.
    func setPlace(_ engine: PlaybackEngine, _ id: QueueItem.ID) {
        state.withLock { ($0.engine, $0.id) = (engine, id) }
    }

    /// The player that has it, or had it last.
    var place: (engine: PlaybackEngine, id: QueueItem.ID)? {
        state.withLock { state in
            if let engine = state.engine, let id = state.id { (engine, id) } else { nil }
        }
    }

    /// Notes which track of a kind is to be played; false where that was chosen already, or there is nothing to choose. Also gives its place.
    func choose(
        _ selection: TrackSelection, in mediaType: Asset.Track.MediaType
    ) -> (isChanged: Bool, place: (engine: PlaybackEngine, id: QueueItem.ID)?) {
        let isChanged = state.withLock { state in
            switch mediaType {
            case .audio:
                defer { state.audio = selection }
                return state.audio != selection
            case .video:
                defer { state.video = selection }
                return state.video != selection
            case .subtitle:
                defer { state.subtitle = selection }
                return state.subtitle != selection
            }
        }
        return (isChanged, place)
    }

    /// What the engine plays of it.
    var entry: PlaylistItem {
        let (audio, video, subtitle, gravity) = state.withLock { ($0.audio, $0.video, $0.subtitle, $0.gravity) }
        var entry = PlaylistItem(source: asset.location)
        entry.gravity = gravity
        entry.volume = options.volume.isFinite ? min(max(options.volume, 0), 1) : 1
        entry.isMuted = options.isMuted
        entry.repeatCount = max(1, options.repeatCount)
        entry.start = max(.zero, MediaTime(options.start))
        entry.end = options.end.map(MediaTime.init)
        entry.duration = options.duration.map { max(.milliseconds(10), MediaTime($0)) }
        (entry.audioTrack, entry.videoTrack, entry.subtitleTrack) = (audio.engine, video.engine, subtitle.engine)
        entry.stream = asset.streamSettings
        entry.stream.reconnect = min(max(MediaTime(options.reconnectTime), .zero), .seconds(3600))
        entry.stream.latency = options.configuredTimeOffsetFromLive.map { min(max(MediaTime($0), .zero), StreamSettings.longestLatency) }
        return entry
    }
}

/// What subtitles say.
public struct LegibleText: Hashable, Sendable {
    /// Its lines, without what styles them.
    public var text: String
    /// From which item time to which it is seen.
    public var timeRange: Range<Duration>
}

extension PlayerItem: Hashable {
    /// Whether they are one item.
    public static func == (a: PlayerItem, b: PlayerItem) -> Bool { a === b }
    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
