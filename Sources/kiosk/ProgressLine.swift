import ArgumentParser
import Glibc
import KioskCommands
import KioskPlatform

/// The options of commands that write a file.
struct ProgressOptions: ParsableArguments {
    @Flag(help: "Replace a file of that name.")
    var force = false

    @Flag(help: "Print nothing but errors.")
    var quiet = false

    @Flag(help: "Print progress, four times a second, and the result, as lines of JSON.")
    var json = false
}

/// Reports the progress and the result of a long command.
struct ProgressLine {
    enum Style {
        /// One line on standard error that is overwritten.
        case terminal
        /// Lines on standard error.
        case lines
        /// Lines of JSON on standard output.
        case json
        case none
    }

    let style: Style
    private var isOpen = false

    init(_ options: ProgressOptions) {
        style = options.json ? .json : options.quiet ? .none : isatty(STDERR_FILENO) == 1 ? .terminal : .lines
    }

    /// Shows the progress.
    mutating func show(_ text: () -> String, json members: () -> [String: JSONValue]) {
        switch style {
        case .none: break
        case .lines: write(text() + "\n")
        case .terminal:
            isOpen = true
            // Returns to the line's beginning, and erases the rest behind the text.
            write("\r\(text())\u{1B}[K")
        case .json: printJSON(members())
        }
    }

    /// Prints a note.
    func say(_ text: String) {
        switch style {
        case .json: printJSON(["note": text.json])
        case .none: break
        case .terminal, .lines: printError(text.printable)
        }
    }

    /// Prints the result.
    mutating func end(_ text: String?, notes: [String], failure: String? = nil, json members: () -> [String: JSONValue]) {
        close()
        if style == .json { return printJSON(members()) }
        for note in notes { printError("note: \(note.printable)") }
        if let failure { printError(failure.printable) }
        if let text, style != .none { print(text) }
    }

    /// Prints a failure; `shown` is the text for people.
    mutating func fail(_ reason: String, _ shown: String) {
        close()
        if style == .json { printJSON(["error": reason.json]) }
        printError(shown)
    }

    /// Ends the status line, so that further output begins on a new one.
    private mutating func close() {
        if isOpen { write("\n") }
        isOpen = false
    }

    /// Writes to standard error at once, unchanged.
    private func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Prints a JSON object on a line of standard output, at once.
    private func printJSON(_ members: [String: JSONValue]) {
        Swift.print(JSONValue.object(members).line)
        fflush(nil)
    }
}
