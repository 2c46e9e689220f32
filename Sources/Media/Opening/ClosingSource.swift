import KioskPlatform

/// A stream that is open or closing. A second opening of the same stream waits until it is closed, because a camera often allows only one
/// session.
/// libavformat asks a camera to end a session and does not wait for the answer. So a new session begins some time later.
///
/// A process that has another one open the stream waits here, too.
package final class ClosingSource: Sendable {
    private struct Source {
        var count = 0
        var closedAt: HostTime?

        func isFree(at now: HostTime) -> Bool { count == 0 && closedAt.map { now - $0 >= ClosingSource.pause } ?? true }
    }

    private let source: Path
    private static let sources = Monitor<[Path: Source]>([:])
    /// The longest wait: a connection that takes longer to close is broken.
    private static let patience = MediaTime.seconds(1)
    /// The time for a camera to end a session.
    private static let pause = MediaTime.milliseconds(250)
    private static let slice = MediaTime.milliseconds(50)

    /// Waits until `source` has been closed for a while, a second at most, then marks it as open.
    init(waitingFor source: String, interruption: Interruption) {
        let source = Path(source)
        self.source = source
        let deadline = HostTime.now + Self.patience
        while !interruption.cancelled, HostTime.now < deadline {
            let free: Bool? = Self.sources.wait(until: min(deadline, .now + Self.slice)) { sources in
                sources[source]?.isFree(at: .now) ?? true ? true : nil
            }
            if free == true { break }
        }
        Self.sources.withLock { $0[source, default: Source()].count += 1 }
    }

    /// Returns the value for a live source; nil for any other. Waits as ``init(waitingFor:interruption:)`` does.
    package static func of(_ source: String, _ interruption: Interruption) -> ClosingSource? {
        SourceOptions.kind(of: source) == .live ? ClosingSource(waitingFor: source, interruption: interruption) : nil
    }

    /// Waits until all sources are closed, a second at most.
    package static func waitForAll() {
        _ = sources.wait(until: .now + patience) { sources in sources.values.allSatisfy { $0.count <= 0 } ? true : nil }
    }

    /// Marks the source as closed. From any thread.
    package func hasClosed() {
        let (source, now) = (source, HostTime.now)
        Self.sources.signal { sources in
            sources = sources.filter { !$0.value.isFree(at: now) }
            sources[source, default: Source(count: 1)].count -= 1
            sources[source]?.closedAt = now
        }
    }
}
