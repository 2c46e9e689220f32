import ArgumentParser
import Configuration
import KioskVocabulary
import Remote

/// Which player a subcommand asks.
struct SocketAddressOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Read this configuration file, for its [control] socket.", discussion: "Default: ./kiosk.conf, else /etc/kiosk/kiosk.conf.",
            valueName: "file"),
        completion: .file(extensions: ["conf"]))
    var config: String?

    @Option(
        help: ArgumentHelp("Ask the player that listens here.", valueName: "path"), completion: .file(),
        transform: value("an absolute path of at most 107 bytes") { text in
            if case .path(let path)? = ControlSocketChoice(text) { path } else { nil }
        })
    var socket: String?

    /// Where it listens.
    func path() throws -> String { try socket ?? (Settings.read(config) ?? Configuration()).control.socket.askingPath }
}
