import ArgumentParser
import Configuration
import Content
import Export
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Logging
import Synchronization

/// `kiosk export a.mp4 b.mp4 -o film.mp4`: what the screen would show, as a file.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Make one film of clips, stills, titles and music.",
        usage: """
            kiosk export [<options>] <source> ... -o <file>
            kiosk export [<options>] <arrangement.toml> -o <file>
            """,
        discussion: """
            The film is what a display of its size and rate would show if it played the sources one after the other. An arrangement \
            file says more of each clip: docs/export.md. It runs where nothing else wants the processor, so it can run beside a player. \
            The film gets its name when it is whole. The exit status is 0 then, 1 when it cannot be made, 64 when the command line is \
            wrong, 78 when the arrangement is, and 130 when it was cancelled.
            """)

    @Option(name: [.short, .long], help: ArgumentHelp("The MP4 file to write.", valueName: "file"), completion: .file(extensions: ["mp4"]))
    var output: String

    @OptionGroup var options: ExportOptions

    @Flag(help: "Copy the pictures as they are; where that cannot be, say why and end.")
    var copy = false

    @Flag(help: "Replace a file of that name.")
    var force = false

    @Flag(help: "Say nothing but what is wrong.")
    var quiet = false

    @Flag(help: "Print progress, four times a second, and what has come of it as lines of JSON.")
    var json = false

    @Option(
        help: ArgumentHelp("When it gets the processor: idle (when nobody else wants it) or normal.", valueName: "priority"),
        completion: .list(Priority.allCases.map(\.rawValue)), transform: word(Priority.self))
    var priority = Priority.idle

    @Argument(
        help: ArgumentHelp("Files, folders, .m3u lists or URLs, in order; or one arrangement file.", valueName: "source"),
        completion: .file())
    var sources: [String] = []

    enum Priority: String, CaseIterable, Sendable { case idle, normal }

    func validate() throws {
        if let problem = FilmWriter.nameProblem(output) { throw ValidationError("--output: \(problem)") }
        guard copy else { return }
        let given = [
            options.encoder.map { _ in "--encoder" }, options.quality.map { _ in "--quality" }, options.bitRate.map { _ in "--bit-rate" },
        ]
        if let option = given.compactMap({ $0 }).first {
            throw ValidationError("\(option): nothing is encoded with --copy: leave one of them out")
        }
    }

    func run() throws {
        // Before any thread is started, that of the log, too: they inherit what is blocked.
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP])
        startLog(.error)
        let folder = workingFolder
        var arrangement = try readArrangement(folder)
        try options.apply(to: &arrangement, folder: folder)
        if arrangement.clips.isEmpty { throw ExitCode(1) }

        let isCancelled = Cancellation()
        // Before this thread gives way: who cancels does not wait for an idle processor.
        Thread("signals") {
            _ = signals.wait(for: nil)
            isCancelled.set()
            Thread.endIdling()
        }.detach()
        if priority == .idle { Thread.runWhenIdle() }

        var settings = ExportSession.Options(output: output)
        (settings.replaces, settings.copies, settings.kept) = (force, copy, sources)
        var line = ExportLine(json ? .json : quiet ? .none : isatty(STDERR_FILENO) == 1 ? .terminal : .tenths)
        do throws(ExportError) {
            let report = try ExportSession.run(arrangement, settings, isCancelled: { isCancelled.isSet }) { line.show($0) }
            line.end(report)
        } catch {
            line.end(error)
            throw ExitCode(error == .cancelled ? 130 : 1)
        }
    }

    private func readArrangement(_ folder: String) throws -> Arrangement {
        if sources.isEmpty { throw ValidationError("name what the film is made of, or an arrangement file") }
        let files = sources.filter { $0.lowercased().hasSuffix(".toml") }
        if let file = files.first {
            if sources.count > 1 { throw ValidationError("\(file): an arrangement file stands alone; name its clips in it") }
            do throws(ConfigurationError) { return try Arrangement.load(file) } catch {
                printError(error.description)
                throw ExitCode(ConfigurationError.exitStatus)
            }
        }
        var arrangement = Arrangement()
        for source in sources {
            let expansion = PlaylistSource(source, relativeTo: folder).expand()
            for problem in expansion.problems { printError(problem.printable) }
            if !expansion.problems.isEmpty { throw ExitCode(1) }
            if expansion.sources.isEmpty {
                printError("\(source): there is nothing in it that can be shown")
                throw ExitCode(1)
            }
            arrangement.clips += expansion.sources.map { .init(.file($0.source)) }
        }
        return arrangement
    }
}

/// Set once, seen on every thread.
private final class Cancellation: Sendable {
    private let state = Atomic(false)
    var isSet: Bool { state.load(ordering: .relaxed) }
    func set() { state.store(true, ordering: .relaxed) }
}
