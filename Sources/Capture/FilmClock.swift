import KioskPlatform

/// The time in a film: it starts with the first picture, and omits pauses. A pure value.
struct FilmClock: Hashable, Sendable {
    /// The time of the first picture.
    private(set) var start: HostTime?
    private var cut = MediaTime.zero
    /// When the current pause began.
    private(set) var pausedAt: HostTime?
    /// Past pauses, with the time that was omitted before each.
    private var pauses: [Pause] = []

    private struct Pause: Hashable, Sendable {
        var begin: HostTime, end: HostTime
        var cutBefore: MediaTime
    }

    var hasBegun: Bool { start != nil }
    var isPaused: Bool { pausedAt != nil }

    /// Starts the film with the first picture, at `time`.
    mutating func begin(at time: HostTime) { if start == nil { start = time } }

    /// Starts a pause at `time`.
    mutating func pause(at time: HostTime) { if pausedAt == nil, start != nil { pausedAt = time } }

    /// Ends the pause at `time`.
    mutating func resume(at time: HostTime) {
        guard let begin = pausedAt else { return }
        pauses.append(Pause(begin: begin, end: max(time, begin), cutBefore: cut))
        // Pictures and sound that are so late have been lost anyway.
        if pauses.count > 8 { pauses.removeFirst() }
        cut = cut + (max(time, begin) - begin)
        pausedAt = nil
    }

    /// Returns the position of `time` in the film; nil before the film and in pauses.
    func film(_ time: HostTime) -> MediaTime? {
        guard let start, time >= start else { return nil }
        if let pausedAt, time >= pausedAt { return nil }
        for pause in pauses.reversed() {
            if time >= pause.end { return time - start - pause.cutBefore - (pause.end - pause.begin) }
            if time >= pause.begin { return nil }
        }
        return time - start - (pauses.first?.cutBefore ?? .zero)
    }
}
