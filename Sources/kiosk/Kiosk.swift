import ArgumentParser

/// The command: arguments, wiring, exit status.
@main struct Kiosk: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk",
        abstract: "Plays videos and images on a screen, without a desktop and without a gap, for ever.",
        discussion: """
            Without a subcommand it plays: the playlist of kiosk.conf, or the sources named on the command line. The file is looked for \
            as ./kiosk.conf and /etc/kiosk/kiosk.conf; the one that comes with kiosk is its manual.
            """,
        version: "0.1.0",
        subcommands: [Play.self, Check.self, Devices.self],
        defaultSubcommand: Play.self)
}
