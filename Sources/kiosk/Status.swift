import ArgumentParser
import Commands
import KioskPlatform
import Remote

/// `kiosk status`: what a running player does.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell what a running player does.",
        discussion: "Asks the player by its control socket. The exit status is 0 when there is one that answers, else 1.")

    @OptionGroup var address: SocketAddressOptions

    @Flag(help: "Print it as a line of JSON.")
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
