import KioskPlatform
import KioskVocabulary

/// The receiver of ``InputReader``'s events. Every function is called on the input thread and returns at once.
package struct InputHandler: Sendable {
    /// Takes the next event.
    package var handle: @Sendable (InputEvent) -> Void
    /// Returns the time to call `expire`, unless an event comes before; nil if there is no deadline. Called after each event.
    package var nextDeadline: @Sendable () -> HostTime?
    /// Handles the deadlines that are due.
    package var expire: @Sendable (HostTime) -> Void
    /// Whether something was touched and the idle time is running (``whenIdle(after:isTouched:unless:perform:)``).
    package var awaitsIdle: @Sendable () -> Bool = { false }

    /// Creates a handler; by default one without deadlines.
    package init(
        handle: @escaping @Sendable (InputEvent) -> Void, nextDeadline: @escaping @Sendable () -> HostTime? = { nil },
        expire: @escaping @Sendable (HostTime) -> Void = { _ in }
    ) {
        (self.handle, self.nextDeadline, self.expire) = (handle, nextDeadline, expire)
    }

    /// Returns a handler that also calls `perform` once nothing has been touched for `time` after a touch. With `isTouched`, a touch counts
    /// now. A held finger or key counts at its last event. If `isInUse` at that time, this counts as a touch: for example, while a camera
    /// records a viewer.
    package func whenIdle(
        after time: MediaTime, isTouched: Bool = false, unless isInUse: @escaping @Sendable () -> Bool = { false },
        perform: @escaping @Sendable (HostTime) -> Void
    ) -> InputHandler {
        var timer = IdleTimer(after: time)
        if isTouched { timer.touched(at: .now) }
        let watch = Monitor(timer)
        var result = InputHandler(
            handle: { event in
                watch.withLock { $0.touched(at: event.time) }
                handle(event)
            },
            nextDeadline: { [nextDeadline(), watch.withLock { $0.nextDeadline }].compactMap { $0 }.min() },
            expire: { now in
                if let due = watch.withLock({ $0.expire(at: now) }) {
                    if isInUse() { watch.withLock { $0.touched(at: now) } } else { perform(due) }
                }
                expire(now)
            })
        result.awaitsIdle = { watch.withLock { $0.nextDeadline != nil } }
        return result
    }

    /// Returns a handler without the events that `takes` takes.
    package func without(_ takes: @escaping @Sendable (InputEvent) -> Bool) -> InputHandler {
        var result = self
        result.handle = { if !takes($0) { handle($0) } }
        return result
    }
}

/// A timer for the time without touches, which expires once after each series of touches. A pure value.
package struct IdleTimer: Hashable, Sendable {
    private let time: MediaTime
    /// The time when it expires; nil if nothing was touched since it last expired.
    package private(set) var nextDeadline: HostTime?

    /// Creates a timer that waits for `time` after a first touch.
    package init(after time: MediaTime) { self.time = time }

    /// Restarts the timer.
    package mutating func touched(at now: HostTime) { nextDeadline = now + time }

    /// Returns the deadline if it has passed at `now`.
    package mutating func expire(at now: HostTime) -> HostTime? {
        guard let deadline = nextDeadline, deadline <= now else { return nil }
        nextDeadline = nil
        return deadline
    }
}
