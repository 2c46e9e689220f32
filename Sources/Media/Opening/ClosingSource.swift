import KioskPlatform

/// A stream that is open, until it has been closed: who opens the same one again waits for that, because a camera often allows one session.
///
/// libavformat asks a camera to end a session and does not wait for its answer; so a new one is begun some time after that.
///
/// Whoever has it opened by another process waits here for that, too.
package final class ClosingSource: Sendable {
    private struct Source {
        var count = 0
        var closedAt: HostTime?

        func isFree(at now: HostTime) -> Bool { count == 0 && closedAt.map { now - $0 >= ClosingSource.pause } ?? true }
    }

    private let source: Path
    private static let sources = Monitor<[Path: Source]>([:])
    /// A connection that is closed later than this is broken.
    private static let patience = MediaTime.seconds(1)
    /// What a camera has to end a session in.
    private static let pause = MediaTime.milliseconds(250)
    private static let slice = MediaTime.milliseconds(50)

    /// Waits until `source` has not been open for some time, a second at most; it is from then on.
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

    /// That of a source that is sent as it is made; nil of any other. Waits as ``init(waitingFor:interruption:)`` does.
    package static func of(_ source: String, _ interruption: Interruption) -> ClosingSource? {
        SourceOptions.kind(of: source) == .live ? ClosingSource(waitingFor: source, interruption: interruption) : nil
    }

    /// Waits until nothing is open any more, for as long as connections take to be closed.
    package static func waitForAll() {
        _ = sources.wait(until: .now + patience) { sources in sources.values.allSatisfy { $0.count <= 0 } ? true : nil }
    }

    /// It is open no more. From any thread.
    package func hasClosed() {
        let (source, now) = (source, HostTime.now)
        Self.sources.signal { sources in
            sources = sources.filter { !$0.value.isFree(at: now) }
            sources[source, default: Source(count: 1)].count -= 1
            sources[source]?.closedAt = now
        }
    }
}
