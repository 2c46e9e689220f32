import KioskPlatform

/// A stream that is open, until it has been closed: who opens the same one again waits for that, because a camera often allows one session.
final class ClosingSource: Sendable {
    private let source: String
    private static let open = Monitor<[String: Int]>([:])
    /// A connection that is closed later than this is broken.
    private static let patience = MediaTime.seconds(1)

    /// Waits until `source` is not open any more, a second at most; it is from then on.
    init(waitingFor source: String, interruption: Interruption) {
        self.source = source
        let deadline = HostTime.now + Self.patience
        while !interruption.cancelled, HostTime.now < deadline {
            let slice = min(deadline, HostTime.now + .milliseconds(50))
            if Self.open.wait(until: slice, { $0[source] == nil ? true : nil }) == true { break }
        }
        Self.open.withLock { $0[source, default: 0] += 1 }
    }

    func hasClosed() {
        let source = source
        Self.open.signal { open in
            let count = (open[source] ?? 1) - 1
            open[source] = count > 0 ? count : nil
        }
    }
}
