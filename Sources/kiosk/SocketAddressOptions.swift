import ArgumentParser
import Glibc
import KioskCommands
import KioskConfiguration
import KioskVocabulary
import Remote
import RemoteClient

/// The options that select the player for a subcommand.
struct SocketAddressOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Read this configuration file, for its [control] socket.", discussion: "Default: ./kiosk.conf, else /etc/kiosk/kiosk.conf.",
            valueName: "file"),
        completion: .file(extensions: ["conf"]))
    var config: String?

    @Option(
        help: ArgumentHelp("Ask the player that listens on this socket.", valueName: "path"), completion: .file(),
        transform: Reading(expected: "an absolute path of at most 107 bytes") { text in
            if case .path(let path)? = ControlSocketChoice(text) { path } else { nil }
        }.callAsFunction)
    var socket: String?

    /// Returns where the player listens.
    ///
    /// kiosk asks even if kiosk.conf has mistakes: the player continues with the file that it read before. The mistakes become the error
    /// only if there is no player.
    func place() throws(Unanswered) -> ControlPlace {
        guard socket == nil, let file = Settings.file(config) else {
            return ControlPlace(path: socket ?? ControlSocketChoice.automatic.askingPath)
        }
        do throws(ConfigurationError) {
            return ControlPlace(path: try Configuration.load(file).control.socket.askingPath)
        } catch {
            guard access(file, R_OK) == 0 else { throw Unanswered(error) }
            return ControlPlace(path: Configuration.controlSocket(inDamaged: file).askingPath, file: file, mistakes: error)
        }
    }
}

/// The socket of a player, and the mistakes in the file that names it.
struct ControlPlace {
    var path: String
    var file = ""
    var mistakes: ConfigurationError?

    func answer(to line: String) throws(Unanswered) -> JSONValue {
        let answer: JSONValue
        do throws(ControlError) { answer = try ControlClient.answer(path, to: line) } catch { throw unanswered(error) }
        if answer["ok"] == .bool(true) { return answer }
        throw Unanswered(code: answer["error"]?["code"]?.text ?? "refused", answer["error"]?["message"]?.text ?? answer.line)
    }

    /// Returns the error if nobody answers here.
    func unanswered(_ error: ControlError) -> Unanswered { mistakes.map { Unanswered($0) } ?? Unanswered(error) }

    /// Prints a note about the mistakes, in addition to an answer.
    func mentionMistakes() {
        if mistakes != nil { printError("\(file) has errors: kiosk check shows them. The player keeps the old settings") }
    }
}

/// Why a player gave no answer, or a refusal.
struct Unanswered: Error {
    /// A code for programs, such as `no-player`; a refusal has the player's code (docs/remote.md).
    var code: String
    /// A message for people.
    var message: String
    /// The exit status.
    var status: Int32 = 1

    init(code: String, _ message: String, status: Int32 = 1) { (self.code, self.message, self.status) = (code, message, status) }

    /// Nobody listens, or no answer arrives.
    init(_ error: ControlError) { self.init(code: "no-player", "\(error)") }

    /// kiosk.conf does not tell the socket.
    init(_ mistakes: ConfigurationError) {
        self.init(code: "invalid-configuration", mistakes.description, status: ConfigurationError.exitStatus)
    }

    /// The words are no command.
    init(_ fault: ControlWordsFault) { self.init(code: "invalid-words", "\(fault)", status: 64) }

    /// Prints it on standard error, or as a line of JSON on standard output for programs; returns the error that ends the command.
    func told(asJSON: Bool) -> any Error {
        if asJSON {
            let error = JSONValue.object(["code": code.json, "message": message.json])
            Swift.print(JSONValue.object(["ok": .bool(false), "error": error]).line)
        } else if status == 64 {
            return ValidationError(message)
        } else {
            printError(message)
        }
        return ExitCode(status)
    }
}
