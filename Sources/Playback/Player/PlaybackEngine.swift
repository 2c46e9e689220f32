import DequeModule
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary
import Synchronization

/// Plays a playlist on a display and a sound card, on and on: AVQueuePlayer for bare Linux.
///
/// All methods may be called from any thread and return at once; what they ask for is seen by the next vblank or, where something must be
/// opened or decoded first, as soon as that is done. Observers are called one after another on the player's own event thread, never on the
/// way of a frame.
///
/// What it is asked for is in PlayerControl.swift, what it plays in PlayerPlaylist.swift, what it tells in PlayerProperties.swift.
///
/// Six threads do the work: `feeder` decodes, `opener` opens the next item, `lost-opener` a stream that broke off, `compositor` converts, `presenter` flips, and the audio
/// output's own.
package final class PlaybackEngine: Sendable {
    let options: Options
    let pipeline: Monitor<Pipeline>
    let audio: AudioQueue
    let now: @Sendable () -> HostTime
    let video: any SceneOutput
    let audioOutput: any PCMOutput
    let events = PlayerEvents()
    /// PlayerOverlay.swift.
    let regionMoves = Monitor(RegionMoves())
    /// Who looks whether the time of interruptions is over, while there are any (InterruptionState.swift).
    let interruptionWatch = Mutex<PlayerObserver?>(nil)
    /// How subtitles look that are text.
    let subtitleStyle: Monitor<SubtitleStyle>
    /// How subtitles are drawn now.
    private let subtitleOrder: @Sendable () -> SubtitleOrder
    private let opener: ItemOpener
    /// Opens streams that have broken off while something else is played.
    private let lostOpener: ItemOpener
    private let threads = Mutex(Threads())
    /// Of the threads that a watcher asks for (PlayerLiveness.swift).
    let beats = (feeder: Heartbeat(), compositor: Heartbeat(), presenter: Heartbeat())

    /// What runs, until it has been joined.
    private struct Threads {
        var showing: [Thread] = []
        var others: [Thread] = []
    }

    /// A player that shows `items` on `video` and plays their sound on `audio`; nothing happens before ``start()``.
    /// `files` are opened in place of sources where there are such. With `readers` files are read in processes.
    /// `now` is CLOCK_MONOTONIC but in simulations.
    package init(
        items: [PlaylistItem], options: Options = Options(), video: any SceneOutput, audio output: any PCMOutput,
        files: (any AssetFiles)? = nil, readers: Readers, now: @escaping @Sendable () -> HostTime = { .now }
    ) {
        self.now = now
        self.options = options
        self.video = video
        audioOutput = output
        let longest = MediaTime.milliseconds(500)
        let delay = min(max(options.audioDelay, -longest), longest)
        let pipeline = Monitor(
            Pipeline(
                cursor: PlaylistCursor(items, rules: PlaylistRules(options)),
                loudness: Loudness(volume: options.volume, isMuted: options.isMuted),
                session: options.audioSession, soundLead: .zero - delay), groups: 2)
        self.pipeline = pipeline
        audio = AudioQueue(format: output.format, delay: delay) {
            pipeline.signal({ _ in .feeder }, { _ in })
        }
        var sources = SourceOpener(samples: output.format, readers: readers)
        (sources.decoderThreads, sources.decoderDevice) = (options.decoderThreads, options.decoderDevice)
        (sources.displaySize, sources.files) = ({ video.mode.map { ($0.width, $0.height) } }, files)
        let moves = regionMoves
        let style = Monitor(options.subtitles)
        subtitleStyle = style
        let subtitles: @Sendable () -> SubtitleOrder = { Self.subtitleOrder(style.withLock { $0 }, on: video, pipeline, moves) }
        sources.subtitles = subtitles
        subtitleOrder = subtitles
        (opener, lostOpener) = (
            ItemOpener(sources) { pipeline.signal { _ in } }, ItemOpener(sources) { pipeline.signal { _ in } }
        )
        setLoudness { _ in }
        pipeline.withLock { [audio] pipeline in
            pipeline.sound = audio
            pipeline.overlay.setRegion(options.region)
        }
    }

    /// Starts the threads and, with them, playing. Call once.
    package func start() {
        let (pipeline, video, audio, output, opener, events) = (pipeline, video, audio, audioOutput, opener, events)
        let (lostOpener, now, subtitles) = (lostOpener, now, subtitleOrder)
        let rules = pipeline.withLock { $0.cursor.rules }
        let emit: @Sendable (PlaybackEvent) -> Void = { events.send($0) }
        output.start(audio)
        let (beats, lease) = (beats, OutputLease(video))
        let clock: @Sendable (HostTime) -> MediaTime? = { audio.isRunning ? audio.timelineTime(at: $0, now: now()) : nil }
        threads.withLock { threads in
            threads.others = [
                Thread("events") { [weak self] in events.run { self?.progress ?? .init() } },
                Thread("opener") { opener.run() },
                Thread("lost-opener") { lostOpener.run() },
                Thread("feeder") {
                    var feeder = Feeder(
                        pipeline: pipeline, audio: audio, opener: opener, lostOpener: lostOpener,
                        imageDuration: rules.imageDuration, transition: rules.transition,
                        emit: emit, subtitles: subtitles, wakePresenter: { video.wake() },
                        interruptAudio: { output.interrupt() }, heartbeat: beats.feeder)
                    feeder.run()
                },
            ]
            threads.showing = [
                Thread("compositor", realtimePriority: 5) {
                    lease.output.waitUntilOpen()
                    Compositor(pipeline: pipeline, output: lease.output, clock: clock, now: now, heartbeat: beats.compositor).run()
                    withExtendedLifetime(lease) {}
                },
                Thread("presenter", realtimePriority: 20) {
                    lease.output.waitUntilOpen()
                    var presenter = Presenter(
                        pipeline: pipeline, output: lease.output, audioOutput: output, audio: audio, heartbeat: beats.presenter,
                        emit: emit, now: now)
                    presenter.run()
                    withExtendedLifetime(lease) {}
                },
            ]
        }
    }

    /// How subtitles are drawn on a screen as it is now, and for a picture that is where it is going.
    private static func subtitleOrder(
        _ style: SubtitleStyle, on video: any SceneOutput, _ pipeline: Monitor<Pipeline>, _ moves: Monitor<RegionMoves>
    ) -> SubtitleOrder {
        var order = SubtitleOrder()
        order.style = style
        if let mode = video.mode {
            let size =
                video.rotation.swapsAxes
                ? PixelSize(width: mode.height, height: mode.width) : PixelSize(width: mode.width, height: mode.height)
            order.screen = SubtitleScreen(
                size: size, region: moves.withLock { $0.move?.to } ?? pipeline.withLock { $0.overlay.overlay.region })
        }
        return order
    }

    var isRunning: Bool { threads.withLock { !$0.others.isEmpty } }

    /// Has all threads end, and returns at once.
    package func beginStopping() {
        pipeline.signal { $0.stop() }
        opener.stop()
        lostOpener.stop()
        video.wake()
        events.stop()
    }

    /// Ends showing, and waits for it at most until `deadline`. True where nothing of the player calls the video output any more: its owner may
    /// close it then, and must not where this is false. Not from an observer.
    package func stopShowing(by deadline: HostTime) -> Bool {
        beginStopping()
        return threads.withLock { $0.showing }.map { $0.join(until: deadline) }.allSatisfy { $0 }
    }

    /// Ends playing and waits for the threads, at most until `deadline`; the outputs are stopped (sound) and left open (picture) for their
    /// owner to close. Call once, not from an observer.
    ///
    /// False when a thread hangs in something that nobody can end and was left behind. It touches nothing any more but what it holds
    /// itself; the process should end without waiting for it.
    @discardableResult package func stop(by deadline: HostTime = .now + .seconds(4)) -> Bool {
        var hasEnded = stopShowing(by: deadline)
        for thread in threads.withLock({ $0.others }) where !thread.join(until: deadline) { hasEnded = false }
        if !audioOutput.stop(by: deadline) { hasEnded = false }
        return hasEnded
    }
}

// The runtime traps when it takes apart a class that holds noncopyable values, as dump() and failing test expectations do.
extension PlaybackEngine: CustomReflectable {
    /// Nothing to look into.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a player has an output by. The compositor and the presenter hold it, and nobody else: when both have let go of it, whichever way they
/// ended, what they had prepared and not committed goes back to the output, and another player may have it.
final class OutputLease: Sendable {
    let output: any SceneOutput

    init(_ output: any SceneOutput) { self.output = output }

    deinit { output.playerEnded() }
}
