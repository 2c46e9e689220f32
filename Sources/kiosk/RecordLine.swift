import ArgumentParser
import Commands
import Glibc
import KioskCapture
import KioskPlatform
import KioskVocabulary
import Remote

/// How far a recording is, and what has come of it.
struct RecordLine {
    enum Style {
        /// One line on standard error that is written over.
        case terminal
        /// Lines on standard error, at the beginning and the end.
        case lines
        /// Lines of JSON on standard output.
        case json
        case none
    }

    private let style: Style
    private var line = TerminalLine()

    init(_ style: Style) { self.style = style }

    /// What is to be known.
    mutating func say(_ text: String) {
        switch style {
        case .json: line.print(json: ["note": .string(text)])
        case .none: break
        case .terminal, .lines: printError(text.printable)
        }
    }

    mutating func begin(_ session: CaptureSession) {
        let format = session.format
        say("\(session.camera.description), \(format.description); \(session.microphone.map { "sound from \($0)" } ?? "no sound")")
    }

    mutating func show(_ status: CaptureSession.Status) {
        switch style {
        case .none, .lines: break
        case .terminal:
            let word = status.phase == .paused ? "paused, space goes on" : status.phase == .finishing ? "finishing" : "recording"
            let limit = status.duration.map { " of \($0)" } ?? ""
            let left = status.remaining.map { ", \($0) left" } ?? ""
            let dropped = status.droppedCount > 0 ? ", \(status.droppedCount) pictures dropped" : ""
            line.show(
                "\(word) \(status.elapsed)\(limit), \(ByteCount(Int64(status.byteCount)))\(left)\(dropped) \(Self.meter(status.level))"
            )
        case .json:
            line.print(json: [
                "state": .string(status.phase.rawValue), "elapsed": .number(status.elapsed.seconds),
                "duration": status.duration.map { .number($0.seconds) } ?? .null,
                "remaining": status.remaining.map { .number($0.seconds) } ?? .null, "bytes": .number(Double(status.byteCount)),
                "dropped": .number(Double(status.droppedCount)), "level": .number(Double(status.level)),
            ])
        }
    }

    /// `[######....]`, 5 dB a sign.
    static func meter(_ level: Float) -> String {
        let decibels = level > 0 ? 20 * log10(Double(level)) : -100
        let filled = min(max(Int((decibels + 50) / 5), 0), 10)
        return "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: 10 - filled))]"
    }

    /// It has ended.
    mutating func end(_ report: RecordingReport) {
        line.end()
        if style == .json {
            return line.print(json: [
                "file": report.path.map { .string($0) } ?? .null, "length": .number(report.length.seconds),
                "begin": report.begin.map { .number(Double($0.nanoseconds) / 1e9) } ?? .null,
                "size": .string("\(report.width)x\(report.height)"), "pictures": .number(Double(report.pictureCount)),
                "dropped": .number(Double(report.droppedCount)), "encoder": .string(report.encoder),
                "notes": .array(report.notes.map { .string($0) }), "error": report.failure.map { .string($0.description) } ?? .null,
            ])
        }
        for note in report.notes { printError("note: \(note.printable)") }
        if let failure = report.failure { printError(failure.description.printable) }
        guard let path = report.path, style != .none else { return }
        let dropped = report.droppedCount > 0 ? ", \(report.droppedCount) dropped" : ""
        print(
            "\(path): \(report.length), \(report.width)x\(report.height), \(report.pictureCount) pictures\(dropped) (\(report.encoder)), "
                + (report.hasSound ? "with sound" : "no sound"))
    }

    /// It cannot begin: the exit status.
    mutating func fail(_ text: String) -> ExitCode {
        line.end()
        if style == .json { line.print(json: ["error": .string(text)]) }
        printError(text.printable)
        return ExitCode(1)
    }
}
