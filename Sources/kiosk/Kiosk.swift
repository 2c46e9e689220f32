import ArgumentParser
import Glibc
import KioskConfiguration
import KioskPlatform
import Remote
import RemoteClient

/// The command: arguments, wiring, exit status.
@main struct Kiosk: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk",
        abstract: "Play videos and images on a screen, without a desktop and without a gap, for ever.",
        usage: """
            kiosk [<options>] [<source> ...]
            kiosk <subcommand> [<options>] ...
            """,
        discussion: """
            Without a subcommand, kiosk plays the playlist of kiosk.conf, or the sources on the command line. It reads ./kiosk.conf, else \
            /etc/kiosk/kiosk.conf. The kiosk.conf that comes with kiosk explains every setting. Exit status: 0 after a request to end, 64 \
            for a mistake on the command line, 78 for one in kiosk.conf.
            """,
        version: kioskVersion,
        subcommands: [
            Play.self, Check.self, ScheduleCommand.self, Devices.self, DoctorCommand.self, Screenshot.self, Ctl.self, Status.self,
            Calibrate.self,
            ExportCommand.self, RecordCommand.self, ImportCommand.self, WebCommand.self, SchemaCommand.self, WantsSticks.self,
            ThumbnailCommand.self,
        ],
        defaultSubcommand: Play.self)

    static func main() {
        StartTrace.begin()
        do {
            if let slip = mistakenSubcommand(CommandLine.arguments.dropFirst()) { throw slip }
            var command = try parseAsRoot()
            do { try command.run() } catch let error as ValidationError {
                refuse(error)
                exit(error, of: command)
            }
        } catch let mistakes as ConfigurationError {
            printError(mistakes.description)
            Glibc.exit(ConfigurationError.exitStatus)
        } catch {
            if exitCode(for: error) == .success, let text = wholeHelp(fullMessage(for: error)) {
                Swift.print(text)
                Glibc.exit(0)
            }
            refuse(error)
            if let text = unknownOption(fullMessage(for: error), CommandLine.arguments.dropFirst()) {
                printError(text)
                Glibc.exit(exitCode(for: error).rawValue)
            }
            exit(withError: error)
        }
    }

    /// Returns the help of `kiosk`, including the arguments and options of `play`, its default subcommand; nil for any other text.
    /// ArgumentParser lists those only under `kiosk play --help`.
    private static func wholeHelp(_ text: String) -> String? {
        let playing = helpMessage(for: Play.self)
        guard text.contains("kiosk <subcommand> [<options>]"), let options = text.firstRange(of: "OPTIONS:\n"),
            let rest = text.firstRange(of: "SUBCOMMANDS:\n"), options.upperBound < rest.lowerBound,
            let theirs = playing.firstRange(of: "ARGUMENTS:\n")
        else { return nil }
        let section = playing[theirs.lowerBound...].replacing(/\n+$/, with: "")
        let subcommands = text[rest.lowerBound...].replacing(/\n+$/, with: "")
        return "\(text[..<options.lowerBound])\(section)\n\n\(subcommands)"
    }

    /// Ends with a mistake on the command line in JSON, if the command line has `--json`. Returns for other errors.
    private static func refuse(_ error: any Error) {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.prefix(while: { $0 != "--" }).contains("--json"), exitCode(for: error) == .validationFailure else { return }
        let text = message(for: error)
        // An error without a message has been printed already.
        if text.isEmpty { return }
        _ = Unanswered(code: "invalid-words", unknownOption(text, arguments) ?? text, status: 64).told(asJSON: true)
        Glibc.exit(64)
    }

    /// Returns the error for a first word that resembles a subcommand: kiosk would otherwise wait for a file of that name.
    private static func mistakenSubcommand(_ arguments: ArraySlice<String>) -> ValidationError? {
        let names = configuration.subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName } + ["help"]
        guard let first = arguments.first else { return nil }
        if first == "help" {
            guard let word = arguments.dropFirst().first, !word.hasPrefix("-"), !names.contains(word) else { return nil }
            let near = suggestion(for: word, among: names).map { "did you mean “\($0)”?" }
            return ValidationError("there is no subcommand “\(word)”; \(near ?? "there are \(names.joined(separator: ", "))")")
        }
        guard !names.contains(first), first.wholeMatch(of: /[A-Za-z]+/) != nil, access(first, F_OK) != 0,
            let near = suggestion(for: first, among: names)
        else { return nil }
        return ValidationError("there is no file “\(first)” and no such subcommand; did you mean “kiosk \(near)”?")
    }

    /// Returns the message about an unknown option, with kiosk's own suggestion; nil for other messages.
    private static func unknownOption(_ message: String, _ arguments: ArraySlice<String>) -> String? {
        guard let match = message.firstMatch(of: /Unknown option '(--[a-z-]+)'(?:\. Did you mean '.*'\?)?/) else { return nil }
        let command = configuration.subcommands.first { $0._commandName == arguments.first } ?? Play.self
        let options = helpMessage(for: command).matches(of: /--[a-z][a-z-]+/).map { String($0.output) }
        let near = suggestion(for: String(match.1.dropFirst(2)), among: options.map { String($0.dropFirst(2)) })
        var text = message
        text.replaceSubrange(match.range, with: "Unknown option '\(match.1)'\(near.map { ". Did you mean '--\($0)'?" } ?? "")")
        return text
    }

    /// Ends with a mistake on the command line that a command found while running, and with that command's usage. ArgumentParser would
    /// print the usage of `kiosk`.
    private static func exit(_ error: ValidationError, of command: some ParsableCommand) -> Never {
        let type = type(of: command)
        let text = type.fullMessage(for: error)
        let name = type._commandName
        printError(text.replacing("See '\(name) ", with: "See 'kiosk \(name) ").replacing("Usage: \(name) ", with: "Usage: kiosk \(name) "))
        exit(withError: type.exitCode(for: error))
    }
}

/// `kiosk wants-sticks`: kiosk-usb@.service runs it before it mounts a stick. Reads kiosk.conf as the player does, and prints nothing.
struct WantsSticks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wants-sticks",
        abstract: "Exit with 0 if kiosk.conf asks for USB sticks, else with 1: for kiosk-usb@.service.", shouldDisplay: false)

    @Option(help: ArgumentHelp("Read this configuration file.", valueName: "file"))
    var config: String?

    func run() throws {
        guard try Settings.read(config)?.wantsSticks ?? false else { throw ExitCode(1) }
    }
}

/// `kiosk schema`: the schema of kiosk.conf, for editors.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print a JSON Schema of kiosk.conf, for editors.",
        discussion: """
            With this schema an editor completes the keys of kiosk.conf, explains each key, and marks mistakes while you type. The schema is \
            the same for every kiosk.conf.
            """)

    func run() { Swift.print(Configuration.schema, terminator: "") }
}
