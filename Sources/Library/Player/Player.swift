internal import Glibc
internal import KioskPlatform
internal import KioskPlayback
internal import KioskReaders
public import KioskVocabulary
internal import Synchronization

/// Plays an item on a display and a sound card: AVPlayer for bare Linux.
///
/// A player is made with its outputs and stands still; ``play()`` sets it going. All of it may be called from any thread and returns at once.
/// Nothing that goes wrong with an item ends a player: the item's ``PlayerItem/status`` and ``events`` tell of it. A display or a sound card
/// that is pulled out is waited for.
///
/// Several players may share a ``VideoOutput`` (picture in picture) and an ``AudioOutput`` (they are mixed, and have one clock).
public class Player: @unchecked Sendable {
    // Sendable because its properties are constants that are themselves; subclasses are in this module and add none.

    let engine: PlaybackEngine
    let options: Mutex<PlaybackEngine.Options>
    let items = ItemBoard()
    private let isStopped = Mutex(false)
    private let playRate = Mutex(1.0)
    private let connection: VideoOutput.Connection

    /// Where its pictures are shown.
    public let videoOutput: VideoOutput
    /// Where it is heard.
    public let audioOutput: AudioOutput

    /// A player that stands still on the first picture of `item`, where there is one.
    ///
    /// The first player of a video output has the display. Each other one, as long as that plays, shows its picture in a window over the
    /// first one's: `region`.
    public convenience init(_ item: PlayerItem? = nil, video: VideoOutput, audio: AudioOutput = .silent(), region: Region = .full) {
        self.init([item].compactMap { $0 }, loop: .off, video: video, audio: audio, region: region)
    }

    init(_ first: [PlayerItem], loop: KioskVocabulary.LoopMode, video: VideoOutput, audio: AudioOutput, region: Region) {
        var options = PlaybackEngine.Options()
        options.loop = loop
        options.region = region
        options.audioSession = audio.session
        options.decoderThreads = min(4, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        (videoOutput, audioOutput) = (video, audio)
        LibraryLog.begin()
        self.options = Mutex(options)
        let connection = video.connect()
        self.connection = connection
        let readers = Self.readers
        readers.prepare()
        engine = PlaybackEngine(items: [], options: options, video: connection.output, audio: audio.connect(), readers: readers)
        let items = items
        engine.addObserver { items.note($0) }
        append(first)
        engine.pause()
        engine.start()
        video.connected(connection, engine)
    }

    deinit {
        // What it waits for is not the business of whoever lets go of it.
        if isStopped.withLock({ $0 }) { return }
        engine.beginStopping()
        videoOutput.disconnect(connection)
        let (engine, video) = (engine, videoOutput)
        Thread("player-end") {
            engine.stop()
            withExtendedLifetime(video) {}
        }.detach()
    }

    /// Ends playing, within a few seconds, and lets go of the outputs, which stay open. Nothing can be played after it. Waits; not to be
    /// called from an observer.
    public func stop() {
        if isStopped.withLock({
            let was = $0; $0 = true; return was
        }) {
            return
        }
        items.events.end()
        engine.beginStopping()
        videoOutput.disconnect(connection)
        engine.stop()
    }

    var hasStopped: Bool { isStopped.withLock { $0 } }

    /// Puts items at the end of the list.
    func append(_ new: [PlayerItem]) { items.add(new, to: engine) { engine.append(new.map(\.entry)) } }

    // MARK: Playing

    /// Plays on from where it stands, at ``defaultRate``; from the beginning where it has played to the end.
    public func play() { play(at: defaultRate) }

    private func play(at rate: Double) {
        if hasStopped { return }
        engine.rate = rate
        engine.play()
    }

    /// Holds the picture that is on the screen; the sound stops within a period.
    public func pause() { engine.pause() }

    /// Item seconds a second that ``play()`` plays at, 0.5…2, the pitch kept; 1 to begin with. What plays already goes on as it does. What is no such
    /// rate is clamped, and what is not above zero changes nothing: nothing is played backwards.
    public var defaultRate: Double {
        get { playRate.withLock { $0 } }
        set { if let rate = Self.playable(newValue) { playRate.withLock { $0 = rate } } }
    }

    /// Item seconds a second that are asked for: 0 from a pause on, and at the end. To set it to 0 is to pause, to anything above (0.5…2) to play at
    /// that rate; ``defaultRate`` stays. What is below zero, or no number, changes nothing: nothing is played backwards.
    public var rate: Double {
        get { engine.wantsPlay && !hasStopped ? engine.rate : 0 }
        set {
            if newValue == 0 { return pause() }
            if let rate = Self.playable(newValue) { play(at: rate) }
        }
    }

    /// The rate that is played where this one is asked for; nil where none is.
    private static func playable(_ rate: Double) -> Double? { rate.isFinite && rate > 0 ? min(max(rate, 0.5), 2) : nil }

    /// Loudness, 0…1 of full scale; changes are ramped.
    public var volume: Double {
        get { engine.volume }
        set { engine.volume = newValue }
    }

    /// Whether the sound is off; changes are ramped.
    public var isMuted: Bool {
        get { engine.isMuted }
        set { engine.isMuted = newValue }
    }

    /// What it is doing about time; paused once it has been stopped.
    public var timeControlStatus: TimeControlStatus { hasStopped ? .paused : engine.timeControlStatus }

    // MARK: Items

    /// The item that is played: from the moment on that one is set or gone to, though its first picture may still be decoded; nil when there is
    /// nothing to play. An item that cannot be played gives way to the next.
    public var currentItem: PlayerItem? { engine.currentItem.flatMap { items.isReplaced($0) ? nil : items[$0] } }

    /// Plays an item instead of whatever there is, from its beginning; the picture before stays until the first of it is ready. With nil
    /// there is nothing to play.
    public func replaceCurrentItem(with item: PlayerItem?) {
        let former = engine.items.map(\.id)
        if let item { append([item]) }
        items.replace(former)
        engine.remove(former, at: .now)
        items.remove(former)
    }

    /// How long the item on the screen is; nil where it never ends, or nobody knows yet.
    public var duration: Duration? { engine.snapshot.duration?.duration }

    // MARK: The picture

    /// Where on the display the picture is; where it is on its way somewhere, where that is.
    public var region: Region {
        get { engine.region }
        set { setRegion(newValue) }
    }

    /// Has the picture be in `region`, or go there within `duration`: to full screen and back, playing on. Nothing is opened or decoded anew
    /// for it, and no frame is left out.
    public func setRegion(_ region: Region, within duration: Duration = .zero) {
        engine.setRegion(region, within: MediaTime(duration))
    }

    /// Counts since the player was made.
    public var statistics: Statistics { Statistics(engine.snapshot.statistics) }

    /// Counts of a player, made at the flips of the display.
    public struct Statistics: Hashable, Sendable {
        /// Frames that reached the screen.
        public var framesShown: Int
        /// Of those, how many came a vblank or more after their time.
        public var framesLate: Int
        /// Frames whose time had passed before they could be shown.
        public var framesDropped: Int
        /// Joints of one showing and the next that reached the screen.
        public var seams: Int
        /// How often picture and sound stood still because nothing was ready.
        public var stalls: Int
        /// What lies between what has been received of a live stream and what is heard of it; nil of anything else.
        public var streamLatency: Duration?

        init(_ counts: PlayerStatistics) {
            (framesShown, framesLate, framesDropped) = (counts.framesShown, counts.framesLate, counts.framesDropped)
            (seams, stalls, streamLatency) = (counts.seams, counts.stalls, counts.streamLatency?.duration)
        }
    }
}
