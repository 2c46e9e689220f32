import ArgumentParser
import CKioskPlatform
import Cache
import Glibc
import KioskAudioCore
import KioskConfiguration
import KioskContent
import KioskControlsCore
import KioskDisplayCore
import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskSchedule
import KioskVocabulary
import Logging
import Remote

/// `kiosk [SOURCE…]`: plays until a signal or a command ends it.
struct Play: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Play the playlist, or the sources named here. kiosk does this without a subcommand, too.",
        usage: "kiosk [play] [<options>] [<source> ...]",
        discussion: """
            SIGINT (Ctrl-C), SIGTERM and the quit key end the player, the key only if `[input] allow-quit` is set. kiosk then restores \
            the former screen. A second SIGINT or SIGTERM ends it at once. On SIGHUP a service reads the configuration file again, as \
            after saving; a player at a terminal ends. No fault during playback ends the player: it leaves out bad items, and waits for \
            a missing display or sound card.
            """)

    @OptionGroup var settings: Settings

    @Option("Rotate the picture clockwise by 0, 90, 180 or 270 degrees.", value: "degrees", .rotation())
    var rotation: Rotation?

    @Option("Fit pictures of another shape: fit, fill or stretch.", .word(\.word))
    var gravity: VideoGravity?

    @Option("The colour of bars and of an empty screen.", value: "#rrggbb", .color())
    var background: Color?

    @Option("Loudness at the start, 0 to 100.", value: "percent", .whole(0...100))
    var volume: Int?

    @Flag(inversion: .prefixedNo, help: "Start without sound.")
    var muted: Bool?

    @Option("Loop the playlist, the item, or nothing: playlist, item or off.", .word(\.rawValue))
    var loop: LoopMode?

    @Option(
        "Play at this speed, 0.5 to 2, and keep the pitch.", value: "factor", .number("a number from 0.5 to 2", in: 0.5...2))
    var rate: Double?

    @Flag(help: "If no display is free, play offscreen, with a live status line and a PNG of every item.")
    var preview = false

    @Option(
        help: ArgumentHelp(
            "Write a PNG of every item into this folder, if the display is offscreen.",
            discussion: "Default: with --preview, a folder of its own in $TMPDIR.", valueName: "folder"),
        completion: .directory)
    var snapshots: String?

    @Option(
        "Lowest level to log: trace, debug, info, notice, warning, error or critical.", value: "level", .word(\.rawValue))
    var logLevel: LogLevel?

    @Argument(
        help: ArgumentHelp("Files, folders, .m3u lists or URLs to play instead of the file's playlist.", valueName: "source"),
        completion: .file())
    var sources: [String] = []

    func run() throws {
        kiosk_tune_malloc()
        let overrides: [ConfigurationOverride] = [
            .init(\.gravity, gravity), .init(\.display.rotation, rotation), .init(\.display.background, background),
            .init(\.audio.volume, volume), .init(\.audio.isMuted, muted), .init(\.playback.loop, loop), .init(\.log.level, logLevel),
        ]
        let configuration = try settings.load(overrides, sources: sources)
        let keyMap = try settings.keyMap(configuration)
        StartTrace.reached(.configured)
        // Before there are threads, so that all of them inherit the mask: only the main thread may receive the signals.
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP])
        startLog(Logger.Level(configuration.log.level))
        // Loads the readers' libraries while the display and the sound card open.
        configuration.readers.prepare()
        let log = Logger(label: "kiosk")

        if let snapshots, mkdir(snapshots, 0o777) != 0, errno != EEXIST {
            throw ValidationError("--snapshots: cannot make the folder \(snapshots): \(SystemError())")
        }
        let snapshotFolder = snapshots ?? (preview ? Self.makeSnapshotFolder(log) : nil)

        // The same file again, even if another one has appeared elsewhere.
        var again = settings
        again.config = configuration.path
        let reread: @Sendable () throws -> (Configuration, KeyMap) = { [again, overrides, sources] in
            let configuration = try again.load(overrides, sources: sources)
            return (configuration, try again.keyMap(configuration))
        }
        play(configuration, keyMap, snapshotFolder, signals, reread)
    }

    private static func makeSnapshotFolder(_ log: Logger) -> String? {
        var template = Array(((environment("TMPDIR") ?? "/tmp") + "/kiosk-XXXXXX").utf8CString)
        if let path = mkdtemp(&template) { return String(cString: path) }
        log.warning("no snapshots: cannot make a folder in $TMPDIR: \(SystemError())")
        return nil
    }

    /// Plays until a signal arrives.
    private func play(
        _ configuration: Configuration, _ keyMap: KeyMap, _ snapshotFolder: String?, _ signals: SignalWait,
        _ reread: @escaping @Sendable () throws -> (Configuration, KeyMap)
    ) {
        let log = Logger(label: "kiosk")
        let display = DisplayOutput.open(DisplaySettings(configuration), offscreenWhenNoneIsFree: preview, inBackground: true)
        let audio = configuration.audio.device.makeOutput(
            session: configuration.audio.session, channels: configuration.audio.channels, delays: configuration.audio.delays
        ) { [display] in
            display.waitUntilOpen()
            return display.mode?.name
        }

        let unverified = configuration.unverifiedSources
        if !unverified.isEmpty {
            log.warning(
                "tls-verify = false: anyone on the line can read and replace the data for \(unverified.joined(separator: ", "))")
        }
        let cache = AssetCache(configuration, log)
        // Audible zones share the sound card.
        let sound = SharedSound(audio)
        let player = PlaybackEngine(
            items: [], options: PlaybackEngine.Options(configuration), video: display, audio: sound.connect(), files: cache,
            readers: configuration.readers)
        // Sources of keys and taps are on no list, but must not fail the visitor who triggers them.
        let asked = configuration.commandSources + [configuration.playback.fallback].compactMap { $0 }
        // Scheduled items that are off now must be cached when their time comes.
        let scheduled = ([configuration] + configuration.zones.map { configuration.configuration(of: $0) }).flatMap { configuration in
            (configuration.schedule.takesAll ? [] : configuration.entries.filter(\.source.isFixed)).map {
                $0.resolved(source: $0.source.location, in: configuration)
            }
        }
        let others = asked.map { configuration.item(of: $0) } + scheduled
        let zones = ZoneWiring(configuration, .init(player: player, display: display, sound: sound, files: cache))
        cache?.start { [player] in player.items.map(\.entry) + zones.items + others }
        if let rate { player.rate = rate }
        let reporter = Reporter(player: player, display: display, snapshotFolder: snapshotFolder)
        // The current items of kiosk.conf's playlist, for when a program's playlist gives way to them.
        let listed = Monitor<[PlaylistItem]>([])
        let shelf = ShelfWiring(configuration) { [player] in player.setItems(listed.withLock { $0 }, at: .now) }
        let recording = RecordWiring(configuration, player: player, display: display)
        let power = PowerWiring(configuration, player: player, display: display, zones: zones)
        let overlays = OverlayWiring(configuration, player: player, display: display)
        let isToRestart = Monitor(false)
        let around = Interaction.Surroundings(
            player: player, display: display, shelf: shelf, recording: recording, power: power, zones: zones,
            quit: {
                log.info("asked to quit")
                signals.raise(SIGTERM)
            },
            restart: {
                isToRestart.withLock { $0 = true }
                signals.raise(SIGTERM)
            })
        let interaction = Interaction(configuration, keyMap, around)
        let schedule = ScheduleWiring(configuration)
        let interludes = InterludeWiring(configuration, player: player)
        let expansion = PlaylistExpansion(configuration, on: schedule.on) { [readers = configuration.readers] in
            FileTrial.flaw(of: $0, by: readers)
        }
        let stickCopy = StickCopy(check: { [readers = configuration.readers] in FileTrial.flaw(ofStick: $0, by: readers) }) { news in
            switch news {
            case .progress(let percent): interaction.show(progress: percent)
            case .done(let note): log.notice("\(note)")
            case .problem(let problem): log.warning("\(problem)")
            }
        }
        stickCopy.setWanted(configuration.playback.usb == .copy)
        let reload = Reload(configuration.path, load: reread)
        let sticks = Path(StickMounts.folder), copies = Path(StickUse.copies(state: StickCopy.stateFolder))
        let isOfStick: @Sendable ([PlaylistItem]) -> Bool = {
            $0.first.map { $0.path.lies(beneath: sticks) || $0.path.lies(beneath: copies) } ?? false
        }
        let remote = RemoteWiring(
            configuration, player: player, display: display, audio: audio, interaction: interaction, shelf: shelf, cache: cache,
            recording: recording, power: power, overlays: overlays, zones: zones
        ) {
            reload.request()
            player.setItems(listed.withLock { $0 })
        }
        expansion.start { [player] news in
            switch news {
            case .problem(let problem): log.warning("\(problem)")
            case .note(let note): log.info("\(note)")
            case .inBetween(let items): interludes.setItems(items)
            case .items(let items, let atOnce):
                let before = listed.withLock { listed in
                    defer { listed = items }
                    return listed
                }
                if remote.control.ownsPlaylist { return }
                reporter.listChanges(to: items)
                // A person who plugs a stick in, or pulls it out, is waiting for the change.
                player.setItems(
                    remote.control.adapted(items), at: atOnce || isOfStick(items) || isOfStick(before) ? .now : .atNextBoundary)
            }
        }
        player.addObserver { event in
            if case .nothingPlayable = event { expansion.nothingCanBePlayed() }
        }
        interaction.start()
        schedule.start(
            .init(
                setOn: { expansion.setOn($0, atOnce: $1) }, setDark: { power.setNight($0) },
                perform: { interaction.perform($0, at: .now) }, isSettled: { power.begin() }))
        reload.start(configuration) { [player, display] old, new, keyMap in
            if new.log.level != old.log.level { StandardErrorLog.level = Logger.Level(new.log.level) }
            stickCopy.setWanted(new.playback.usb == .copy)
            player.setOptions(PlaybackEngine.Options(new), instead: PlaybackEngine.Options(old))
            if new.display.rotation != old.display.rotation { display.setRotation(new.display.rotation) }
            if new.display.background != old.display.background { display.setBackground(new.display.background) }
            expansion.setConfiguration(new, on: schedule.setConfiguration(new))
            interludes.setConfiguration(new)
            shelf.setConfiguration(new)
            if ConfigurationChange(from: old, to: new).concernsViewers || ControlsSettings(old).zones != ControlsSettings(new).zones {
                interaction.setConfiguration(new, keyMap)
            }
            remote.setConfiguration(new)
            recording.setConfiguration(new)
            power.setConfiguration(new)
            overlays.setConfiguration(new)
            zones.setConfiguration(new)
        }
        // If a folder takes longer than this, the screen shows the background meanwhile.
        expansion.waitForItems(within: .seconds(1))
        StartTrace.reached(.listed)
        player.start()
        zones.start { interaction.perform($0, at: .now) }

        // The status line is for a person at a terminal without a display.
        let showsStatus = display.isOffscreen && isatty(STDERR_FILENO) != 0
        while true {
            let signal = signals.wait(for: showsStatus ? .milliseconds(200) : Thread.anyWaits ? Thread.retryInterval : nil)
            if Thread.anyWaits { Thread.startWaiting() }
            if signal == SIGHUP, Reload.isAskedBySIGHUP { reload.request() } else if signal != nil { break }
            if showsStatus { StandardErrorLog.show(status: reporter.statusLine) }
        }

        Self.endAtOnce(onAnotherOf: signals)
        var ending = Ending()
        let deadline = ending.deadline
        // The screen and the virtual terminal come first. A display in use must not be closed: the terminal's guard restores it after the
        // process has ended.
        let hasStopped = Monitor(false)
        ending.begin("the display") { [player, display] in
            let hasEnded = player.stopShowing(by: deadline)
            if zones.stopShowing(by: deadline), hasEnded { display.close() }
        }
        ending.begin("programs that are connected") { remote.close() }
        ending.begin("films of the shelf") { shelf.stop() }
        ending.begin("input devices") { interaction.stop() }
        ending.begin("the recording") { recording.close() }
        ending.begin("a file, a network or a sound card") { [player] in
            let hasEnded = [player.stop(by: deadline), zones.stop(by: deadline), sound.stop(by: deadline)]
            if !hasEnded.contains(false) { hasStopped.signal { $0 = true } }
        }
        StandardErrorLog.show(status: "")
        schedule.stop()
        interludes.stop()
        power.stop()
        overlays.stop()
        reload.stop()
        stickCopy.stop()
        cache?.stop()
        expansion.stop()
        // This includes a thumbnail that was just started.
        Thread.endIdling()
        let left = ending.wait()
        for line in reporter.itemSummaries + zones.summaries { log.info("\(line)") }
        log.info("ended: \(reporter.summary)")
        // A blocked thread would hang an orderly exit(3).
        if !left.isEmpty || !hasStopped.withLock({ $0 }) {
            let names = left.isEmpty ? "a file, a network or a sound card" : left.joined(separator: ", ")
            log.warning("ended without waiting any longer for \(names), which did not answer")
            StandardErrorLog.flush()
            _exit(0)
        }
        if isToRestart.withLock({ $0 }), !remote.isService { Self.restart(signals) }
    }

    /// Restarts the program in this process. Not for a service: systemd restarts that after its end, and only then with a socket for the
    /// watchdog.
    private static func restart(_ signals: SignalWait) {
        StandardErrorLog.flush()
        signals.end()
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        Logger(label: "kiosk").error("kiosk cannot restart: \(SystemError())")
    }

    /// Ends the process at once on another Ctrl-C or SIGTERM, whatever the end waits for; the virtual terminal's guard then restores it. A
    /// second SIGHUP does not count: when a terminal closes, both the kernel and the shell send one. Nor does a signal that follows at
    /// once, as timeout(1) signals the process and then its group.
    private static func endAtOnce(onAnotherOf signals: SignalWait) {
        let first = HostTime.now
        Thread("end-at-once") {
            while true {
                guard let signal = signals.wait(for: nil), signal != SIGHUP, HostTime.now - first > .milliseconds(500) else { continue }
                Logger(label: "kiosk").warning("ended at once, by a second signal")
                StandardErrorLog.flush()
                _exit(128 + signal)
            }
        }.detach()
    }
}

extension Logger.Level {
    /// Converts the configuration's log level.
    init(_ level: LogLevel) { self = Logger.Level(rawValue: level.rawValue) ?? .info }
}

extension DisplaySettings {
    /// Makes the display's settings of the configuration.
    init(_ configuration: Configuration) {
        let display = configuration.display
        self.init(
            connector: display.connector, mode: display.mode, rotation: display.rotation, background: display.background,
            physicalSize: display.physicalSize, picturePath: display.picturePath)
    }
}

extension PlaybackEngine.Options {
    /// Makes the player's options of the configuration.
    init(_ configuration: Configuration) {
        self.init()
        loop = configuration.playback.loop
        shuffles = configuration.playback.shuffles
        imageDuration = configuration.playback.imageDuration
        transition = configuration.playback.transition
        transitionDuration = configuration.playback.transitionDuration
        seekStep = configuration.playback.seekStep
        region = configuration.display.region
        decoderDevice = configuration.playback.decoderDevice
        playsWhileScrubbing = configuration.input.scrubPlays
        volume = Double(configuration.audio.volume) / 100
        isMuted = configuration.audio.isMuted
        audioSession = configuration.audio.session
        audioDelay = .milliseconds(Int64(configuration.audio.delays.least))
        subtitles = SubtitleStyle(
            font: configuration.theme.font, size: configuration.theme.subtitleSize, safeArea: configuration.display.safeArea,
            encoding: configuration.playback.subtitleEncoding)
        stream = configuration.network
        decoderThreads = min(4, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
    }
}

extension Configuration {
    /// The readers: separate processes, unless the configuration turns them off.
    var readers: Readers { playback.isolation == .off ? .inProcess : .shared }
}

extension AssetCache: AssetFiles {}

extension AssetCache {
    /// Makes the cache of the configuration; nil if it wants none, or there is no folder.
    convenience init?(_ configuration: Configuration, _ log: Logger) {
        guard let limit = configuration.playback.cache else { return nil }
        guard let folder = configuration.playback.cacheFolder ?? Self.defaultFolder else {
            log.warning("the cache keeps nothing: name a folder for it in [playback] cache-folder")
            return nil
        }
        self.init(folder: folder, limit: limit) { news in
            switch news {
            case .note(let note): log.info("\(note)")
            case .problem(let problem): log.warning("\(problem)")
            }
        }
    }
}

/// The end of the program: its steps, which run in parallel, and their time limit.
///
/// systemd kills a service that exceeds its TimeoutStopSec=, five seconds. So all steps together have ``budget``. A blocked disk, network
/// or driver takes no time from the others, and is left behind at the end.
struct Ending: ~Copyable {
    /// The time limit for all steps.
    static let budget = MediaTime.seconds(4)

    /// When the time limit ends.
    let deadline: HostTime
    private var steps: [(name: String, thread: Thread)] = []

    init(at time: HostTime = .now) { deadline = time + Self.budget }

    /// Starts a step on a thread of its own, or runs it here if the system has no thread left.
    mutating func begin(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread("end", body)
        if thread.cancel() { body() } else { steps.append((name, thread)) }
    }

    /// Waits for all steps; returns the names of those that have not ended by ``deadline``.
    func wait() -> [String] { steps.filter { !$0.thread.join(until: deadline) }.map(\.name) }
}
