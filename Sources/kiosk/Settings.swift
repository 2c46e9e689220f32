import ArgumentParser
import Configuration
import Display
import Glibc
import Input
import Media
import Playback

/// What every subcommand reads: the configuration file, and the options that beat it.
struct Settings: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Read this configuration file.", discussion: "Default: ./kiosk.conf, else /etc/kiosk/kiosk.conf.", valueName: "file"),
        completion: .file(extensions: ["conf"]))
    var config: String?

    @Option(help: ArgumentHelp("Show on this output: auto, HDMI-A-1, card1:HDMI-A-1, /dev/fb0 or offscreen.", valueName: "connector"))
    var display: DisplayConnector?

    @Option(help: ArgumentHelp("Drive it in this mode: preferred, 1920x1080 or 1920x1080@50.", valueName: "mode"))
    var mode: DisplayModeChoice?

    @Option(help: "Turn the picture clockwise by so many degrees: 0, 90, 180 or 270.")
    var rotation: Rotation?

    @Option(help: "Fit pictures of another shape: fit, fill or stretch.")
    var gravity: VideoGravity?

    @Option(help: ArgumentHelp("The colour of bars and of an empty screen.", valueName: "#rrggbb"))
    var background: Color?

    @Option(help: ArgumentHelp("Play sound to this ALSA device, or auto, or off.", valueName: "device"))
    var audio: AudioDevice?

    @Option(help: ArgumentHelp("Loudness, 0 to 100.", valueName: "percent"))
    var volume: Int?

    @Flag(inversion: .prefixedNo, help: "Start without sound.")
    var muted: Bool?

    @Option(help: "Loop the playlist, the item, or nothing: playlist, item or off.")
    var loop: LoopMode?

    @Option(help: ArgumentHelp("Log no less important than: trace, debug, info, notice, warning, error or critical.", valueName: "level"))
    var logLevel: LogLevel?

    func validate() throws {
        if let volume, !(0...100).contains(volume) { throw ValidationError("--volume: expected 0 to 100, found \(volume)") }
    }

    /// The file's values with the command line's on top.
    ///
    /// Without a file anywhere it is the defaults, provided that there is something to play on the command line or `orDefaults` is set.
    func load(sources: [String] = [], orDefaults: Bool = false) throws -> Configuration {
        var overrides = ConfigurationOverrides()
        (overrides.connector, overrides.mode, overrides.gravity, overrides.rotation) = (display, mode, gravity, rotation)
        (overrides.background, overrides.audioDevice, overrides.volume, overrides.isMuted) = (background, audio, volume, muted)
        (overrides.loop, overrides.logLevel, overrides.sources) = (loop, logLevel, sources)

        var configuration = Configuration()
        if let path = config ?? ["kiosk.conf", "/etc/kiosk/kiosk.conf"].first(where: { access($0, F_OK) == 0 }) {
            do throws(ConfigurationError) {
                configuration = try Configuration.load(path)
            } catch {
                throw complain(error)
            }
        } else if sources.isEmpty, !orDefaults {
            throw ValidationError("there is no kiosk.conf here or in /etc/kiosk: name what to play, or a file with --config")
        }
        configuration.apply(overrides)
        return configuration
    }

    /// The keys that `configuration` binds; a key name that evdev does not know is a mistake in the file like any other.
    func keyMap(_ configuration: Configuration) throws -> KeyMap {
        var unknown: [Complaint] = []
        var bindings: [(keyName: String, command: Command?)] = []
        for binding in configuration.input.bindings {
            if (try? KeyCode(named: binding.name)) != nil {
                bindings.append((binding.name, binding.command))
            } else if let complaint = configuration.complaint(unknownKey: binding) {
                unknown.append(complaint)
            }
        }
        if !unknown.isEmpty { throw complain(ConfigurationError(unknown)) }
        return try KeyMap(bindings: bindings)
    }

    private func complain(_ error: ConfigurationError) -> ExitCode {
        printError(error.description)
        return ExitCode(ConfigurationError.exitStatus)
    }
}

/// Writes a line to standard error.
func printError(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

extension DisplayConnector: ExpressibleByArgument {}
extension DisplayModeChoice: ExpressibleByArgument {}
extension Color: ExpressibleByArgument {}
extension AudioDevice: ExpressibleByArgument {}
extension VideoGravity: ExpressibleByArgument {}
extension LoopMode: ExpressibleByArgument {}
extension LogLevel: ExpressibleByArgument {}
extension Rotation: ExpressibleByArgument {}

extension DisplaySettings {
    /// What the configuration says about the display.
    init(_ display: Configuration.Display) {
        self.init()
        switch display.connector {
        case .automatic: break
        case .named(let name, let card): connector = .named(name, card: card)
        case .framebuffer(let path): (driver, framebufferPath) = (.framebuffer, path)
        case .offscreen: driver = .offscreen
        }
        if case .size(let width, let height, let refresh) = display.mode { mode = .size(width: width, height: height, refresh: refresh) }
        rotation = display.rotation
        background = UInt32(display.background.red) << 16 | UInt32(display.background.green) << 8 | UInt32(display.background.blue)
    }
}
