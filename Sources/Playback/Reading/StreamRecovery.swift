import KioskPlatform

/// When a stream that has broken off is opened again: after 0.5 s, 1 s, 2 s and so on, every 30 s at last. A pure value.
///
/// It is *awaited* until its time is over (`reconnect`), with its last picture up; then it is *lost*, and something else is played while it
/// is still asked for.
struct StreamRecovery: Hashable, Sendable {
    static let firstDelay = MediaTime.milliseconds(500)
    static let longestDelay = MediaTime.seconds(30)

    /// What is opened, and from where on.
    var position: PlaylistCursor.Position
    /// Until when its last picture stands.
    let deadline: HostTime
    /// When it is opened next; nil while that is under way.
    private(set) var attemptAt: HostTime?
    /// Whether it was there again and broke off at once: there may be nothing behind that place.
    private(set) var hasBrokenOffAgain = false
    private var delay = firstDelay

    /// It has broken off at `now`.
    init(_ position: PlaylistCursor.Position, reconnect: MediaTime, at now: HostTime) {
        self.position = position
        deadline = now + reconnect
        failed(at: now)
    }

    /// It is being opened.
    mutating func began() { attemptAt = nil }

    /// It could not be opened, or has broken off again at once.
    mutating func failed(at now: HostTime) {
        attemptAt = now + delay
        delay = min(delay + delay, Self.longestDelay)
    }

    /// It is to be opened at `now`, and as soon as at first after that.
    mutating func hasten(at now: HostTime) { (attemptAt, delay) = (now, Self.firstDelay) }

    /// It was opened from `position` on, and has broken off there.
    mutating func brokeOffAgain(_ position: PlaylistCursor.Position, at now: HostTime) {
        (self.position, hasBrokenOffAgain) = (position, true)
        failed(at: now)
    }

    /// Whether its last picture is to stand no longer.
    func isOver(at now: HostTime) -> Bool { now >= deadline }

    /// When there is something to do: it is to be opened, or given up.
    var due: HostTime { min(attemptAt ?? deadline, deadline) }
}
