import CPlatform
import Glibc
import Logging
import Synchronization

/// Log lines on standard error: for a person at a terminal `12:03:04 warning display: text`, under systemd `<4>display: text`, which the
/// journal files by its level.
///
/// A status line may stand below the log at a terminal; it is taken away for each log line and put back after it.
public struct StandardErrorLog: LogHandler {
    /// Lines below this are left out.
    public var logLevel: Logger.Level
    /// Carried by every line; not printed.
    public var metadata: Logger.Metadata = [:]
    private let label: String

    /// A handler for the room `label`.
    public init(label: String, level: Logger.Level) {
        self.label = label
        logLevel = level
    }

    /// Makes every logger of the process write here, and the C libraries' own messages with them (at `debug`). Call once, at the start.
    public static func bootstrap(level: Logger.Level) {
        LoggingSystem.bootstrap { StandardErrorLog(label: $0, level: level) }
        Self.libraryLevel.store(level <= .debug, ordering: .relaxed)
        kiosk_capture_logs { source, _, line in
            guard StandardErrorLog.libraryLevel.load(ordering: .relaxed) else { return }
            let label = source == Int32(KIOSK_LOG_FFMPEG) ? "ffmpeg" : source == Int32(KIOSK_LOG_ALSA) ? "alsa" : "evdev"
            StandardErrorLog.write(label, .debug, String(cString: line))
        }
    }

    private static let libraryLevel = Atomic<Bool>(false)

    /// Writes one line.
    public func log(event: LogEvent) { Self.write(label, event.level, "\(event.message)") }

    /// Structured values of one key.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    // MARK: The terminal

    private static let statusLine = Mutex("")
    private static let isJournal = getenv("JOURNAL_STREAM") != nil

    /// Shows `text` as the last line of the terminal in place of the status line before; empty takes it away.
    public static func show(status text: String) {
        statusLine.withLock { current in
            if text == current { return }
            put("\r\u{1B}[K" + text)
            current = text
        }
    }

    private static func write(_ label: String, _ level: Logger.Level, _ message: String) {
        let text = String(message.filter { !$0.isNewline })
        statusLine.withLock { status in
            let clear = status.isEmpty ? "" : "\r\u{1B}[K"
            put(clear + prefix(level) + "\(label): \(text)\n" + status)
        }
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
        var now = time(nil)
        var local = tm()
        localtime_r(&now, &local)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(two(local.tm_hour)):\(two(local.tm_min)):\(two(local.tm_sec)) \(level) "
    }

    /// One write(2), so that lines of several threads do not mix; a closed standard error is nobody's problem.
    private static func put(_ text: String) {
        var text = text
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
