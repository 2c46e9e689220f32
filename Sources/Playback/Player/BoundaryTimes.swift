import KioskPlatform

/// Which of some item times playing has passed. A pure value: where the item is, and when, in; whether one was passed out.
///
/// What leaps farther than playing could have gone since the last look is a seek, or another item: it passes nothing.
struct BoundaryTimes: Sendable {
    private let times: [MediaTime]
    private var last: (time: MediaTime, at: HostTime)?

    /// A look takes place this often at least while it plays: the rate may change, which nobody tells.
    static let longestWait = MediaTime.milliseconds(200)
    /// How much farther than its rate says an item may be: observers are called late, and clocks are put right.
    private static let slack = MediaTime.milliseconds(300)

    init(_ times: [MediaTime]) { self.times = times.sorted() }

    /// The item is at `time` now. Whether a boundary lies between there and the last look.
    mutating func look(_ time: MediaTime, rate: Double, at now: HostTime) -> Bool {
        defer { last = (time, now) }
        guard let last, time > last.time else { return false }
        if time - last.time > (now - last.at).scaled(by: max(rate, 0.5)) + Self.slack { return false }
        return times.contains { $0 > last.time && $0 <= time }
    }

    /// When to look next, where the item plays at this rate.
    func nextLook(rate: Double, at now: HostTime) -> HostTime {
        guard let last, let next = times.first(where: { $0 > last.time }) else { return now + Self.longestWait }
        let wait = (next - last.time).scaled(by: 1 / max(rate, 0.1))
        return now + min(max(wait, .milliseconds(1)), Self.longestWait)
    }
}
