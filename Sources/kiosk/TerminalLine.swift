import Commands
import Glibc
import Remote

/// Where a command that takes a while says how far it is: a line on standard error that is written over, and JSON on standard output.
struct TerminalLine {
    private var isOpen = false

    /// Writes `text` in place of what was written last.
    mutating func show(_ text: String) {
        isOpen = true
        // Back to the beginning, and nothing behind the text.
        write("\r\(text)\u{1B}[K")
    }

    /// What is printed next begins on a line of its own.
    mutating func end() {
        if isOpen { write("\n") }
        isOpen = false
    }

    /// Writes to standard error at once, as it is.
    func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Prints an object of JSON on a line of standard output, at once.
    func print(json members: [String: JSONValue]) {
        Swift.print(JSONValue.object(members).line)
        fflush(nil)
    }
}
