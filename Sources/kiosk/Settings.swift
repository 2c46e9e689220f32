import ArgumentParser
import Glibc
import KioskAudioCore
import KioskConfiguration
import KioskDisplayCore
import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// The options of every subcommand: the configuration file, and the options that override it and matter to all of them.
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

    /// Returns the file's values, overridden by the command line's, including `overrides`.
    ///
    /// Without a file it returns the defaults, if the command line names something to play or `orDefaults` is set.
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

    /// Returns the named file, or the default one that exists; nil if there is none.
    static func file(_ config: String?) -> String? {
        let isHere = access("kiosk.conf", F_OK) == 0 && isOwn("kiosk.conf")
        // A file that this user cannot even look for exists: kiosk complains about it, and does not continue without it.
        let isInstalled = access(installedFile, F_OK) == 0 || errno == EACCES
        return config ?? (isHere ? "kiosk.conf" : isInstalled ? installedFile : nil)
    }

    /// Returns whether the file at `path` exists and is unreadable for this user.
    static func isUnreadable(_ path: String) -> Bool { access(path, R_OK) != 0 && errno == EACCES }

    /// Returns the values of the named or default file; nil if there is none.
    static func read(_ config: String?) throws -> Configuration? {
        guard let path = file(config) else { return nil }
        return try Configuration.load(path)
    }

    /// Returns whether kiosk may obey a file of the current folder. As root it obeys no other user's file, unless --config names it.
    private static func isOwn(_ path: String) -> Bool {
        if geteuid() != 0 { return true }
        guard let status = stat(at: path), status.st_uid != 0 || status.st_mode & (S_IWGRP | S_IWOTH) != 0 else { return true }
        printError("./\(path) is left out: not only root may write it; name it with --config to use it")
        return false
    }

    /// Returns the keys that `configuration` binds and its lock allows. Throws for a key name that evdev does not know, as for any other
    /// mistake in the file.
    func keyMap(_ configuration: Configuration) throws -> KeyMap {
        let unknown = configuration.input.bindings.compactMap { binding in
            binding.trigger.keys.allSatisfy { (try? KeyCode(named: $0)) != nil } ? nil : configuration.complaint(unknownKey: binding)
        }
        if !unknown.isEmpty { throw ConfigurationError(unknown) }
        // A default key that this kernel's headers lack is no mistake.
        let known = configuration.input.allowedBindings.filter { $0.trigger.keys.allSatisfy { (try? KeyCode(named: $0)) != nil } }
        return try KeyMap(bindings: known.map { ($0.trigger, $0.command) })
    }
}

extension InputReader.Options {
    /// Makes the input options of the configuration.
    init(_ configuration: Configuration) {
        let input = configuration.input
        // Including keys that a lock disables: a keyboard with no other keys would otherwise type into the console behind the picture.
        self.init(keys: Set(input.bindings.flatMap(\.trigger.keys).compactMap { try? KeyCode(named: $0) }))
        (grabs, usesTouch, lock) = (input.grabsDevices, input.usesTouch, input.lock)
        map = DisplayMap(input.map.map { ($0.device, $0.connector) })
    }
}

extension DisplayOutput {
    /// The connector of the display in use; nil while there is none.
    var connector: DisplayConnector? { mode?.name.split(separator: " ").first.flatMap { DisplayConnector(String($0)) } }
}

/// A parser of an option's text; it refuses invalid text with a message that names what was `expected`.
struct Reading<Value: Sendable>: Sendable {
    let expected: String
    /// Words for the shell's completion.
    var words: [String] = []
    let make: @Sendable (String) -> Value?

    fileprivate var completion: CompletionKind? { words.isEmpty ? nil : .list(words) }

    @Sendable func callAsFunction(_ text: String) throws -> Value {
        guard let value = make(text) else { throw ValidationError("expected \(expected)") }
        return value
    }
}

extension Reading {
    /// A case of an enumeration, by the name that `word` gives it.
    static func word(_ word: (Value) -> String) -> Self where Value: CaseIterable {
        let cases = Array(Value.allCases), words = cases.map(word)
        return Reading(expected: alternatives(words), words: words) { words.firstIndex(of: $0).map { cases[$0] } }
    }

    /// A text that is parsed as kiosk.conf's.
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
    /// An option with `help`, in which `value` names its value; nil if it is absent.
    init<Read>(
        _ help: String, value: String? = nil, discussion: String = "", parsing: SingleValueParsingStrategy = .next, _ reading: Reading<Read>
    ) where Value == Read? {
        self.init(
            parsing: parsing, help: ArgumentHelp(help, discussion: discussion, valueName: value), completion: reading.completion,
            transform: reading.callAsFunction)
    }

    /// Likewise, with a default.
    init(
        wrappedValue: Value, _ help: String, value: String? = nil, parsing: SingleValueParsingStrategy = .next, _ reading: Reading<Value>
    ) where Value: Sendable {
        self.init(
            wrappedValue: wrappedValue, parsing: parsing, help: ArgumentHelp(help, valueName: value), completion: reading.completion,
            transform: reading.callAsFunction)
    }
}

/// Writes to standard output like Swift's own, without passwords in URLs and without control sequences: names come from files, devices and
/// servers.
func print(_ text: String, terminator: String = "\n") { Swift.print(text.printableLines, terminator: terminator) }

/// Writes a line to standard error, likewise.
func printError(_ text: String) {
    var line = text.printableLines + "\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Sends the log of the process to standard error from `level` on, including the lines of the C libraries (at `debug`). Call once, at the
/// start, with all signals blocked that no thread may receive.
func startLog(_ level: Logger.Level) {
    StandardErrorLog.bootstrap(level: level)
    StartTrace.startLog()
    FFmpegLog.capture()
    ALSALog.capture()
    EvdevLog.capture()
}
