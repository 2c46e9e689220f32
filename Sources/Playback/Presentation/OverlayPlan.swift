import Platform

/// What the compositor does next for an overlay that scenes contain, before it composes further frames. A pure value: what lies ready and
/// what is due when in, a step out.
///
/// A frame never misses its vblank for the overlay. So the frame that is due next stays ready while it is prepared again, and is exchanged
/// when that is done; where there is no time for that, it is shown as it is. A later one may be given up for its buffer, where there is time
/// to compose it again. Then the frame on the screen is painted again, for a vblank for which none is due.
///
/// In a pause nothing is due: there the frame on the screen is first.
struct OverlayPlan: Sendable {
    /// A frame that lies ready.
    struct Frame: Hashable, Sendable {
        /// The vblank it is due for.
        var due: HostTime?
        /// Whether it shows another overlay than it is to.
        var isStale: Bool
    }

    enum Step: Hashable, Sendable {
        /// Nothing: compose what is queued.
        case none
        /// Paint the frame on the screen again.
        case repaint
        /// Prepare the ready frame of this place again.
        case renew(Int)
        /// Take the last ready frame back into the queue, for its buffer.
        case giveUpLast
    }

    var now: HostTime
    /// How long a scene takes to be prepared.
    var composeTime: MediaTime
    /// nil while no frame is due at any time, as in a pause.
    var pacing: Pacing?
    /// What lies ready; no second without a first.
    var first: Frame?, second: Frame?
    /// When the first frame that does not lie ready is due.
    var next: HostTime?
    /// Whether the frame on the screen shows another overlay than it is to.
    var screenIsStale: Bool
    /// Whether there may be a buffer to paint into.
    var hasBuffer: Bool

    /// What is not ready so long before its vblank counts as late: the presenter waits no longer for a frame that is being prepared again. A
    /// quarter of a period; a commit takes less than a millisecond, and whoever is to make it is real-time.
    static func margin(_ period: Double) -> MediaTime { MediaTime(nanoseconds: Int64(saturating: 0.25 * period)) }
    /// How long preparing is taken to last before it has been measured, as a share of a period.
    static let assumedShare = 0.6

    /// The next step.
    var step: Step {
        guard let pacing else { return stepWhileNothingIsDue }
        if let first, first.isStale, isInTime(first, after: 1) {
            if hasBuffer { return .renew(0) }
            if let second, isInTime(second, after: 2) { return .giveUpLast }
            return .none
        }
        guard hasBuffer else { return .none }
        // What is due next is right, or will be seen as it is.
        if screenIsStale, first != nil || next == nil, mayRepaint(pacing) { return .repaint }
        if let second, second.isStale, isInTime(second, after: 1) { return .renew(1) }
        return .none
    }

    private var stepWhileNothingIsDue: Step {
        let last = second ?? first
        if screenIsStale { return hasBuffer ? .repaint : last == nil ? .none : .giveUpLast }
        if let first, first.isStale { return hasBuffer ? .renew(0) : .giveUpLast }
        if let second, second.isStale { return hasBuffer ? .renew(1) : .giveUpLast }
        return .none
    }

    /// Whether there is a vblank for which no frame is due and for which the repainted one can be committed; and whether what is due later can
    /// still be composed when its buffer comes back.
    private func mayRepaint(_ pacing: Pacing) -> Bool {
        let margin = Self.margin(pacing.period)
        let flip = pacing.vblank(after: now + composeTime + margin)
        guard isBefore(flip, first?.due ?? next, pacing) else { return false }
        guard second == nil, let next else { return true }
        return flip + composeTime + margin <= next
    }

    private func isBefore(_ flip: HostTime, _ due: HostTime?, _ pacing: Pacing) -> Bool {
        due.map { flip + MediaTime(nanoseconds: Int64(saturating: 0.5 * pacing.period)) < $0 } ?? true
    }

    private func isInTime(_ frame: Frame, after works: Int64) -> Bool {
        guard let pacing, let due = frame.due else { return true }
        return now + composeTime * works + Self.margin(pacing.period) <= due
    }
}

/// How long scenes take to be prepared: the longest of late. A pure value.
struct ComposeTime: Hashable, Sendable {
    private var longest: MediaTime?

    /// One took so long. What is longer counts at once, what is shorter by an eighth.
    mutating func took(_ time: MediaTime) {
        longest = longest.map { max(time, $0 - ($0 - time).scaled(by: 0.125)) } ?? time
    }

    /// What the next one is taken to last.
    func expected(_ period: MediaTime) -> MediaTime { longest ?? period.scaled(by: OverlayPlan.assumedShare) }
}
