import ArgumentParser
import KioskPlatform
import Remote

/// The command: arguments, wiring, exit status.
@main struct Kiosk: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk",
        abstract: "Plays videos and images on a screen, without a desktop and without a gap, for ever.",
        usage: """
            kiosk [<options>] [<source> ...]
            kiosk <subcommand> [<options>] ...
            """,
        discussion: """
            Without a subcommand it plays: the playlist of kiosk.conf, or the sources named on the command line. The file is looked for \
            as ./kiosk.conf and /etc/kiosk/kiosk.conf; the one that comes with kiosk is its manual. Exit status: 0 when it was told to \
            end, 64 for a mistake on the command line, 78 for one in kiosk.conf.
            """,
        version: kioskVersion,
        subcommands: [
            Play.self, Check.self, Devices.self, DoctorCommand.self, Screenshot.self, Ctl.self, Status.self, Calibrate.self,
            ExportCommand.self, RecordCommand.self, WantsSticks.self,
        ],
        defaultSubcommand: Play.self)

    static func main() {
        StartTrace.begin()
        do {
            var command = try parseAsRoot()
            do { try command.run() } catch let error as ValidationError { exit(error, of: command) }
        } catch { exit(withError: error) }
    }

    /// Ends with what is wrong with a command line, which showed only when the command ran, and with the usage of that command: ArgumentParser would
    /// write the one of `kiosk`.
    private static func exit(_ error: ValidationError, of command: some ParsableCommand) -> Never {
        let type = type(of: command)
        let text = type.fullMessage(for: error)
        let name = type._commandName
        printError(text.replacing("See '\(name) ", with: "See 'kiosk \(name) ").replacing("Usage: \(name) ", with: "Usage: kiosk \(name) "))
        exit(withError: type.exitCode(for: error))
    }
}
