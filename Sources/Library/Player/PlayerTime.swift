internal import KioskMedia
internal import KioskPlatform
internal import KioskPlayback

/// Seeking, and being told of time.
extension Player {
    /// The item time on the screen.
    public var currentTime: Duration { engine.currentTime.duration }

    /// How exactly a seek lands.
    public enum SeekPrecision: Hashable, Sendable {
        /// On the frame of just that time.
        case exact
        /// On the key frame nearest to it, which needs less decoding.
        case keyFrame
    }

    /// Moves to an item time, clamped to the item's first and last frame, and returns when the frame there is on the screen, playing or
    /// paused.
    ///
    /// - Returns: whether it landed: false where another seek, or another item, came before it was seen, where there is nothing to move in
    ///   (a live stream), and at the end of the player or of the task.
    @discardableResult public func seek(to time: Duration, precision: SeekPrecision = .exact) async -> Bool {
        let effect = engine.seekEffect(to: MediaTime(time), precision: precision == .exact ? .exact : .keyFrame())
        while effect != .none, !hasStopped {
            switch engine.state(of: effect) {
            case .seen: return true
            case .superseded: return false
            case .awaited: break
            }
            do { try await Task.sleep(for: .milliseconds(4)) } catch { return false }
        }
        return false
    }

    /// The same for who does not wait: `completion` is called once, with whether it landed.
    public func seek(to time: Duration, precision: SeekPrecision = .exact, completion: @escaping @Sendable (Bool) -> Void) {
        Task { [weak self] in completion(await self?.seek(to: time, precision: precision) ?? false) }
    }

    /// Everything that happens from now on. Each call gives a sequence of its own; it ends with the player.
    public var events: AsyncStream<PlayerEvent> { items.events.stream() }

    /// What the player is doing about time, now and whenever that changes.
    public var timeControlStatusUpdates: AsyncStream<TimeControlStatus> {
        let events = events
        let first = timeControlStatus
        return AsyncStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
            continuation.yield(first)
            let task = Task {
                for await event in events { if case .timeControlStatusChanged(let status) = event { continuation.yield(status) } }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    // MARK: Observers

    /// Calls `observer` with the item time every `interval` (10 ms at least) of real time, and at once when something happens, on a thread of
    /// the player, until the observer is removed.
    public func addPeriodicTimeObserver(
        forInterval interval: Duration, using observer: @escaping @Sendable (Duration) -> Void
    ) -> TimeObserver {
        TimeObserver(engine.addPeriodicTimeObserver(forInterval: MediaTime(interval)) { observer($0.duration) })
    }

    /// Calls `observer` each time that playing passes one of these item times, within some milliseconds, on a thread of the player, until the
    /// observer is removed. A seek that leaps over a time does not pass it.
    public func addBoundaryTimeObserver(forTimes times: [Duration], using observer: @escaping @Sendable () -> Void) -> TimeObserver {
        TimeObserver(engine.addBoundaryTimeObserver(forTimes: times.map(MediaTime.init), using: observer))
    }

    /// Calls an observer no more. A call that is under way goes on.
    public func removeTimeObserver(_ observer: TimeObserver) { engine.removeObserver(observer.token) }
}

/// Stands for an observer of time, to remove it by (``Player/removeTimeObserver(_:)``). An observer that is not removed ends with its player.
public struct TimeObserver: Hashable, Sendable {
    let token: PlayerObserver

    init(_ token: PlayerObserver) { self.token = token }
}

extension MediaTime {
    /// A span of the standard library, to the nanosecond; the longest there is where it is longer.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self.init(nanoseconds: overflow ? (seconds < 0 ? .min : .max) : whole)
        self = self + MediaTime(nanoseconds: attoseconds / 1_000_000_000)
    }

    /// The same as a span of the standard library.
    var duration: Duration { .nanoseconds(nanoseconds) }
}
