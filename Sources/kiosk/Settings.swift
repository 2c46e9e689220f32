import ArgumentParser
import Configuration
import Glibc
import KioskAudioCore
import KioskDisplayCore
import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// What every subcommand reads: the configuration file, and the options that beat it and matter to each of them.
struct Settings: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Read this configuration file.", discussion: "Default: ./kiosk.conf, else /etc/kiosk/kiosk.conf.", valueName: "file"),
        completion: .file(extensions: ["conf"]))
    var config: String?

    @Option(
        "Show on this output: auto, HDMI-A-1, card1:HDMI-A-1, /dev/fb0 or offscreen.", value: "connector",
        .text("auto, a connector such as HDMI-A-1 or card1:HDMI-A-1, /dev/fb0 or offscreen", words: ["auto", "offscreen"]))
    var display: DisplayConnector?

    @Option(
        "Mode of the display: preferred, 1920x1080 or 1920x1080@50.", value: "mode",
        .text("preferred, 1920x1080 or 1920x1080@50", words: ["preferred"]))
    var mode: DisplayModeChoice?

    @Option(
        "Play sound to this ALSA device, or auto, or off.", value: "device",
        .text("auto, an ALSA device such as hw:0,0 or off", words: ["auto", "off"]))
    var audio: AudioDevice?

    /// The file's values with the command line's on top, those of `overrides` among them.
    ///
    /// Without a file anywhere it is the defaults, provided that there is something to play on the command line or `orDefaults` is set.
    func load(
        _ overrides: [ConfigurationOverride] = [], sources: [String] = [], orDefaults: Bool = false
    ) throws
        -> Configuration
    {
        guard var configuration = try Self.read(config) ?? (sources.isEmpty && !orDefaults ? nil : Configuration()) else {
            throw ValidationError("there is no kiosk.conf here or in /etc/kiosk: name sources, or a file with --config")
        }
        configuration.apply(
            [
                .init(\.sources, sources.isEmpty ? nil : sources), .init(\.display.connector, display), .init(\.display.mode, mode),
                .init(\.audio.device, audio),
            ] + overrides)
        return configuration
    }

    /// The file of the service.
    static let installedFile = "/etc/kiosk/kiosk.conf"

    /// The file that is named, or the one that is there; nil if there is none.
    static func file(_ config: String?) -> String? {
        let isHere = access("kiosk.conf", F_OK) == 0 && isOwn("kiosk.conf")
        // What this user may not even look for is there: it is complained about, and never taken for no file at all.
        let isInstalled = access(installedFile, F_OK) == 0 || errno == EACCES
        return config ?? (isHere ? "kiosk.conf" : isInstalled ? installedFile : nil)
    }

    /// Whether the file at `path` is there and this user may not read it.
    static func isUnreadable(_ path: String) -> Bool { access(path, R_OK) != 0 && errno == EACCES }

    /// The file's values, of the one named or of the one that is there; nil where there is none.
    static func read(_ config: String?) throws -> Configuration? {
        guard let path = file(config) else { return nil }
        return try Configuration.load(path)
    }

    /// Whether a file of the present folder may say what is done. Root does nothing that somebody else's file says, unless --config names it.
    private static func isOwn(_ path: String) -> Bool {
        if geteuid() != 0 { return true }
        guard let status = stat(at: path), status.st_uid != 0 || status.st_mode & (S_IWGRP | S_IWOTH) != 0 else { return true }
        printError("./\(path) is left out: not only root may write it; name it with --config to use it")
        return false
    }

    /// The keys that `configuration` binds and its lock allows; a key name that evdev does not know is a mistake in the file like any
    /// other.
    func keyMap(_ configuration: Configuration) throws -> KeyMap {
        let unknown = configuration.input.bindings.compactMap { binding in
            binding.trigger.keys.allSatisfy { (try? KeyCode(named: $0)) != nil } ? nil : configuration.complaint(unknownKey: binding)
        }
        if !unknown.isEmpty { throw ConfigurationError(unknown) }
        // A default that this kernel's headers do not have is no mistake.
        let known = configuration.input.allowedBindings.filter { $0.trigger.keys.allSatisfy { (try? KeyCode(named: $0)) != nil } }
        return try KeyMap(bindings: known.map { ($0.trigger, $0.command) })
    }
}

extension InputReader.Options {
    /// What the configuration says about the devices.
    init(_ configuration: Configuration) {
        let input = configuration.input
        // Those that a lock keeps from acting, too: a keyboard that has nothing else would otherwise type into what lies behind the
        // picture.
        self.init(keys: Set(input.bindings.flatMap(\.trigger.keys).compactMap { try? KeyCode(named: $0) }))
        (grabs, usesTouch, lock) = (input.grabsDevices, input.usesTouch, input.lock)
        map = DisplayMap(input.map.map { ($0.device, $0.connector) })
    }
}

extension DisplayOutput {
    /// The connector of the display in use; nil while there is none.
    var connector: DisplayConnector? { mode?.name.split(separator: " ").first.flatMap { DisplayConnector(String($0)) } }
}

/// How the text of an option is read: with `make`, and what that does not understand is refused with what was `expected`.
struct Reading<Value: Sendable>: Sendable {
    let expected: String
    /// Words that a shell completes.
    var words: [String] = []
    let make: @Sendable (String) -> Value?

    fileprivate var completion: CompletionKind? { words.isEmpty ? nil : .list(words) }

    @Sendable func callAsFunction(_ text: String) throws -> Value {
        guard let value = make(text) else { throw ValidationError("expected \(expected)") }
        return value
    }
}

extension Reading {
    /// One of the words of an enumeration, by what `word` calls them.
    static func word(_ word: (Value) -> String) -> Self where Value: CaseIterable {
        let cases = Array(Value.allCases), words = cases.map(word)
        return Reading(expected: alternatives(words), words: words) { words.firstIndex(of: $0).map { cases[$0] } }
    }

    /// What is made of a text as kiosk.conf makes it.
    static func text(_ expected: String, words: [String] = []) -> Self where Value: LosslessStringConvertible {
        Reading(expected: expected, words: words) { Value($0) }
    }

    static func number(_ expected: String, in range: ClosedRange<Value>) -> Self where Value: LosslessStringConvertible & Comparable {
        Reading(expected: expected) { Value($0).flatMap { range ~= $0 ? $0 : nil } }
    }

    static func whole(_ range: ClosedRange<Int>) -> Self where Value == Int {
        number("a whole number from \(range.lowerBound) to \(range.upperBound)", in: range)
    }

    static func rotation() -> Self where Value == Rotation { word { "\($0.rawValue)" } }
    static func color() -> Self where Value == Color { text("# and six hexadecimal digits, such as #00ff80") }
}

extension Option {
    /// An option with `help`, whose value is called so there; nil where it is not given.
    init<Read>(
        _ help: String, value: String? = nil, discussion: String = "", parsing: SingleValueParsingStrategy = .next, _ reading: Reading<Read>
    ) where Value == Read? {
        self.init(
            parsing: parsing, help: ArgumentHelp(help, discussion: discussion, valueName: value), completion: reading.completion,
            transform: reading.callAsFunction)
    }

    /// The same with a default.
    init(
        wrappedValue: Value, _ help: String, value: String? = nil, parsing: SingleValueParsingStrategy = .next, _ reading: Reading<Value>
    ) where Value: Sendable {
        self.init(
            wrappedValue: wrappedValue, parsing: parsing, help: ArgumentHelp(help, valueName: value), completion: reading.completion,
            transform: reading.callAsFunction)
    }
}

/// Writes to standard output as Swift's own does, without the passwords of URLs and without what would do something to a terminal: names come from
/// files, devices and servers.
func print(_ text: String, terminator: String = "\n") { Swift.print(text.printableLines, terminator: terminator) }

/// Writes a line to standard error, likewise.
func printError(_ text: String) {
    var line = text.printableLines + "\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Has the log of the process written to standard error from `level` on, the lines of the C libraries (at `debug`) with it. Call once, at
/// the start, with the signals blocked that no thread may receive.
func startLog(_ level: Logger.Level) {
    StandardErrorLog.bootstrap(level: level)
    StartTrace.startLog()
    FFmpegLog.capture()
    ALSALog.capture()
    EvdevLog.capture()
}
