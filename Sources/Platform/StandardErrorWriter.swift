import DequeModule
import Glibc
import Synchronization

/// Writes lines to standard error on a thread of its own, so that no thread that logs is blocked: write(2) blocks without limit on a pipe
/// that is not read and on a terminal that was stopped with Ctrl-S, and the presenter logs, too.
///
/// The queue is bounded. When it is full, lines are dropped until it has been written out, and their number is written in their place.
final class StandardErrorWriter: Sendable {
    private struct State: ~Copyable {
        var lines = Deque<String>()
        var dropped = 0
        var status = ""
        /// The status line that the terminal shows.
        var shownStatus = ""
        var isWriting = false
    }

    /// A line to be written, or none, above a status line; and whether another one stands there.
    private typealias Work = (line: String?, status: String, erases: Bool)

    /// Lines that may wait in the queue.
    static let capacity = 512

    private let state = Monitor(State())
    private let descriptor: Int32
    private let leftOut: @Sendable (Int) -> String
    /// Made with the first line: that there is no thread for it is a line, too.
    private let thread = Mutex<(isMade: Bool, thread: Thread?)>((false, nil))

    /// A writer to `descriptor`, with the line that says how many were dropped. Its thread lives as long as the process.
    init(to descriptor: Int32, leftOut: @escaping @Sendable (Int) -> String) {
        self.descriptor = descriptor
        self.leftOut = leftOut
    }

    /// Whether there is a thread that writes; makes it at the first call.
    private var hasThread: Bool {
        let isFirst = thread.withLock { thread in
            defer { thread.isMade = true }
            return !thread.isMade
        }
        if isFirst {
            let made = Thread("log") { [self] in run() }
            thread.withLock { $0.thread = made }
        }
        return thread.withLock { $0.thread?.hasBegun ?? false }
    }

    /// Has a line written, without its newline; returns at once. Where the system has no thread for that the caller writes it.
    func write(_ line: String) {
        guard hasThread else { return put(line + "\n") }
        state.signal { state in
            if state.dropped > 0 || state.lines.count >= Self.capacity {
                state.dropped += 1
            } else {
                state.lines.append(line)
            }
        }
    }

    /// Has `text` shown as the status line, cut to the width of the terminal; an empty text erases it. Returns at once.
    func show(status text: String) { if hasThread { state.signal { $0.status = text } } }

    /// Waits until everything is written, at most until `deadline`.
    func flush(until deadline: HostTime) {
        _ = state.wait(until: deadline) { state in
            state.lines.isEmpty && state.dropped == 0 && !state.isWriting && state.status == state.shownStatus ? true : nil
        }
    }

    // MARK: The thread

    private func run() {
        while true {
            guard let work = state.wait({ next(&$0) }) else { continue }
            put((work.erases ? "\r\u{1B}[K" : "") + (work.line.map { $0 + "\n" } ?? "") + cut(work.status))
            state.signal { $0.isWriting = false }
        }
    }

    private func next(_ state: inout State) -> Work? {
        let above = state.shownStatus
        var line = state.lines.popFirst()
        if line == nil, state.dropped > 0 {
            line = leftOut(state.dropped)
            state.dropped = 0
        }
        guard line != nil || state.status != above else { return nil }
        state.isWriting = true
        state.shownStatus = state.status
        return (line, state.status, line == nil || !above.isEmpty)
    }

    /// Cut to the terminal's width: a line that wraps could not be erased.
    private func cut(_ status: String) -> String {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return status.cut(toColumns: (isKnown ? Int(size.ws_col) : 80) - 1)
    }

    /// Writes all of `text`. Errors other than EINTR and EAGAIN are ignored: standard error may have been closed.
    private func put(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress! + offset, bytes.count - offset)
                if count > 0 {
                    offset += count
                } else if count < 0, errno == EAGAIN {
                    // Another process that shares the terminal has made it non-blocking.
                    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&entry, 1, -1)
                } else if count == 0 || errno != EINTR {
                    return
                }
            }
        }
    }
}
