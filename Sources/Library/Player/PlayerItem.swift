internal import KioskPlatform
internal import KioskPlayback
public import KioskVocabulary
internal import Observation
internal import Synchronization

/// An asset in a playlist: its start and end, repetitions, loudness and place in the picture. It has an identity: two items of one asset
/// are two items.
///
/// The settings of an item are fixed at its creation, except its tracks (``select(_:in:)``) and ``videoGravity``. ``status`` changes once a
/// player has opened it. The properties of its contents come from that player.
public final class PlayerItem: Sendable {
    /// The asset to play.
    public let asset: Asset
    /// The settings of this item.
    public let options: Options

    /// The settings of an item.
    public struct Options: Hashable, Sendable {
        /// The time in the asset to begin at.
        public var start = CMTime.zero
        /// The time in the asset to end at; nil is its end.
        public var end: CMTime?
        /// The duration of one showing: a still stands for it, a longer movie is cut, a shorter one repeats. nil is the asset's own
        /// duration, and ten seconds for a still.
        public var duration: CMTime?
        /// The number of showings in a row, without a gap.
        public var repeatCount = 1
        /// Loudness of this item, 0…1, on top of the player's.
        public var volume: Float = 1
        /// Whether to drop its sound.
        public var isMuted = false
        /// How to fit its picture into the player's region.
        public var videoGravity = VideoGravity.resizeAspect
        /// The sound track to play.
        public var audioTrack = TrackSelection.automatic
        /// The picture track to show.
        public var videoTrack = TrackSelection.automatic
        /// The subtitles to show.
        public var subtitleTrack = TrackSelection.automatic
        /// The delay of a live stream behind its newest received part, at most 60 s. nil is 1 s, and for HTTP the amount that the server
        /// has ready at the start.
        public var configuredTimeOffsetFromLive: CMTime?
        /// How much of a file on a server to receive ahead of the picture, 2 s to 10 min; nil is 30 s. Never more than 32 MB, and no effect
        /// on live streams and on files of the machine.
        public var preferredForwardBufferDuration: CMTime?
        /// How long the last frame of a lost or ended live stream stays while the player opens it again, at most an hour; then the next
        /// item follows.
        public var reconnectTime = StreamSettings().reconnect.duration

        /// Creates options for all of the asset, once, at the player's volume.
        public init() {}
    }

    /// The state of an item.
    public enum Status: Hashable, Sendable {
        /// It has not been opened yet.
        case unknown
        /// A player has opened it, before playing it, and has decoded its first picture.
        case readyToPlay
        /// It could not be opened the last time; the next item plays. The player tries again at the item's next turn.
        case failed(PlaybackError)
    }

    private struct State {
        var status = Status.unknown
        /// The engine that plays it, and its identity there.
        weak var engine: PlaybackEngine?
        var id: QueueItem.ID?
        /// Its player's measurements, and whether somebody wants them.
        weak var metrics: MetricRecorder?
        var isMeasured = false
        /// The chosen tracks.
        var audio: TrackSelection, video: TrackSelection, subtitle: TrackSelection
        var gravity: VideoGravity
        /// The observer that announces what is loaded.
        var announcer: PlayerObserver?
    }

    private let state: Mutex<State>
    private let updates = Broadcast<Status>()
    private let texts = Broadcast<LegibleText>()
    let measurements = Broadcast<MetricEvent>()
    let observation = ObservationRegistrar()

    /// Creates an item of an asset.
    public init(_ asset: Asset, options: Options = Options()) {
        (self.asset, self.options) = (asset, options)
        state = Mutex(
            State(
                audio: options.audioTrack, video: options.videoTrack, subtitle: options.subtitleTrack, gravity: options.videoGravity))
    }

    /// Creates an item of a path or a URL.
    public convenience init(_ source: String, options: Options = Options()) { self.init(Asset(source), options: options) }

    /// How to fit its picture into the player's region: at first as in its options. A change shows within two refresh periods, playing or
    /// paused, and delays no frame.
    public var videoGravity: VideoGravity {
        get { reading(\.videoGravity) { state.withLock { $0.gravity } } }
        set {
            changing(\.videoGravity) { state.withLock { $0.gravity = newValue } }
            if let place { place.engine.setGravity(newValue, of: place.id) }
        }
    }

    /// The current state.
    public var status: Status { reading(\.status) { state.withLock { $0.status } } }

    /// The status now, and whenever it changes.
    public var statusUpdates: AsyncStream<Status> { state.withLock { updates.stream($0.status, limit: 16) } }

    /// The text of the visible subtitles from now on, like AVPlayerItemLegibleOutput. Each arrives some frames before it is visible; a
    /// stream keeps the newest 64 that are not taken.
    public var legibleOutput: AsyncStream<LegibleText> { texts.stream(limit: 64) }

    func note(_ text: LegibleText) { texts.tell(text) }

    func note(_ status: Status) {
        let isNew = state.withLock { state in
            if state.status == status { return false }
            state.status = status
            updates.tell(status)
            return true
        }
        if isNew { noteChange() }
    }

    /// Records the player that has it on its list, and its identity there.
    func setPlace(_ engine: PlaybackEngine, _ id: QueueItem.ID, _ metrics: MetricRecorder) {
        let (former, isMeasured) = state.withLock { state in
            defer { (state.engine, state.id, state.metrics) = (engine, id, metrics) }
            return (state.engine === engine ? nil : Self.announcer(&state), state.isMeasured)
        }
        former.map { $0.engine.removeObserver($0.observer) }
        if isMeasured { metrics.begin(engine) }
    }

    /// Has its player measure from now on, this one and each later one.
    func beginMetrics() {
        let (engine, metrics) = state.withLock { state in
            state.isMeasured = true
            return (state.engine, state.metrics)
        }
        if let engine { metrics?.begin(engine) }
    }

    /// Takes the observer, to remove it.
    private static func announcer(_ state: inout State) -> (engine: PlaybackEngine, observer: PlayerObserver)? {
        defer { state.announcer = nil }
        return if let engine = state.engine, let observer = state.announcer { (engine, observer) } else { nil }
    }

    /// Announces twice a second what is loaded, while a player has it.
    func announceLoading() {
        state.withLock { state in
            guard let engine = state.engine, state.announcer == nil else { return }
            state.announcer = engine.addPeriodicTimeObserver(forInterval: .milliseconds(500)) { [weak self] _ in self?.noteLoading() }
        }
    }

    deinit {
        let former = state.withLock { Self.announcer(&$0) }
        former.map { $0.engine.removeObserver($0.observer) }
    }

    /// The player that has it, or had it last.
    var place: (engine: PlaybackEngine, id: QueueItem.ID)? {
        state.withLock { state in
            if let engine = state.engine, let id = state.id { (engine, id) } else { nil }
        }
    }

    /// Records the track of a kind to play; also returns its place. `isChanged` is false if that track was chosen already.
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

    /// The engine's entry for it.
    var entry: PlaylistItem {
        let (audio, video, subtitle, gravity) = state.withLock { ($0.audio, $0.video, $0.subtitle, $0.gravity) }
        var entry = PlaylistItem(source: asset.location)
        entry.gravity = gravity
        entry.volume = options.volume.isFinite ? min(max(Double(options.volume), 0), 1) : 1
        entry.isMuted = options.isMuted
        entry.repeatCount = max(1, options.repeatCount)
        entry.start = max(.zero, MediaTime(options.start) ?? .zero)
        entry.end = options.end.flatMap { MediaTime($0) }
        entry.duration = options.duration.flatMap { MediaTime($0) }.map { max(.milliseconds(10), $0) }
        (entry.audioTrack, entry.videoTrack, entry.subtitleTrack) = (audio.engine, video.engine, subtitle.engine)
        entry.stream = asset.streamSettings
        entry.stream.reconnect = min(max(MediaTime(options.reconnectTime), .zero), .seconds(3600))
        entry.stream.forwardBuffer = options.preferredForwardBufferDuration.flatMap { MediaTime($0) }.map {
            min(max($0, StreamSettings.forwardBuffers.lowerBound), StreamSettings.forwardBuffers.upperBound)
        }
        entry.stream.latency = options.configuredTimeOffsetFromLive.flatMap { MediaTime($0) }.map {
            min(max($0, .zero), StreamSettings.longestLatency)
        }
        return entry
    }
}

/// The text of subtitles.
public struct LegibleText: Hashable, Sendable {
    /// Its lines, without styling.
    public var text: String
    /// The item times at which it appears and disappears.
    public var timeRange: CMTimeRange
}

extension PlayerItem: Hashable {
    /// Returns whether they are the same item.
    public static func == (a: PlayerItem, b: PlayerItem) -> Bool { a === b }
    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
