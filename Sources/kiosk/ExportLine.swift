import Commands
import Export
import Glibc
import KioskPlatform
import Remote

/// How far a film is, and what has come of it.
struct ExportLine {
    enum Style {
        /// One line on standard error that is written over.
        case terminal
        /// A line on standard error for each tenth.
        case tenths
        /// Lines of JSON on standard output.
        case json
        case none
    }

    private let style: Style
    private var shownAt = HostTime(nanoseconds: 0)
    private var tenth = 0
    private var line = TerminalLine()

    init(_ style: Style) { self.style = style }

    mutating func show(_ progress: ExportSession.Progress) {
        let now = HostTime.now
        switch style {
        case .none: break
        case .tenths:
            guard Int(progress.fraction * 10) > tenth else { return }
            tenth = Int(progress.fraction * 10)
            line.write(text(progress) + "\n")
        case .terminal:
            guard now - shownAt > .milliseconds(250) else { return }
            shownAt = now
            line.show(text(progress))
        case .json:
            guard now - shownAt > .milliseconds(250) else { return }
            shownAt = now
            line.print(json: [
                "done": .number(progress.done.seconds), "length": .number(progress.length.seconds),
                "elapsed": .number(progress.elapsed.seconds), "left": progress.left.map { .number($0.seconds) } ?? .null,
            ])
        }
    }

    private func text(_ progress: ExportSession.Progress) -> String {
        let percent = Int(progress.fraction * 100)
        let left = progress.left.map { ", \($0) left" } ?? ""
        let speed = (progress.speed * 10).rounded() / 10
        return "\(percent) %, \(progress.done) of \(progress.length), \(speed)×\(left)"
    }

    /// The film is there.
    mutating func end(_ report: ExportSession.Report) {
        line.end()
        if style == .json {
            return line.print(json: [
                "file": .string(report.path), "length": .number(report.length.seconds), "size": .string("\(report.size)"),
                "rate": .string("\(report.rate)"), "pictures": .number(Double(report.pictures)), "encoder": .string(report.encoder),
                "notes": .array(report.notes.map { .string($0) }),
            ])
        }
        for note in report.notes { printError("note: \(note.printable)") }
        if style == .none { return }
        print(
            "\(report.path): \(report.length), \(report.size) at \(report.isRateVarying ? "up to " : "")\(report.rate) pictures a second, "
                + "\(report.pictures) pictures (\(report.encoder))")
    }

    /// It is not.
    mutating func end(_ error: ExportError) {
        line.end()
        if style == .json { line.print(json: ["error": .string(error.description)]) }
        printError(error.description)
    }
}
