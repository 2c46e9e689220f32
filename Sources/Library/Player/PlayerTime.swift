internal import KioskMedia
internal import KioskPlatform
internal import KioskPlayback

/// Seeking, and observing time.
extension Player {
    /// The item time on the screen.
    public var currentTime: Duration { engine.currentTime.duration }

    /// The precision of a seek.
    public enum SeekPrecision: Hashable, Sendable {
        /// To the frame of exactly that time.
        case exact
        /// To the nearest key frame, which needs less decoding.
        case keyFrame
    }

    /// Moves to an item time, clamped to the item's first and last frame. Returns once the frame there is on the screen, playing or paused.
    ///
    /// - Returns: whether the seek landed. False if another seek or item came first, if the item cannot seek (a live stream), and at the
    ///   end of the player or of the task.
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

    /// The same without waiting: calls `completion` once, with whether the seek landed.
    public func seek(to time: Duration, precision: SeekPrecision = .exact, completion: @escaping @Sendable (Bool) -> Void) {
        Task { [weak self] in completion(await self?.seek(to: time, precision: precision) ?? false) }
    }

    /// All events from now on. Each call returns a sequence of its own; it ends with the player.
    public var events: AsyncStream<PlayerEvent> { items.events.stream() }

    /// The current ``timeControlStatus``, and each change.
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

    /// Calls `observer` with the item time every `interval` (at least 10 ms) of real time, and at once after an event. Calls come on a
    /// thread of the player, until the observer is removed.
    public func addPeriodicTimeObserver(
        forInterval interval: Duration, using observer: @escaping @Sendable (Duration) -> Void
    ) -> TimeObserver {
        TimeObserver(engine.addPeriodicTimeObserver(forInterval: MediaTime(interval)) { observer($0.duration) })
    }

    /// Calls `observer` each time playback passes one of these item times, within some milliseconds. Calls come on a thread of the player,
    /// until the observer is removed. A seek across a time does not pass it.
    public func addBoundaryTimeObserver(forTimes times: [Duration], using observer: @escaping @Sendable () -> Void) -> TimeObserver {
        TimeObserver(engine.addBoundaryTimeObserver(forTimes: times.map(MediaTime.init), using: observer))
    }

    /// Removes an observer. A call that is under way completes.
    public func removeTimeObserver(_ observer: TimeObserver) { engine.removeObserver(observer.token) }
}

/// The token of a time observer, to remove it (``Player/removeTimeObserver(_:)``). Otherwise an observer ends with its player.
public struct TimeObserver: Hashable, Sendable {
    let token: PlayerObserver

    init(_ token: PlayerObserver) { self.token = token }
}

extension MediaTime {
    /// Creates a time from a duration, to the nanosecond; clamps a longer one to the maximum.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self.init(nanoseconds: overflow ? (seconds < 0 ? .min : .max) : whole)
        self = self + MediaTime(nanoseconds: attoseconds / 1_000_000_000)
    }

    /// The same as a duration.
    var duration: Duration { .nanoseconds(nanoseconds) }
}
