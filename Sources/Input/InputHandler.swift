import KioskPlatform
import KioskVocabulary

/// What ``InputReader`` hands events to. All of it is called on the input thread and returns at once.
package struct InputHandler: Sendable {
    /// Takes the next event.
    package var handle: @Sendable (InputEvent) -> Void
    /// When `expire` is to be called, unless an event comes before; nil where there is nothing to wait for. Asked after each call.
    package var nextDeadline: @Sendable () -> HostTime?
    /// Does what is due.
    package var expire: @Sendable (HostTime) -> Void
    /// Whether something has been touched, and is waited for that nothing is any more (``whenIdle(after:isTouched:perform:)``).
    package var awaitsIdle: @Sendable () -> Bool = { false }

    /// A handler; one that has nothing to wait for by default.
    package init(
        handle: @escaping @Sendable (InputEvent) -> Void, nextDeadline: @escaping @Sendable () -> HostTime? = { nil },
        expire: @escaping @Sendable (HostTime) -> Void = { _ in }
    ) {
        (self.handle, self.nextDeadline, self.expire) = (handle, nextDeadline, expire)
    }

    /// The same, and `perform` once nothing has been touched for `time` after something was; with `isTouched` that is now. A finger or a key that
    /// is held counts at its last event. While `isInUse` that waits: it counts as a touch, as when somebody is recorded who stands before a camera.
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

    /// The same without the events that `takes` takes.
    package func without(_ takes: @escaping @Sendable (InputEvent) -> Bool) -> InputHandler {
        var result = self
        result.handle = { if !takes($0) { handle($0) } }
        return result
    }
}

/// Says when nobody has touched anything for a while, once after each time somebody has. A pure value.
package struct IdleTimer: Hashable, Sendable {
    private let time: MediaTime
    /// When it is due; nil when nobody has touched anything since it was last.
    package private(set) var nextDeadline: HostTime?

    /// A timer that waits for `time` after a first touch.
    package init(after time: MediaTime) { self.time = time }

    /// Something is touched.
    package mutating func touched(at now: HostTime) { nextDeadline = now + time }

    /// The time since which nobody has touched anything for long enough, if that is so at `now`.
    package mutating func expire(at now: HostTime) -> HostTime? {
        guard let deadline = nextDeadline, deadline <= now else { return nil }
        nextDeadline = nil
        return deadline
    }
}
