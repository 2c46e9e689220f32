import DequeModule
import Media
import Platform
import Synchronization

/// Plays a playlist on a display and a sound card, on and on: AVQueuePlayer for bare Linux.
///
/// All methods may be called from any thread and return at once; what they ask for is seen by the next vblank or, where something must be
/// opened or decoded first, as soon as that is done. Observers are called one after another on the player's own event thread, never on the way of a
/// frame.
///
/// Five threads do the work: `feeder` decodes, `opener` opens the next item, `compositor` converts, `presenter` flips, and the audio output's own.
public final class Player: Sendable {
    /// What to play with.
    public struct Options: Hashable, Sendable {
        /// What to do at the end.
        public var loop = LoopMode.playlist
        /// How long a still without a duration of its own stands.
        public var imageDuration = MediaTime.seconds(10)
        /// How one item gives way to the next.
        public var transition = Transition.cut
        /// How long a fade lasts.
        public var transitionDuration = MediaTime.seconds(1)
        /// How far one seek step moves.
        public var seekStep = MediaTime.seconds(10)
        /// Loudness, 0…1 of full scale.
        public var volume = 1.0
        /// Whether the sound is off.
        public var isMuted = false
        /// Threads libavcodec may use for an item's pictures.
        public var decoderThreads = 1
        /// Whether ``Command/quit`` is passed on.
        public var allowsQuit = false

        /// The defaults.
        public init() {}
    }

    private let options: Options
    let pipeline: Monitor<Pipeline>
    let audio: AudioQueue
    private let now: @Sendable () -> HostTime
    private let video: any VideoOutput
    private let audioOutput: any AudioOutput
    private let opener: ItemOpener
    private let events: PlayerEvents
    private let threads: Mutex<[Thread]>

    /// A player that shows `items` on `video` and plays their sound on `audio`; nothing happens before ``start()``.
    public convenience init(items: [PlaylistItem], options: Options = Options(), video: any VideoOutput, audio: any AudioOutput) {
        self.init(items: items, options: options, video: video, audio: audio) { HostTime.now }
    }

    /// The same by another clock than CLOCK_MONOTONIC.
    init(
        items: [PlaylistItem], options: Options, video: any VideoOutput, audio output: any AudioOutput,
        now: @escaping @Sendable () -> HostTime
    ) {
        self.now = now
        self.options = options
        self.video = video
        audioOutput = output
        var state = Pipeline(
            wantsPlay: true, volume: options.volume, isMuted: options.isMuted, cursor: PlaylistCursor(items, loop: options.loop))
        // Beginning is a move to the first item, so that there is something to skip or to seek from before it has been opened.
        state.jumpTarget = state.cursor.first.map { .init(position: $0, time: nil, precision: .exact) }
        let pipeline = Monitor(state)
        self.pipeline = pipeline
        audio = AudioQueue(format: output.format) { pipeline.signal { _ in } }
        opener = ItemOpener(
            samples: output.format,
            decoderThreads: options.decoderThreads
        ) { pipeline.signal { _ in } }
        events = PlayerEvents()
        threads = Mutex([])
        setSound { _ in }
    }

    /// Starts the threads and, with them, playing. Call once.
    public func start() {
        let (pipeline, video, audio, output, opener, events) = (pipeline, video, audio, audioOutput, opener, events)
        let (options, now) = (options, now)
        let emit: @Sendable (PlayerEvent) -> Void = { events.send($0) }
        output.start(audio)
        let clock: @Sendable (HostTime) -> MediaTime? = { audio.isRunning ? audio.timelineTime(at: $0, now: now()) : nil }
        threads.withLock { threads in
            threads = [
                Thread("events") { [weak self] in events.run { self?.currentTime ?? .zero } },
                Thread("opener") { opener.run() },
                Thread("feeder") {
                    var feeder = Feeder(
                        pipeline: pipeline, audio: audio, opener: opener, imageDuration: options.imageDuration,
                        transition: options.transition == .cut ? .zero : options.transitionDuration,
                        emit: emit, wakePresenter: { video.wake() },
                        interruptAudio: { output.interrupt() })
                    feeder.run()
                },
                Thread("compositor", realtimePriority: 5) { Compositor(pipeline: pipeline, output: video, clock: clock, now: now).run() },
                Thread("presenter", realtimePriority: 20) {
                    var presenter = Presenter(pipeline: pipeline, output: video, audioOutput: output, audio: audio, emit: emit, now: now)
                    presenter.run()
                },
            ]
        }
    }

    /// Ends playing and waits for the threads, a few seconds at most; the outputs are stopped (sound) and left open (picture) for their owner to close. Call
    /// once, not from an observer.
    ///
    /// False when a thread hangs in something that nobody can end and was left behind. It touches nothing any more but what it holds itself; the process
    /// should end without waiting for it.
    @discardableResult public func stop() -> Bool {
        pipeline.signal { pipeline in
            pipeline.isStopping = true
            pipeline.cancelReadings()
        }
        opener.stop()
        video.wake()
        events.stop()
        let deadline = HostTime.now + Self.patience
        var ended = threads.withLock { $0 }.map { $0.join(until: deadline) }
        // It waits for a thread of its own, which a sound card may hold up.
        ended.append(Thread("stop-sound") { [audioOutput] in audioOutput.stop() }.join(until: .now + Self.patience))
        return !ended.contains(false) && !opener.hasLeftThreads
    }

    /// Beyond what any thread needs to end that is not stuck.
    private static let patience = MediaTime.seconds(4)

    // MARK: The playlist

    /// Plays `items` from now on; the same ones as before change nothing.
    ///
    /// What is on the screen and has left the list plays to its end; then comes what follows the item that stood before it. What is open already, because the
    /// present item is about to end, may be played once more. With nothing on the list the background is shown until there is something, where the playlist
    /// loops. Items that are on both lists keep their index (see ``PlayerEvent``), the n-th of equal ones that of the n-th.
    public func setItems(_ items: [PlaylistItem]) {
        while true {
            // Compared and numbered without the lock: the presenter must not wait for that.
            var list = pipeline.withLock { $0.cursor.list }
            let revision = list.revision
            guard let forgotten = list.replace(with: items) else { return }
            let isDone = pipeline.signal { pipeline in
                guard pipeline.cursor.list.revision == revision else { return false }
                swap(&pipeline.cursor.list, &list)
                for index in forgotten { pipeline.statistics.items[index] = nil }
                // The first list there is begins with a move to its first item.
                if list.isEmpty, pipeline.shown?.turn == nil, pipeline.jumpTarget == nil {
                    pipeline.jumpTarget = pipeline.cursor.first.map { .init(position: $0, time: nil, precision: .exact) }
                }
                return true
            }
            if isDone { return }
        }
    }

    /// The playlist as it is now.
    public var items: [PlaylistItem] { pipeline.withLock { $0.cursor.list.items } }

    /// The item of an index, and its place on the list, from 0; no place when it has left the list, nil when that was long ago.
    public func item(_ index: Int) -> (item: PlaylistItem, place: Int?)? {
        pipeline.withLock { pipeline in pipeline.cursor.list[index].map { ($0, pipeline.cursor.list.place(of: index)) } }
    }

    // MARK: Control

    /// Carries out what a viewer or operator asks for.
    public func perform(_ command: Command) {
        switch command {
        case .play: play()
        case .pause: pause()
        case .togglePlayback: togglePlayback()
        case .seekSteps(let count): seek(by: .seconds(Self.bounded(options.seekStep.seconds * Double(count))))
        case .seekBy(let span): seek(by: span)
        case .seekTo(let time): seek(to: time)
        case .nextItem: advanceToNextItem()
        case .previousItem: returnToPreviousItem()
        case .restartItem: restartItem()
        case .changeVolume(let change): setSound { pipeline in pipeline.volume = (pipeline.volume * 100 + Double(change)).rounded() / 100 }
        case .toggleMute: setSound { $0.isMuted.toggle() }
        case .setRate(let value): rate = value
        case .quit: if options.allowsQuit { events.send(.quitRequested) }
        }
    }

    /// Carries out what was asked for at `time`: the kernel's time of the key or the touch; nil where nobody knows.
    public func perform(_ command: Command, at time: HostTime?) { perform(command) }

    /// Plays on from where it stands; from the first item when the playlist has ended.
    public func play() { setPlaying { _ in true } }

    /// Holds the frame that is on the screen; the sound stops within a period, and ``play()`` goes on with the next sample and frame.
    public func pause() { setPlaying { _ in false } }

    /// Pauses when playing or waiting, plays when paused.
    public func togglePlayback() { setPlaying { !$0 } }

    private func setPlaying(_ choose: (Bool) -> Bool) {
        let returned: [PreparedScene]? = pipeline.signal { pipeline -> [PreparedScene]? in
            let wanted = choose(pipeline.wantsPlay)
            if wanted == pipeline.wantsPlay { return nil }
            pipeline.wantsPlay = wanted
            if wanted, pipeline.hasPlayedOut, let first = pipeline.cursor.first {
                return begin(.init(position: first, time: nil, precision: .exact), &pipeline)
            }
            audio.isRunning = wanted && pipeline.isStarted
            return []
        }
        // Where nothing has changed nothing is done: an interruption restarts the card.
        if let returned { follow(returned) }
    }

    /// Moves to an item time, clamped to the item's first and last frame, and shows the frame there even while paused.
    public func seek(to time: MediaTime, precision: MediaReader.SeekPrecision = .exact) { seek(precision) { _ in time } }

    /// Moves by a span within the item; several in a row add up, whether or not the first has been shown yet.
    public func seek(by span: MediaTime, precision: MediaReader.SeekPrecision = .exact) {
        seek(precision) { .seconds(Self.bounded($0.seconds) + Self.bounded(span.seconds)) }
    }

    /// Seconds that are longer than any item and can still be added up.
    private static func bounded(_ seconds: Double) -> Double { min(max(seconds, -1e9), 1e9) }

    private func seek(_ precision: MediaReader.SeekPrecision, _ target: (MediaTime) -> MediaTime) {
        jump { pipeline in
            guard let (position, now, turn) = playhead(pipeline) else { return nil }
            var place = position
            place.remaining = nil
            guard let item = pipeline.cursor.list[position.index] ?? turn?.item else { return nil }
            let end = [item.end, turn?.itemEnd].compactMap { $0 }.min()
            if let turn, end == nil || !turn.isSeekable { return nil }  // a live stream has no other places
            // The end itself is the next frame's; what is asked for behind it is the last frame.
            let last = (end ?? .seconds(1e9)) - MediaTime(nanoseconds: 1)
            let time = max(item.start, min(target(now), last))
            let move = Pipeline.Jump(position: place, time: time, precision: precision)
            if let under = pipeline.jumpTarget ?? pipeline.settlement, under.time != nil, under.position.index == place.index {
                pipeline.nextMove = move
                return nil
            }
            return move
        }
    }

    /// Goes to the next item now; at the end of a playlist that does not loop there is none, and nothing happens.
    public func advanceToNextItem() {
        jump { pipeline in
            guard let (position, _, _) = playhead(pipeline), let next = pipeline.cursor.nextItem(after: position) else { return nil }
            return .init(position: next, time: nil, precision: .exact)
        }
    }

    /// Goes to the item before.
    public func returnToPreviousItem() {
        jump { pipeline in
            guard let (position, _, _) = playhead(pipeline), let last = pipeline.cursor.previousItem(before: position) else { return nil }
            return .init(position: last, time: nil, precision: .exact)
        }
    }

    /// Begins the present item again.
    public func restartItem() {
        jump { pipeline in
            guard let (position, _, _) = playhead(pipeline) else { return nil }
            return .init(position: .init(index: position.index), time: nil, precision: .exact)
        }
    }

    /// Item, time and turn that a move counts from: the jump under way, else what is on the screen.
    private func playhead(_ pipeline: borrowing Pipeline) -> (PlaylistCursor.Position, MediaTime, Turn?)? {
        let turn = pipeline.shown?.turn
        if let target = pipeline.nextMove ?? pipeline.settlement ?? pipeline.jumpTarget {
            let sameItem = turn?.position.index == target.position.index
            return (target.position, target.time ?? pipeline.cursor.list[target.position.index]?.start ?? .zero, sameItem ? turn : nil)
        }
        guard let turn else { return nil }
        return (turn.position, itemTime(pipeline), turn)
    }

    private func jump(_ make: (inout Pipeline) -> Pipeline.Jump?) {
        let returned: [PreparedScene]? = pipeline.signal { pipeline -> [PreparedScene]? in
            guard let jump = make(&pipeline) else { return nil }
            return begin(jump, &pipeline)
        }
        if let returned { follow(returned) }
    }

    /// Begins a generation with the lock held; the buffers that come back are for ``follow(_:)``.
    private func begin(_ jump: Pipeline.Jump, _ pipeline: inout Pipeline) -> [PreparedScene] {
        (pipeline.nextMove, pipeline.settlement) = (nil, nil)
        audio.isRunning = false
        return pipeline.begin(jump)
    }

    /// What has to follow a change of what is played, without the lock.
    private func follow(_ returned: [PreparedScene]) {
        if !returned.isEmpty {
            for frame in returned { video.discard(frame) }
            pipeline.signal { $0.returnBuffers() }
        }
        audioOutput.interrupt()
        video.wake()
    }

    // MARK: Properties

    /// Loudness, clamped to 0…1 of full scale; changes are ramped.
    public var volume: Double {
        get { pipeline.withLock { $0.volume } }
        set { setSound { $0.volume = newValue } }
    }

    /// Whether the sound is off; changes are ramped.
    public var isMuted: Bool {
        get { pipeline.withLock { $0.isMuted } }
        set { setSound { $0.isMuted = newValue } }
    }

    /// Changes loudness as one step, so that what several threads ask for adds up.
    private func setSound(_ change: (inout Pipeline) -> Void) {
        pipeline.withLock { pipeline in
            let before = pipeline.volume
            change(&pipeline)
            pipeline.volume = pipeline.volume.isFinite ? min(max(pipeline.volume, 0), 1) : before
            audio.setGain(pipeline.gain)
        }
    }

    /// Item seconds a second, clamped to 0.5…2, the pitch kept. Takes effect with the frames decoded from now on: within half a second, or
    /// with the seventh frame from now where seven last longer; within a second of an item that is only sound.
    public var rate: Double {
        get { pipeline.withLock { $0.rate } }
        set { pipeline.signal { $0.rate = min(max(newValue.isFinite ? newValue : 1, 0.5), 2) } }
    }

    /// What the player is doing about time.
    public var timeControlStatus: TimeControlStatus { pipeline.withLock { $0.status } }

    /// The item time on the screen.
    public var currentTime: MediaTime { pipeline.withLock { itemTime($0) } }

    /// Everything at one moment, for a status line.
    public var snapshot: PlayerSnapshot {
        pipeline.withLock { pipeline in
            let turn = pipeline.shown?.turn
            var statistics = pipeline.statistics
            (statistics.stalls, statistics.stalledTime) = audio.stalls
            return PlayerSnapshot(
                status: pipeline.status, itemIndex: turn?.position.index, time: itemTime(pipeline), duration: turn?.itemEnd,
                statistics: statistics,
                buffered: BufferLevel(frames: pipeline.framesAhead, sound: audio.ahead(of: audio.timelineTime(at: now()) ?? .zero)))
        }
    }

    private func itemTime(_ pipeline: borrowing Pipeline) -> MediaTime {
        guard let start = pipeline.shown?.start else { return pipeline.jumpTarget?.time ?? .zero }
        let time = pipeline.jumpTarget == nil && pipeline.isStarted ? audio.timelineTime(at: now()) ?? start : start
        return pipeline.shown?.itemTime(at: time) ?? .zero
    }

    // MARK: Observers

    /// Calls `observer` for every event from now on.
    public func addObserver(_ observer: @escaping @Sendable (PlayerEvent) -> Void) { events.add(observer) }

    /// Calls `observer` with the item time every `interval` (at least 10 ms), and at once when something happens.
    public func addPeriodicTimeObserver(forInterval interval: MediaTime, using observer: @escaping @Sendable (MediaTime) -> Void) {
        events.add(interval: max(interval, .milliseconds(10)), observer)
    }
}

// The runtime traps when it takes apart a class that holds noncopyable values, as dump() and failing test expectations do.
extension Player: CustomReflectable {
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
