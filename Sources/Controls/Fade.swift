import KioskPlatform

/// An opacity that goes to 0 or 1 in ``duration``. A pure value.
struct Fade: Hashable, Sendable {
    static let duration = MediaTime.milliseconds(250)

    /// Where it goes.
    private(set) var target = 0.0
    private var origin = 0.0
    private var begin = HostTime(nanoseconds: 0)

    /// Begins to go to 1, or to 0, from where it is; what goes there already goes on.
    mutating func go(to isSeen: Bool, at time: HostTime) {
        let next = isSeen ? 1.0 : 0.0
        if next == target { return }
        (origin, begin) = (value(at: time), time)
        target = next
    }

    /// Is there at once.
    mutating func jump(to isSeen: Bool) {
        target = isSeen ? 1 : 0
        origin = target
    }

    /// How much is seen, 0…1.
    func value(at time: HostTime) -> Double {
        // Half way back takes half the time.
        let length = Self.duration.seconds * abs(target - origin)
        if length <= 0 { return target }
        let part = min(max((time - begin).seconds / length, 0), 1)
        return origin + (target - origin) * part
    }

    /// Whether it changes after `time`.
    func isUnderWay(at time: HostTime) -> Bool { value(at: time) != target }
}
