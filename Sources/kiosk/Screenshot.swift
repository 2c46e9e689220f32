import ArgumentParser
import Configuration
import Display
import Glibc
import Platform
import Remote
import Vocabulary

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

    @Argument(help: "The PNG file to write.", completion: .file(extensions: ["png"]))
    var file: String

    func run() throws {
        let path = try socket ?? (Settings.read(config) ?? Configuration()).control.socket.askingPath
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

/// What is on the display, for who asked. It is copied at once, and made a PNG of by a thread that gives way to all others.
func screenshot(of display: DisplayOutput) throws(ControlRefusal) -> ControlAnswer {
    let png: Result<[UInt8], SnapshotError>
    do throws(SnapshotError) {
        let capture = try display.capture()
        let made = Monitor<Result<[UInt8], SnapshotError>?>(nil)
        Thread("screenshot") {
            Thread.giveWay()
            let result = Result { () throws(SnapshotError) in try capture.png(isUpright: true) }
            made.signal { $0 = result }
        }.detach()
        png = made.wait(until: .now + .seconds(8)) { $0 } ?? .failure(.encoder("the machine is too busy"))
    } catch {
        png = .failure(error)
    }
    switch png {
    case .success(let bytes): return ControlAnswer(["format": .string("png")], attachment: bytes)
    case .failure(let error):
        let code = if case .noDisplay = error { "no-display" } else { "no-picture" }
        throw ControlRefusal(code: code, message: "\(error)")
    }
}
