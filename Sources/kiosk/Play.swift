import ArgumentParser
import Audio
import CPlatform
import Configuration
import Display
import Glibc
import Input
import Logging
import Platform
import Playback

/// `kiosk [SOURCE…]`: plays until it is told to stop.
struct Play: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Play the playlist, or the sources named here. This is what kiosk does without a subcommand.",
        discussion: """
            Ends on SIGINT (Ctrl-C), SIGTERM and SIGHUP, and on the quit key where `[input] allow-quit` is set; restores what was on the \
            screen. Nothing that goes wrong while it plays ends it: bad items are left out, and it waits for a missing display or sound card.
            """)

    @OptionGroup var settings: Settings

    @Option(help: ArgumentHelp("Play at this speed, 0.5 to 2, the pitch kept.", valueName: "factor"))
    var rate = 1.0

    @Flag(help: "Where there is no display at all, play offscreen, with a live status line and a PNG of every item.")
    var preview = false

    @Option(
        help: ArgumentHelp(
            "Where the PNGs of an offscreen display go.", discussion: "Default: a folder of its own in $TMPDIR.", valueName: "folder"),
        completion: .directory)
    var snapshots: String?

    @Argument(
        help: ArgumentHelp("Files, folders, .m3u lists or URLs to play instead of the file's playlist.", valueName: "source"),
        completion: .file())
    var sources: [String] = []

    func validate() throws {
        if !(0.5...2).contains(rate) { throw ValidationError("--rate: expected 0.5 to 2, found \(rate)") }
    }

    func run() throws {
        kiosk_tune_malloc()
        let configuration = try settings.load(sources: sources)
        let keyMap = try settings.keyMap(configuration)
        // Before any thread exists, so that all of them inherit it: the signals are for the main thread alone.
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP])
        StandardErrorLog.bootstrap(level: Logger.Level(rawValue: configuration.log.level.rawValue) ?? .info)
        let log = Logger(label: "kiosk")

        let (items, problems) = configuration.expandPlaylist()
        for problem in problems { log.warning("\(problem)") }
        if items.isEmpty { log.warning("there is nothing to play: the background is shown; add a [[playlist]] to kiosk.conf") }

        var displaySettings = DisplaySettings(configuration.display)
        displaySettings.offscreenWhenAbsent = preview
        let display = DisplayOutput.open(displaySettings)
        let audio = configuration.audio.device.makeOutput()

        let player = Player(items: items, options: Player.Options(configuration), video: display, audio: audio)
        player.rate = rate
        let reporter = Reporter(items: items, player: player, display: display, snapshotFolder: snapshots)
        player.addObserver { event in
            reporter.report(event)
            if event == .quitRequested { signals.raise(SIGTERM) }
        }
        player.start()

        let input = InputReader(
            keyMap: keyMap, rotation: configuration.display.rotation, grabs: configuration.input.grabsDevices,
            usesTouch: configuration.input.usesTouch)
        input.start { [player] command, _ in player.perform(command) }

        // The status line is for a person who looks at a terminal and not at a display.
        let showsStatus = display.isOffscreen && isatty(STDERR_FILENO) != 0
        var signal: Int32?
        repeat {
            signal = signals.wait(for: showsStatus ? .milliseconds(200) : nil)
            if showsStatus { StandardErrorLog.show(status: reporter.statusLine) }
        } while signal == nil

        StandardErrorLog.show(status: "")
        input.stop()
        player.stop()
        display.close()
        log.info("ended: \(reporter.summary)")
    }
}

extension Player.Options {
    /// What the configuration says about playing.
    init(_ configuration: Configuration) {
        self.init()
        loop = configuration.playback.loop
        imageDuration = configuration.playback.imageDuration
        seekStep = configuration.playback.seekStep
        volume = Double(configuration.audio.volume) / 100
        isMuted = configuration.audio.isMuted
        allowsQuit = configuration.input.allowsQuit
        decoderThreads = min(4, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
    }
}
