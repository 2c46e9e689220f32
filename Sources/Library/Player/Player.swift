internal import Glibc
internal import KioskPlatform
package import KioskPlayback
internal import KioskReaders
public import KioskVocabulary
internal import Observation
internal import Synchronization

/// Plays an item on a display and a sound card: AVPlayer for bare Linux.
///
/// A new player has its outputs and is paused; ``play()`` starts it. Call it from any thread; every call but ``stop()`` returns at once. A
/// faulty item never ends a player: the item's ``PlayerItem/status`` and ``events`` report the fault. If a display or a sound card is
/// unplugged, the player waits for it.
///
/// Several players may share a ``VideoOutput`` (picture in picture) and an ``AudioOutput``, which mixes them and gives them one clock.
public class Player: @unchecked Sendable {
    // Sendable because its properties are Sendable constants; subclasses are in this module and add none.

    package let engine: PlaybackEngine
    let options: Mutex<PlaybackEngine.Options>
    let board = ItemBoard()
    private let isStopped = Mutex(false)
    private let playRate = Mutex(1.0)
    private let itemEnd: Mutex<ActionAtItemEnd>
    let observation = ObservationRegistrar()
    /// The number of orders to play or to pause: a newer one calls a start at a host time off.
    let orders = Atomic(UInt64(0))
    /// Limits the target of a seek (``InterstitialEventController``).
    let seekLimit = Mutex<(@Sendable (MediaTime) -> MediaTime)?>(nil)
    private let connection: VideoOutput.Connection
    /// Its output, with the layers that show its pictures, too.
    let layers: LayeredOutput

    /// The output for its pictures.
    public let videoOutput: VideoOutput
    /// The output for its sound.
    public let audioOutput: AudioOutput

    /// Creates a player, paused on the first picture of `item` if there is one.
    ///
    /// The first player of a video output has the display. While it plays, each other player shows its picture in a window over the first
    /// one's: `region`.
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
        itemEnd = Mutex(loop == .off && first.count < 2 ? .pause : .advance)
        let connection = video.connect()
        self.connection = connection
        layers = LayeredOutput(connection.output)
        let readers = Self.readers
        readers.prepare()
        engine = PlaybackEngine(items: [], options: options, video: layers, audio: audio.connect(), readers: readers)
        engine.addObserver { [board, weak self] event in
            if let engine = self?.engine { board.metrics.note(event, board, engine) }
            board.note(event)
            self?.noteChange(event)
        }
        append(first)
        engine.pause()
        engine.start()
        video.connected(connection, engine)
    }

    deinit {
        // The owner that lets go of it must not wait for its end.
        if isStopped.withLock({ $0 }) { return }
        engine.beginStopping()
        videoOutput.disconnect(connection)
        let (engine, video) = (engine, videoOutput)
        Thread("player-end") {
            engine.stop()
            withExtendedLifetime(video) {}
        }.detach()
    }

    /// Ends playback within a few seconds, and releases the outputs, which stay open. Nothing can be played afterwards. Blocks; do not call
    /// it from an observer.
    public func stop() {
        if isStopped.withLock({
            let was = $0; $0 = true; return was
        }) {
            return
        }
        board.events.end()
        board.metrics.events.end()
        engine.beginStopping()
        videoOutput.disconnect(connection)
        engine.stop()
    }

    var hasStopped: Bool { isStopped.withLock { $0 } }

    /// Appends items to the list.
    func append(_ new: [PlayerItem]) { board.add(new, to: engine) { engine.append(new.map(\.entry)) } }

    // MARK: Playing

    /// Resumes at ``defaultRate``; starts over if it has played to the end.
    public func play() { play(at: Double(defaultRate)) }

    func play(at rate: Double) {
        if hasStopped { return }
        orders.add(1, ordering: .relaxed)
        changing(\.rate) {
            engine.rate = rate
            engine.play()
        }
    }

    /// Plays at this rate now; ``defaultRate`` stays. A rate that is not above zero changes nothing. The corresponding method of AVPlayer
    /// plays before enough is loaded. This player always begins as soon as the first picture and its sound are ready.
    public func playImmediately(atRate rate: Float) { if let rate = Self.playable(rate) { play(at: rate) } }

    /// Waits until the current item is ready: a paused player shows its first picture then, and ``play()`` begins at the next vblank. A player
    /// prepares each item by itself.
    ///
    /// - Returns: whether it is ready: false if it cannot be played, and if there is none.
    public func preroll(atRate rate: Float = 1) async -> Bool {
        guard let item = currentItem else { return false }
        while !hasStopped, currentItem == item {
            switch item.status {
            case .unknown: break
            case .readyToPlay: return true
            case .failed: return false
            }
            do { try await Task.sleep(for: .milliseconds(4)) } catch { return false }
        }
        return false
    }

    /// Freezes the picture on the screen; the sound stops within a period.
    public func pause() {
        orders.add(1, ordering: .relaxed)
        engine.pause()
    }

    /// The rate of ``play()`` in item seconds a second, 0.5…2, with the pitch kept; 1 at first. A change does not affect current playback.
    /// Other positive rates are clamped. A rate that is not above zero changes nothing: a player never plays backwards.
    public var defaultRate: Float {
        get { Float(reading(\.defaultRate) { playRate.withLock { $0 } }) }
        set { if let rate = Self.playable(newValue) { changing(\.defaultRate) { playRate.withLock { $0 = rate } } } }
    }

    /// The requested rate in item seconds a second: 0 from a pause on, and at the end. Set 0 to pause, or a rate above (0.5…2) to play at
    /// it; ``defaultRate`` stays. A value below zero, or no number, changes nothing: a player never plays backwards.
    ///
    /// With ``ActionAtItemEnd/none`` the rate stays at the end.
    public var rate: Float {
        get {
            reading(\.rate) {
                if hasStopped { return 0 }
                return engine.wantsPlay || actionAtItemEnd == .none && engine.snapshot.hasEnded ? Float(engine.rate) : 0
            }
        }
        set {
            if newValue == 0 { return pause() }
            if let rate = Self.playable(newValue) { play(at: rate) }
        }
    }

    /// Returns the rate to play for a requested one; nil if it is invalid.
    static func playable(_ rate: Float) -> Double? { rate.isFinite && rate > 0 ? min(max(Double(rate), 0.5), 2) : nil }

    /// Loudness, 0…1 of full scale; changes are ramped.
    public var volume: Float {
        get { Float(reading(\.volume) { engine.volume }) }
        set { changing(\.volume) { engine.volume = Double(newValue) } }
    }

    /// Whether the sound is muted; changes are ramped.
    public var isMuted: Bool {
        get { reading(\.isMuted) { engine.isMuted } }
        set { changing(\.isMuted) { engine.isMuted = newValue } }
    }

    /// Whether it plays, pauses or waits; paused once it has been stopped.
    public var timeControlStatus: TimeControlStatus { reading(\.timeControlStatus) { hasStopped ? .paused : engine.timeControlStatus } }

    /// The reason why a player waits.
    public enum WaitingReason: Hashable, Sendable {
        /// There is no item, or none can be played.
        case noItemToPlay
        /// The item is being opened.
        case evaluatingBufferingRate
        /// The source of the item is slow.
        case toMinimizeStalls
    }

    /// The reason for ``TimeControlStatus/waitingToPlay``; nil with another status.
    public var reasonForWaitingToPlay: WaitingReason? {
        guard timeControlStatus == .waitingToPlay else { return nil }
        guard let item = currentItem, item.error == nil else { return .noItemToPlay }
        return item.status == .readyToPlay ? .toMinimizeStalls : .evaluatingBufferingRate
    }

    /// What happens at the end of an item.
    public enum ActionAtItemEnd: Hashable, Sendable {
        /// The next item follows. After the last one the player pauses on the last frame.
        case advance
        /// The player pauses on the last frame.
        case pause
        /// The last frame stays, and ``Player/rate`` stays: a seek plays on at once.
        case none
    }

    /// What happens after the last item: ``ActionAtItemEnd/pause`` for a player of one item, else ``ActionAtItemEnd/advance``. Items of a
    /// queue that are not the last one are always followed by the next.
    public var actionAtItemEnd: ActionAtItemEnd {
        get { reading(\.actionAtItemEnd) { itemEnd.withLock { $0 } } }
        set { changing(\.actionAtItemEnd) { itemEnd.withLock { $0 = newValue } } }
    }

    // MARK: Items

    /// The current item, from the moment it is set or selected, though its first picture may still be decoded; nil if there is nothing to
    /// play. If an item cannot be played, the next one follows.
    public var currentItem: PlayerItem? {
        reading(\.currentItem) { engine.currentItem.flatMap { board.isReplaced($0) ? nil : board[$0] } }
    }

    /// Replaces all items by one, from its beginning; the previous picture stays until the first new one is ready. With nil there is
    /// nothing to play.
    public func replaceCurrentItem(with item: PlayerItem?) {
        changing(\.currentItem) {
            let former = engine.items.map(\.id)
            if let item { append([item]) }
            board.replace(former)
            engine.remove(former, at: .now)
            board.remove(former)
        }
    }

    // MARK: The picture

    /// The place of the picture on the display; during a move, its target.
    public var region: Region {
        get { engine.region }
        set { setRegion(newValue) }
    }

    /// Moves the picture to `region` within `duration`: to full screen and back, during playback. The player opens or decodes nothing anew
    /// for it, and drops no frame.
    public func setRegion(_ region: Region, within duration: Duration = .zero) {
        engine.setRegion(region, within: MediaTime(duration))
    }

    /// The counts since the player was created.
    public var statistics: Statistics { Statistics(engine.snapshot.statistics) }

    /// The counts of a player, taken at the flips of the display.
    public struct Statistics: Hashable, Sendable {
        /// Frames that reached the screen.
        public var framesShown: Int
        /// Of those, the frames that came a vblank or more late.
        public var framesLate: Int
        /// Frames dropped because their time had passed before they could be shown.
        public var framesDropped: Int
        /// The seams between one showing and the next that reached the screen.
        public var seams: Int
        /// The number of times picture and sound stalled because nothing was ready.
        public var stalls: Int
        /// The time between the newest received part of a live stream and its audible part; nil for other items.
        public var streamLatency: Duration?

        init(_ counts: PlayerStatistics) {
            (framesShown, framesLate, framesDropped) = (counts.framesShown, counts.framesLate, counts.framesDropped)
            (seams, stalls, streamLatency) = (counts.seams, counts.stalls, counts.streamLatency?.duration)
        }
    }
}
