import DequeModule
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary
import Synchronization

/// Plays a playlist on a display and a sound card: AVQueuePlayer for bare Linux.
///
/// All methods may be called from any thread, and return at once. The next vblank shows their effect; if the player has to open or decode
/// something first, the effect follows as soon as that is done. Observers are called one after another on the player's own event thread,
/// never on the path of a frame.
///
/// The commands are in PlayerControl.swift, the playlist in PlayerPlaylist.swift, the properties in PlayerProperties.swift.
///
/// Six threads do the work. `feeder` decodes, `opener` opens the next item, `lost-opener` a stream that broke off, `compositor` converts,
/// and `presenter` flips. The audio output has its own.
package final class PlaybackEngine: Sendable {
    let options: Options
    let pipeline: Monitor<Pipeline>
    let audio: AudioQueue
    let now: @Sendable () -> HostTime
    let video: any SceneOutput
    let audioOutput: any PCMOutput
    let events = PlayerEvents()
    /// The move of the picture's region (PlayerOverlay.swift).
    let regionMoves = Monitor(RegionMoves())
    /// The observer that ends overdue interruptions, while there are any (InterruptionState.swift).
    let interruptionWatch = Mutex<PlayerObserver?>(nil)
    /// The style of text subtitles.
    let subtitleStyle: Monitor<SubtitleStyle>
    /// The current order to draw subtitles.
    private let subtitleOrder: @Sendable () -> SubtitleOrder
    private let opener: ItemOpener
    /// Opens streams that have broken off while something else is played.
    private let lostOpener: ItemOpener
    private let threads = Mutex(Threads())
    /// The heartbeats of the threads that a watchdog checks (PlayerLiveness.swift).
    let beats = (feeder: Heartbeat(), compositor: Heartbeat(), presenter: Heartbeat())

    /// The running threads.
    private struct Threads {
        var showing: [Thread] = []
        var others: [Thread] = []
    }

    /// Creates a player that shows `items` on `video` and plays their sound on `audio`; nothing happens before ``start()``. If `files` has
    /// a file for a source, that is opened instead. `readers` has the processes, or threads, that read files. `now` is CLOCK_MONOTONIC
    /// except in simulations.
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

    /// Starts the threads, and with them playback. Call once.
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

    /// Returns the order to draw subtitles, for the current screen and for the region that the picture moves to.
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

    /// Tells all threads to end, and returns at once.
    package func beginStopping() {
        pipeline.signal { $0.stop() }
        opener.stop()
        lostOpener.stop()
        video.wake()
        events.stop()
    }

    /// Ends showing, and waits for that at most until `deadline`. Returns true if no thread of the player calls the video output any more:
    /// only then may its owner close it. Do not call it from an observer.
    package func stopShowing(by deadline: HostTime) -> Bool {
        beginStopping()
        return threads.withLock { $0.showing }.map { $0.join(until: deadline) }.allSatisfy { $0 }
    }

    /// Ends playback, and waits for the threads at most until `deadline`. It stops the sound output, and leaves the video output open for
    /// its owner to close. Call once, not from an observer.
    ///
    /// Returns false if a thread hangs in a call that cannot be ended, and was left behind. That thread touches only what it holds itself;
    /// the process should end without waiting for it.
    @discardableResult package func stop(by deadline: HostTime = .now + .seconds(4)) -> Bool {
        var hasEnded = stopShowing(by: deadline)
        for thread in threads.withLock({ $0.others }) where !thread.join(until: deadline) { hasEnded = false }
        if !audioOutput.stop(by: deadline) { hasEnded = false }
        return hasEnded
    }
}

// The runtime traps when it takes apart a class that holds noncopyable values, as dump() and failing test expectations do.
extension PlaybackEngine: CustomReflectable {
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A player's hold on its output. Only the compositor and the presenter have it. When both have dropped it, in any way, the output gets
/// back the scenes that were prepared and not committed. Then another player may have the output.
final class OutputLease: Sendable {
    let output: any SceneOutput

    init(_ output: any SceneOutput) { self.output = output }

    deinit { output.playerEnded() }
}
