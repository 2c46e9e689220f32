import KioskPlatform

/// A stream that is open, until it has been closed: who opens the same one again waits for that, because a camera often allows one session.
///
/// libavformat asks a camera to end a session and does not wait for its answer; so a new one is begun some time after that.
final class ClosingSource: Sendable {
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

    func hasClosed() {
        let (source, now) = (source, HostTime.now)
        Self.sources.signal { sources in
            sources = sources.filter { !$0.value.isFree(at: now) }
            sources[source, default: Source(count: 1)].count -= 1
            sources[source]?.closedAt = now
        }
    }
}
