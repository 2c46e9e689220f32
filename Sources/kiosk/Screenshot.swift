import ArgumentParser
import Configuration
import Glibc
import KioskDisplay
import KioskPlatform
import KioskVocabulary
import Remote

/// `kiosk screenshot FILE`: what a running player shows.
struct Screenshot: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write what a running player shows to a PNG file.",
        usage: "kiosk screenshot [<options>] <file>",
        discussion: """
            The picture and what lies over it, as a viewer of the display sees them: where that is turned, the picture is upright. It is \
            asked for by the player's control socket, which the user and the group that it runs as may use. The exit status is 0 when the \
            file is written, else 1, and nothing is left of it.
            """)

    @OptionGroup var address: SocketAddressOptions

    @Argument(help: "The PNG file to write.", completion: .file(extensions: ["png"]))
    var file: String

    func run() throws {
        let path = try address.path()
        do throws(ControlError) {
            try write(ControlClient.screenshot(path))
        } catch {
            printError("\(error)")
            throw ExitCode(1)
        }
    }

    /// Puts the file there at once, when all of it is written.
    private func write(_ png: [UInt8]) throws(ControlError) {
        let draft = "\(file).\(getpid())"
        guard let stream = fopen(draft, "wxe") else { throw ControlError("write \(file)", code: errno) }
        let written = fwrite(png, 1, png.count, stream)
        let isWhole = fflush(stream) == 0 && written == png.count
        let code = errno
        fclose(stream)
        if isWhole, rename(draft, file) == 0 { return }
        let failure = isWhole ? errno : code
        unlink(draft)
        throw ControlError("write \(file)", code: failure)
    }
}
