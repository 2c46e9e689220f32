import KioskPlatform

/// Looks whether whoever renders is late for more than its thread's wake-up: whether it hangs in a call of the sound card. A pure value: how far
/// the card must be, and how far has been rendered, in; a verdict out.
///
/// Only what has been seen twice counts, with ``limit`` between: a process that stood still, machine and all, is late at the first look after it.
struct RenderingWatch: Sendable {
    enum Verdict: UInt8, Hashable, Sendable {
        case onTime
        /// To be looked at again soon.
        case late
        /// Somebody has to stand in (``PCMOutput/standIn()``).
        case overdue
    }

    /// How long nothing may be rendered after the card has come to the end of all there was.
    static let limit = MediaTime.milliseconds(40)
    /// The same, and two pieces as the card takes them, where it has not told yet where it is: it is being started.
    static let longestStart = MediaTime.milliseconds(100)

    /// How much had been rendered when it was late for the first time, and when that was.
    private var late: (rendered: Int64, since: HostTime)?

    /// A look at `now`. `isLate`: the card has come to the end of the `rendered` frames; nil where it has not told yet where it is. It takes
    /// `piece` at a time.
    mutating func look(isLate: Bool?, rendered: Int64, piece: MediaTime, at now: HostTime) -> Verdict {
        if isLate == false {
            late = nil
            return .onTime
        }
        guard let late, late.rendered == rendered else {
            late = (rendered, now)
            return isLate == nil ? .onTime : .late
        }
        let limit = isLate == nil ? Self.longestStart + piece * 2 : Self.limit
        return now - late.since >= limit ? .overdue : isLate == nil ? .onTime : .late
    }
}
