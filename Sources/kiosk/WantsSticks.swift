import ArgumentParser
import Configuration

/// `kiosk wants-sticks`: what kiosk-usb@.service asks before it mounts one. Reads kiosk.conf as the player does, and prints nothing.
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
