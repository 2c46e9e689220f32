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
            ExportCommand.self, RecordCommand.self,
        ],
        defaultSubcommand: Play.self)

    static func main() {
        StartTrace.begin()
        main(nil)
    }
}
