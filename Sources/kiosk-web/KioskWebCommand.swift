import ArgumentParser
import CKioskPlatform
import Cache
import Glibc
import KioskCommands
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import KioskWeb
import Logging
import RemoteClient

/// `kiosk-web`: the page and the API of a player.
@main struct KioskWebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk web",
        abstract: "Serve the page and the API of a running player.",
        discussion: """
            The program talks to the player on its control socket, and to browsers and programs over HTTP. [web] in kiosk.conf has its \
            settings. Exit status: 0 after a request to end, 64 for a mistake on the command line, 78 for one in kiosk.conf, else 1.
            """,
        subcommands: [Serve.self, SetPassword.self, MakeToken.self, Fetch.self],
        defaultSubcommand: Serve.self)

    static func main() {
        kiosk_tune_malloc()
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let mistakes as ConfigurationError {
            printError(mistakes.description)
            Glibc.exit(ConfigurationError.exitStatus)
        } catch let error as WebError {
            printError(error.description)
            Glibc.exit(1)
        } catch { exit(withError: error) }
    }
}

/// The option that all of them have.
struct ConfigurationOption: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Read this configuration file.", discussion: "Default: ./kiosk.conf, else /etc/kiosk/kiosk.conf.", valueName: "file"))
    var config: String?

    /// The path of the file; nil if there is none.
    var path: String? {
        let installed = "/etc/kiosk/kiosk.conf"
        // As root nobody else's file of the current folder counts.
        let isHere = stat(at: "kiosk.conf").map { geteuid() != 0 || $0.st_uid == 0 } ?? false
        return config ?? (isHere ? "kiosk.conf" : access(installed, F_OK) == 0 ? installed : nil)
    }

    func load() throws(ConfigurationError) -> Configuration { try path.map(Configuration.load) ?? Configuration() }
}

/// `kiosk web`: serves until it is asked to end.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serve the page and the API, until a request to end.")

    @OptionGroup var file: ConfigurationOption

    @Option(help: ArgumentHelp("Listen here, whatever [web] listen says: an address and a port.", valueName: "address"))
    var listen: String?

    @Option(help: ArgumentHelp("Ask the player that listens on this socket.", valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("Serve the files of this folder as the page, for work on it.", valueName: "folder", visibility: .hidden))
    var page: String?

    func run() throws {
        let configuration = try file.load()
        let address: WebAddress
        if let listen {
            guard let given = WebAddress(listen) else {
                throw ValidationError("--listen needs an address and a port, such as 127.0.0.1:8080")
            }
            address = given
        } else {
            address = configuration.web.listen
        }
        guard let listen = ListenAddress(address) else {
            printError("[web] listen is off: set it in kiosk.conf, or try kiosk web --listen 127.0.0.1:8080")
            throw ExitCode(ConfigurationError.exitStatus)
        }
        let settings = WebSettings(
            listen: listen, configuration: configuration, file: file.path.map(absolute),
            socket: socket ?? configuration.control.socket.askingPath, page: page)
        // Before there is a thread: all of them inherit it.
        let signals = SignalWait([SIGTERM, SIGINT, SIGHUP])
        StandardErrorLog.bootstrap(level: .info)
        let server = try WebServer.open(settings)
        Logger(label: "web").notice("\(server.url)")
        let serving = Thread("web accept") { server.run() }
        while signals.wait(for: nil) == nil {}
        server.stop()
        _ = serving.join(until: .now + .seconds(3))
    }

    private func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : workingFolder + "/" + path }
}

/// `kiosk web password`: sets the password.
struct SetPassword: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password", abstract: "Set the password of the page.",
        discussion: """
            At a terminal the program asks for it twice; else it reads a line of standard input. It writes a hash into the file of [web] \
            password-file, which only its owner may write and its group read. All browsers have to sign in again.
            """)

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Remove the password. Then kiosk-web listens on loopback only.")
    var remove = false

    func run() throws {
        let path = try file.load().web.passwordFile
        var credentials = try Credentials.read(path)
        credentials.password = remove ? nil : try Credentials.hash(read())
        try credentials.write(path)
        print(remove ? "\(path): there is no password now" : "\(path): the password is set")
    }

    private func read() throws(WebError) -> String {
        let isTerminal = isatty(STDIN_FILENO) == 1
        guard let first = isTerminal ? ask("New password: ") : readLine() else { throw WebError("there is no password on standard input") }
        guard first.utf8.count >= 8 else { throw WebError("a password has 8 characters at least") }
        guard first.utf8.count <= 512 else { throw WebError("a password has 512 bytes at most") }
        if isTerminal, ask("Once more: ") != first { throw WebError("the two are not the same") }
        return first
    }

    /// Reads a line of the terminal without showing it.
    private func ask(_ question: String) -> String? {
        var former = termios()
        tcgetattr(STDIN_FILENO, &former)
        var silent = former
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &former)
            print("")
        }
        print(question, terminator: "")
        fflush(nil)
        return readLine()
    }
}

/// `kiosk web token`: makes, lists and removes tokens.
struct MakeToken: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Make a token for a program, list the tokens, or remove one.",
        discussion: """
            The program prints the token once: send it as "Authorization: Bearer TOKEN". The file of [web] password-file has only its \
            hash. Scopes: view sees state and screen, control plays, content changes files and the playlist, admin changes kiosk.conf.
            """)

    @OptionGroup var file: ConfigurationOption

    @Option(help: "The scopes of the token, with commas between them.")
    var scopes = "view"

    @Flag(help: "Remove the token of this name.")
    var remove = false

    @Argument(help: "The name of the token: letters, digits and hyphens. Without a name the tokens are listed.")
    var name: String?

    func run() throws {
        let path = try file.load().web.passwordFile
        var credentials = try Credentials.read(path)
        guard let name else {
            for token in credentials.tokens { print("\(token.name)  \(token.scopes.map(\.rawValue).sorted().joined(separator: ","))") }
            return
        }
        if remove {
            guard credentials.tokens.contains(where: { $0.name == name }) else { throw WebError("there is no token “\(name)”") }
            credentials.tokens.removeAll { $0.name == name }
            return try credentials.write(path)
        }
        guard let scopes = Credentials.scopes(scopes) else {
            throw ValidationError("--scopes: expected some of view, control, content, admin")
        }
        let secret = try credentials.addToken(name, scopes)
        try credentials.write(path)
        print(secret)
    }
}

/// `kiosk-web fetch URL FILE BYTES`: kiosk-web has a process of its own fetch files.
struct Fetch: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Fetch a file over HTTP.", shouldDisplay: false)

    @Argument var url: String
    @Argument var path: String
    @Argument var limit: Int64

    func run() throws {
        guard let file = Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644) else {
            throw WebError("write \(path): \(SystemError())")
        }
        do throws(FileDownload.Failure) { try FileDownload.run(url, into: file, atMost: limit) } catch {
            throw WebError("\(error)")
        }
        fsync(file.raw)
    }
}

func printError(_ text: String) {
    var line = text.printableLines + "\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
