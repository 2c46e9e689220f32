import ArgumentParser
import Glibc
import KioskCommands
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import Remote
import RemoteClient

/// `kiosk ctl seek +10`: sends a command to a running player.
struct Ctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a command to a running player, and report the result: kiosk ctl seek +10.",
        usage: "kiosk ctl [--config <file>] [--socket <path>] [--json] <command> ...",
        discussion: """
            The commands: \(CommandTable.ofPrograms.map(\.name).joined(separator: ", ")); and watch, which shows events until you end \
            it. kiosk ctl help lists the commands, and kiosk ctl help seek explains one. Exit status: 0 once the player has carried out \
            the command, else 1; 64 for words that are no command.
            """)

    @OptionGroup var address: SocketAddressOptions

    @Flag(help: "Print the answer as a line of JSON.")
    var json = false

    @Argument(
        parsing: .captureForPassthrough, help: ArgumentHelp("The command and its values.", valueName: "command"),
        completion: .custom { words, _, _ in
            let words = words.drop { $0 != "ctl" }.dropFirst().dropLast().filter { $0 != "--json" }
            if words.first == "watch" { return CommandTable.completions(after: ["observe"] + words.dropFirst()) }
            return CommandTable.completions(after: Array(words)) + (words.isEmpty ? ["watch"] : [])
        })
    var words: [String] = []

    func run() throws {
        var words = words
        if ["--help", "-h"].contains(words.first) { throw CleanExit.helpRequest(self) }
        if words.first == "help" {
            guard let text = ControlReference.help(Array(words.dropFirst())) else {
                throw Unanswered(code: "invalid-words", "there is no such command; kiosk ctl help lists the commands", status: 64).told(
                    asJSON: false)
            }
            return print(text)
        }
        let isJSON = json || words.last == "--json"
        if !json, isJSON { words.removeLast() }
        do throws(Unanswered) { try carryOut(words, isJSON: isJSON) } catch { throw error.told(asJSON: isJSON) }
    }

    private func carryOut(_ words: [String], isJSON: Bool) throws(Unanswered) {
        let place = try address.place()
        if words.first == "watch" { return try watch(place, Array(words.dropFirst())) }
        let line = try Self.line(words)
        var answer = try place.answer(to: line)
        if words.first == "record", words.dropFirst().first != "status" { answer = try Self.settled(answer, place) }
        place.mentionMistakes()
        if isJSON {
            Swift.print(answer.line)
        } else if let asked = try? ControlRequest(line: line) {
            let text = AnswerPage.text(asked.request, answer)
            if !text.isEmpty { print(text) }
        }
    }

    /// Returns the request for the words.
    private static func line(_ words: [String]) throws(Unanswered) -> String {
        do throws(ControlWordsFault) {
            return try ControlRequest.line(words: words) { PlaylistSource($0, relativeTo: workingFolder).location }
        } catch { throw Unanswered(error) }
    }

    /// Waits for the result of a recording command, because devices are opened, and films finished, after the answer. Returns the state
    /// then; throws if the recording could not start.
    private static func settled(_ first: JSONValue, _ place: ControlPlace) throws(Unanswered) -> JSONValue {
        var (answer, hasOpened) = (first, false)
        let deadline = HostTime.now + .seconds(20)
        while let state = answer["state"]?.text, state == "opening" || state == "finishing", .now < deadline {
            hasOpened = hasOpened || state == "opening"
            _ = poll(nil, 0, 100)
            answer = try place.answer(to: line(["record", "status"]))
        }
        guard hasOpened, answer["state"]?.text == "idle", let failure = answer["failure"]?.text else { return answer }
        throw Unanswered(code: "not-recorded", failure)
    }

    private func watch(_ place: ControlPlace, _ topics: [String]) throws(Unanswered) {
        let line = try Self.line(["observe"] + topics)
        do throws(ControlError) {
            try ControlClient.watch(place.path, line) { line in
                Swift.print(line)
                fflush(nil)
                return true
            }
        } catch { throw place.unanswered(error) }
    }
}

/// `kiosk status`: prints the state of a running player.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Report the state of a running player.",
        discussion: "kiosk asks the player on its control socket. Exit status: 0 if a player answers, else 1.")

    @OptionGroup var address: SocketAddressOptions

    @Flag(help: "Print the answer as a line of JSON.")
    var json = false

    func run() throws {
        do throws(Unanswered) {
            let place = try address.place()
            let answer = try place.answer(to: JSONValue.object(["command": .string("status")]).line)
            place.mentionMistakes()
            if json { Swift.print(answer.line) } else { print(AnswerPage.text(.status, answer)) }
        } catch { throw error.told(asJSON: json) }
    }
}
