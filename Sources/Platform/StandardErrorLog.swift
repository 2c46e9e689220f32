import Glibc
import Logging
import Synchronization

/// Log lines on standard error: `12:03:04 warning display: text` at a terminal, `<4>display: text` under systemd, whose journal parses the
/// level.
///
/// At a terminal a status line can stand below the log; it is erased for each log line and written again after it. Logging never blocks:
/// ``StandardErrorWriter`` writes on a thread of its own.
package struct StandardErrorLog: LogHandler {
    /// The least level to log: the process's, unless the logger has its own.
    package var logLevel: Logger.Level {
        get { ownLevel ?? Self.level }
        set { ownLevel = newValue }
    }
    private var ownLevel: Logger.Level?
    /// The metadata of every line; not printed.
    package var metadata: Logger.Metadata = [:]
    private let label: String

    /// A handler for the module `label`.
    package init(label: String) { self.label = label }

    /// The process's least level to log. From any thread, at any time.
    package static var level: Logger.Level {
        get { Logger.Level.allCases[levelIndex.load(ordering: .relaxed)] }
        set { levelIndex.store(Logger.Level.allCases.firstIndex(of: newValue)!, ordering: .relaxed) }
    }
    private static let levelIndex = Atomic(Logger.Level.allCases.firstIndex(of: .info)!)

    /// Makes every logger of the process write here. Call once, at the start, with all signals blocked that no thread may receive. At exit,
    /// queued lines are still written, within half a second.
    package static func bootstrap(level: Logger.Level) {
        openStandardDescriptors()
        _ = writer
        // The reader of the log may close it, and the player must survive that.
        signal(SIGPIPE, SIG_IGN)
        Self.level = level
        LoggingSystem.bootstrap { StandardErrorLog(label: $0) }
        atexit { StandardErrorLog.flush() }
    }

    /// Waits until all lines are written, at most half a second. For callers of `_exit`.
    package static func flush() { writer.flush(until: .now + .milliseconds(500)) }

    /// Opens closed standard descriptors on /dev/null: otherwise the first device opened would become standard error, and get log lines.
    private static func openStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
    }

    /// Writes one line.
    package func log(event: LogEvent) { Self.write(label, event.level, "\(event.message)") }

    /// A structured value by its key.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    // MARK: The terminal

    private static let writer = StandardErrorWriter(to: STDERR_FILENO) { count in
        "\(prefix(.warning))log: \(count) line\(count == 1 ? "" : "s") left out here, because the reader of the log is too slow"
    }

    /// Whether standard error goes to the journal. The variable alone proves nothing: children with another output inherit it.
    private static let isJournal: Bool = {
        var status = stat()
        guard let stream = getenv("JOURNAL_STREAM"), fstat(STDERR_FILENO, &status) == 0 else { return false }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }()

    /// Shows `text` as the status line, the last line of the terminal, cut to its width; an empty text erases it.
    package static func show(status text: String) { writer.show(status: text.printable) }

    private static func write(_ label: String, _ level: Logger.Level, _ message: String) {
        var message = message
        while message.last?.isNewline == true { message.removeLast() }
        writer.write("\(prefix(level))\(label): \(message.printable)")
    }

    private static func prefix(_ level: Logger.Level) -> String {
        if isJournal {
            let priority =
                switch level {
                case .trace, .debug: 7
                case .info: 6
                case .notice: 5
                case .warning: 4
                case .error: 3
                case .critical: 2
                }
            return "<\(priority)>"
        }
        return "\(date("%H:%M:%S")) \(level) "
    }
}
