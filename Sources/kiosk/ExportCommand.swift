import ArgumentParser
import Glibc
import KioskCommands
import KioskConfiguration
import KioskContent
import KioskExportCore
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary
import Logging

/// `kiosk export a.mp4 b.mp4 -o film.mp4`: writes the output of the screen to a file.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Make one film of clips, stills, titles and music.",
        usage: """
            kiosk export [<options>] <source> ... -o <file>
            kiosk export [<options>] <arrangement.toml> -o <file>
            """,
        discussion: """
            The film shows the sources one after the other, as a display of its size and rate would. An arrangement file sets more for \
            each clip: docs/export.md. The export takes the processor only while no other program wants it, so it can run beside a \
            player. The film gets its name once it is complete. Exit status: 0 with a complete film, 1 if kiosk cannot make it, 64 for a \
            wrong command line, 78 for a wrong arrangement, 130 if you cancel.
            """)

    @Option(
        name: [.short, .long], help: ArgumentHelp("The MP4 or MOV file to write.", valueName: "file"),
        completion: .file(extensions: ["mp4", "mov"]))
    var output: String

    @OptionGroup var options: ExportOptions

    @Flag(help: "Copy the pictures as they are; if that is impossible, print the reason and end.")
    var copy = false

    @OptionGroup var progress: ProgressOptions

    @Option("Use of the processor: idle (only while no other program wants it) or normal.", value: "priority", .word(\.rawValue))
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
            options.subtitles.flatMap { $0 == .off ? nil : "--subtitles" },
        ]
        if let option = given.compactMap({ $0 }).first {
            throw ValidationError("\(option): --copy encodes nothing: leave one of the two out")
        }
    }

    func run() throws {
        // Before there are threads, including the log's: they inherit the signal mask.
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP])
        startLog(.error)
        let folder = workingFolder
        var arrangement = try readArrangement(folder)
        try options.apply(to: &arrangement, folder: folder)
        if arrangement.clips.isEmpty { throw ExitCode(1) }

        let isCancelled = Monitor(false)
        // Before this thread lowers its priority: a cancellation must not wait for an idle processor.
        Thread("signals") {
            _ = signals.wait(for: nil)
            isCancelled.signal { $0 = true }
            Thread.endIdling()
        }.detach()
        if priority == .idle { Thread.runWhenIdle() }

        var settings = ExportSession.Options(output: output)
        if priority == .idle { settings.readers = .shared.whenIdle }
        (settings.replaces, settings.copies, settings.kept) = (progress.force, copy, sources)
        var line = ExportLine(line: ProgressLine(progress))
        do throws(ExportError) {
            let report = try ExportSession.run(arrangement, settings, isCancelled: { isCancelled.withLock { $0 } }) { line.show($0) }
            line.end(report)
        } catch {
            line.line.fail(error.description, error.description)
            throw ExitCode(error == .cancelled ? 130 : 1)
        }
    }

    private func readArrangement(_ folder: String) throws -> Arrangement {
        if sources.isEmpty { throw ValidationError("name the sources of the film, or an arrangement file") }
        let files = sources.filter { $0.lowercased().hasSuffix(".toml") }
        if let file = files.first {
            if sources.count > 1 { throw ValidationError("\(file): an arrangement file stands alone; name its clips in the file") }
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
                printError("\(source): it has nothing to show")
                throw ExitCode(1)
            }
            arrangement.clips += expansion.sources.map { .init(.file($0.source)) }
        }
        return arrangement
    }
}

/// The progress and the result of an export.
private struct ExportLine {
    var line: ProgressLine
    private var shownAt = HostTime(nanoseconds: 0)
    private var tenth = 0

    init(line: ProgressLine) { self.line = line }

    /// Shows the progress: a line for each tenth, or an update at most four times a second.
    mutating func show(_ progress: ExportSession.Progress) {
        if line.style == .lines {
            guard Int(progress.fraction * 10) > tenth else { return }
            tenth = Int(progress.fraction * 10)
        } else {
            let now = HostTime.now
            guard now - shownAt > .milliseconds(250) else { return }
            shownAt = now
        }
        line.show {
            let left = progress.left.map { ", \($0) left" } ?? ""
            let speed = (progress.speed * 10).rounded() / 10
            return "\(Int(progress.fraction * 100)) %, \(progress.done) of \(progress.length), \(speed)×\(left)"
        } json: {
            [
                "done": progress.done.seconds.json, "length": progress.length.seconds.json, "elapsed": progress.elapsed.seconds.json,
                "left": (progress.left?.seconds).json,
            ]
        }
    }

    mutating func end(_ report: ExportSession.Report) {
        let text =
            "\(report.path): \(report.length), \(report.size) at \(report.isRateVarying ? "up to " : "")\(report.rate) pictures a second, "
            + "\(report.pictures) pictures (\(report.encoder))"
        line.end(text, notes: report.notes) {
            [
                "file": report.path.json, "length": report.length.seconds.json, "size": "\(report.size)".json,
                "rate": "\(report.rate)".json, "pictures": report.pictures.json, "encoder": report.encoder.json,
                "notes": report.notes.json,
            ]
        }
    }
}
