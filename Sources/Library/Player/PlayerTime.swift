public import Dispatch
internal import KioskMedia
package import KioskPlatform
internal import KioskPlayback
internal import Synchronization

/// Seeking, and observing time.
extension Player {
    /// Returns the item time on the screen. During a seek it is the target.
    public func currentTime() -> CMTime { CMTime(engine.currentTime) }

    /// Moves to an item time, clamped to the item's first and last frame. Returns once the frame there is on the screen, playing or paused.
    ///
    /// The seek goes to exactly that frame. If `toleranceBefore` reaches back to the item's beginning, it goes to the key frame before, which
    /// needs less decoding. No other tolerance makes a seek faster.
    ///
    /// - Returns: whether the seek landed. False if another seek or item came first, if the item cannot seek (a live stream) or `time` is
    ///   none, and at the end of the player or of the task.
    @discardableResult public func seek(
        to time: CMTime, toleranceBefore: CMTime = .zero, toleranceAfter: CMTime = .zero
    ) async -> Bool {
        await lands(beginSeek(time, toleranceBefore))
    }

    /// Begins the same seek, and returns at once.
    public func seek(to time: CMTime, toleranceBefore: CMTime = .zero, toleranceAfter: CMTime = .zero) {
        _ = beginSeek(time, toleranceBefore)
    }

    /// Begins the same seek, and calls `completionHandler` once, with whether the seek landed.
    public func seek(
        to time: CMTime, toleranceBefore: CMTime = .zero, toleranceAfter: CMTime = .zero,
        completionHandler: @escaping @Sendable (Bool) -> Void
    ) {
        let effect = beginSeek(time, toleranceBefore)
        Task { [weak self] in completionHandler(await self?.lands(effect) ?? false) }
    }

    private func beginSeek(_ time: CMTime, _ before: CMTime) -> PlayerEffect {
        guard let wanted = MediaTime(time), !hasStopped else { return .none }
        let target = seekLimit.withLock { $0 }.map { $0(wanted) } ?? wanted
        let resumes = actionAtItemEnd == .none && engine.snapshot.hasEnded
        let isWide = before.isPositiveInfinity || before.isNumeric && before > .zero && before >= time
        let effect = engine.seekEffect(to: target, precision: isWide ? .keyFrame() : .exact)
        if resumes { engine.play() }
        return effect
    }

    /// Waits until a seek is on the screen, or never will be.
    private func lands(_ effect: PlayerEffect) async -> Bool {
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

    /// All events from now on. Each call returns a sequence of its own; it ends with the player.
    public var events: AsyncStream<PlayerEvent> { board.events.stream() }

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

    /// Calls `observer` with the item time every `interval` (at least 10 ms) of real time, and at once after an event. Calls come on `queue`,
    /// or on a thread of the player if that is nil, until the observer is removed.
    public func addPeriodicTimeObserver(
        forInterval interval: CMTime, queue: DispatchQueue? = nil, using observer: @escaping @Sendable (CMTime) -> Void
    ) -> TimeObserver {
        TimeObserver(
            engine.addPeriodicTimeObserver(forInterval: MediaTime(interval) ?? .zero) { time in
                guard let queue else { return observer(CMTime(time)) }
                queue.async { observer(CMTime(time)) }
            })
    }

    /// Calls `observer` each time playback passes one of these item times, within some milliseconds. Calls come on `queue`, or on a thread of
    /// the player if that is nil, until the observer is removed. A seek across a time does not pass it.
    public func addBoundaryTimeObserver(
        forTimes times: [CMTime], queue: DispatchQueue? = nil, using observer: @escaping @Sendable () -> Void
    ) -> TimeObserver {
        TimeObserver(
            engine.addBoundaryTimeObserver(forTimes: times.compactMap { MediaTime($0) }) {
                guard let queue else { return observer() }
                queue.async(execute: observer)
            })
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
    package init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self.init(nanoseconds: overflow ? (seconds < 0 ? .min : .max) : whole)
        self = self + MediaTime(nanoseconds: attoseconds / 1_000_000_000)
    }

    /// The same as a duration.
    var duration: Duration { .nanoseconds(nanoseconds) }
}
