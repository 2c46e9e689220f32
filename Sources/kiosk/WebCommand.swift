import ArgumentParser
import Glibc
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskReaders
import Logging

/// `kiosk web`: becomes `kiosk-web`, which serves the page.
struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Serve a page for browsers and an API for programs, or set their password.",
        usage: "kiosk web [<options>] | password [<options>] | token [<options>] [<name>]",
        discussion: """
            kiosk starts the program kiosk-web, which controls a running player over its socket: [web] in kiosk.conf. kiosk web --help \
            lists its options. kiosk web password sets the password, and kiosk web token makes tokens for programs. docs/web.md
            """)

    @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("Options of kiosk-web.", valueName: "options"))
    var words: [String] = []

    func run() throws {
        let folder = Folder.of(SmallFile.link("/proc/self/exe") ?? "/usr/bin/kiosk")
        let places = [folder + "/kiosk-web", Folder.of(folder) + "/lib/kiosk/kiosk-web"]
        guard let program = places.first(where: { access($0, X_OK) == 0 }) else {
            throw ValidationError("there is no kiosk-web in \(places.joined(separator: " or in ")): install the whole package")
        }
        let arguments = ([program] + words).map { strdup($0) } + [nil]
        execv(program, arguments)
        throw ValidationError("start \(program): \(SystemError())")
    }
}

/// `kiosk thumbnail FILE PNG`: kiosk-web has small pictures of its files made.
struct ThumbnailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail", abstract: "Write a small picture of a file, for kiosk-web.", shouldDisplay: false)

    @Argument var source: String
    @Argument var file: String

    func run() throws {
        startLog(.critical)
        guard let picture = Thumbnail.read(of: source, fitting: 320, 180)?.picture else { throw ExitCode(1) }
        let png = try Capture(picture).png(isUpright: false)
        guard AtomicFile.write(file, png, mode: 0o600, draft: "\(file).\(getpid())") == nil else { throw ExitCode(1) }
    }
}
