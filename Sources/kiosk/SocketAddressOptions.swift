import ArgumentParser
import Commands
import Configuration
import Glibc
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
        help: ArgumentHelp("Ask the player that listens on this socket.", valueName: "path"), completion: .file(),
        transform: Reading(expected: "an absolute path of at most 107 bytes") { text in
            if case .path(let path)? = ControlSocketChoice(text) { path } else { nil }
        }.callAsFunction)
    var socket: String?

    /// Where the player listens.
    ///
    /// A mistake in kiosk.conf is no reason not to ask: the player goes on with what it read before the mistake was made. The mistakes are what is wrong only
    /// if there is no player.
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

/// Where a player listens, and what is wrong with the file that says so.
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

    /// Why nobody answers here.
    func unanswered(_ error: ControlError) -> Unanswered { mistakes.map { Unanswered($0) } ?? Unanswered(error) }

    /// What to say beside an answer.
    func mentionMistakes() {
        if mistakes != nil { printError("\(file) has errors: kiosk check shows them. The player keeps the old settings") }
    }
}

/// Why a player that was asked has given no answer, or not what was asked for.
struct Unanswered: Error {
    /// For programs, such as `no-player`; what the player refuses has its codes (docs/remote.md).
    var code: String
    /// For people.
    var message: String
    /// The exit status.
    var status: Int32 = 1

    init(code: String, _ message: String, status: Int32 = 1) { (self.code, self.message, self.status) = (code, message, status) }

    /// Nobody listens, or no answer comes.
    init(_ error: ControlError) { self.init(code: "no-player", "\(error)") }

    /// kiosk.conf does not say where to ask.
    init(_ mistakes: ConfigurationError) {
        self.init(code: "invalid-configuration", mistakes.description, status: ConfigurationError.exitStatus)
    }

    /// Words that are no command.
    init(_ fault: ControlWordsFault) { self.init(code: "invalid-words", "\(fault)", status: 64) }

    /// Says it on standard error, or as a line of JSON on standard output for programs; what ends the command then.
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
