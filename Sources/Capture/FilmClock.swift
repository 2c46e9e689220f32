import KioskPlatform

/// The film's time: it begins with the first picture, and pauses are cut out. A pure value.
struct FilmClock: Hashable, Sendable {
    /// When the first picture was taken.
    private(set) var start: HostTime?
    private var cut = MediaTime.zero
    /// Since when it pauses.
    private(set) var pausedAt: HostTime?
    /// Pauses that are over, and how much had been cut out before each.
    private var pauses: [Pause] = []

    private struct Pause: Hashable, Sendable {
        var begin: HostTime, end: HostTime
        var cutBefore: MediaTime
    }

    var hasBegun: Bool { start != nil }
    var isPaused: Bool { pausedAt != nil }

    /// The first picture is from `time`.
    mutating func begin(at time: HostTime) { if start == nil { start = time } }

    /// Nothing from `time` on belongs to the film.
    mutating func pause(at time: HostTime) { if pausedAt == nil, start != nil { pausedAt = time } }

    /// It goes on with what is from `time` on.
    mutating func resume(at time: HostTime) {
        guard let begin = pausedAt else { return }
        pauses.append(Pause(begin: begin, end: max(time, begin), cutBefore: cut))
        // What comes later than a few seconds has been lost anyway.
        if pauses.count > 8 { pauses.removeFirst() }
        cut = cut + (max(time, begin) - begin)
        pausedAt = nil
    }

    /// Where in the film `time` is; nil before its beginning and in pauses.
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
