import DequeModule
import Glibc
import Synchronization

/// Writes lines to standard error on a thread of its own, so that logging never blocks a thread. write(2) blocks without limit on an unread
/// pipe, and on a terminal stopped with Ctrl-S, and even the presenter logs.
///
/// The queue is bounded. While it is full, the writer drops lines. It writes their number in their place once the queue is empty.
final class StandardErrorWriter: Sendable {
    private struct State: ~Copyable {
        var lines = Deque<String>()
        var dropped = 0
        var status = ""
        /// The status line that the terminal shows.
        var shownStatus = ""
        var isWriting = false
    }

    /// A line to write, if any, above a status line; and whether to erase the former status line.
    private typealias Work = (line: String?, status: String, erases: Bool)

    /// The most lines in the queue.
    static let capacity = 512

    private let state = Monitor(State())
    private let descriptor: Int32
    private let leftOut: @Sendable (Int) -> String
    /// Made with the first line, because a failure to make it is itself logged.
    private let thread = Mutex<(isMade: Bool, thread: Thread?)>((false, nil))

    /// Makes a writer to `descriptor`. `leftOut` returns the line that reports dropped lines. Its thread lives as long as the process.
    init(to descriptor: Int32, leftOut: @escaping @Sendable (Int) -> String) {
        self.descriptor = descriptor
        self.leftOut = leftOut
    }

    /// Whether the writing thread runs; the first call makes it.
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

    /// Queues a line, without its newline, and returns at once. If the system has no thread left, the caller writes the line itself.
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

    /// Shows `text` as the status line, cut to the width of the terminal; an empty text erases it. Returns at once.
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

    /// Returns the status cut to the terminal's width: a wrapped line could not be erased.
    private func cut(_ status: String) -> String {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return status.cut(toColumns: (isKnown ? Int(size.ws_col) : 80) - 1)
    }

    /// Writes all of `text`. Ignores errors other than EINTR and EAGAIN: standard error may have been closed.
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
