import KioskPlatform

/// What the compositor does next for an overlay that scenes contain, before it composes further frames. A pure value: what lies ready and
/// what is due when in, a step out.
///
/// First the frame on the screen is painted again, where there is a vblank for which none is due, and time enough after it. Then the frame
/// that is due next is prepared again. A frame never misses its vblank for the overlay: it stays ready meanwhile, and is exchanged when that
/// is done; where there is no time for that, it is shown as it is. A later one may be given up for its buffer, where there is time to compose
/// it again.
///
/// Where another overlay follows at the next vblank, as with a ticker, only what is seen before that is prepared again: the rest would be for nothing.
///
/// In a pause nothing is due; there, too, one frame stays ready, as it is due as soon as playing goes on.
struct OverlayPlan: Sendable {
    /// A frame that lies ready.
    struct Frame: Hashable, Sendable {
        var due: HostTime?
        /// Whether it shows another overlay than it is to, and whether that is an older one than is on the screen.
        var isStale: Bool, isOlder = false
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
    /// nil while no frame is due at any time, as in a pause, or the clock has no reading yet, as when playing has just begun.
    var pacing: Pacing?
    var isPlaying: Bool
    /// Whether another overlay is expected after the next vblank.
    var isMoving = false
    /// What lies ready; no second without a first.
    var first: Frame?, second: Frame?
    /// When the first frame that does not lie ready is due, and whether it is queued.
    var next: HostTime?, hasQueued: Bool
    /// Whether the frame on the screen shows another overlay than it is to.
    var screenIsStale: Bool
    /// Whether there may be a buffer to paint into, and whether one comes back with a flip that is under way.
    var hasBuffer: Bool, awaitsFlip = false

    /// What is not ready so long before its vblank counts as late: the presenter waits no longer for a frame that is being prepared again. A
    /// quarter of a period; a commit takes less than a millisecond, and whoever is to make it is real-time.
    static func margin(_ period: Double) -> MediaTime { MediaTime(nanoseconds: Int64(saturating: 0.25 * period)) }
    /// How long preparing is taken to last before it has been measured, as a share of a period.
    static let assumedShare = 0.6

    var step: Step {
        // A still may stand for hours before anything follows it, and no clock is asked meanwhile.
        guard let pacing else { return isPlaying && first == nil && !hasQueued ? repaintWhileNothingIsDue : stepWhileNothingIsDue }
        if screenIsStale, first != nil || !hasQueued, let flip = freeVblank(pacing) {
            if hasBuffer { return .repaint }
            if let second, leavesTime(flip, works: first?.isStale == true ? 2 : 1, until: second.due) { return .giveUpLast }
        }
        // There may be more time than it says.
        guard pacing.isSettled else { return stepWhileNothingIsDue }
        if let first, first.isStale, !isMoving || isDueNext(first, pacing), isInTime(first, after: 1) {
            if hasBuffer { return .renew(0) }
            if let second, isInTime(second, after: 2) { return .giveUpLast }
            return .none
        }
        if hasBuffer, !isMoving, let second, second.isStale, isInTime(second, after: 1) { return .renew(1) }
        return .none
    }

    private var stepWhileNothingIsDue: Step {
        // Playing goes on with it: what has been seen of an overlay must not give way to what was before.
        if let first, first.isStale, isPlaying || first.isOlder { return hasBuffer ? .renew(0) : .none }
        if isPlaying { return .none }
        if screenIsStale { return repaintWhileNothingIsDue }
        if let first, first.isStale { return hasBuffer ? .renew(0) : second != nil ? .giveUpLast : .none }
        if let second, second.isStale { return hasBuffer ? .renew(1) : .none }
        return .none
    }

    private var repaintWhileNothingIsDue: Step {
        guard screenIsStale else { return .none }
        if hasBuffer { return .repaint }
        // Of two buffers the other one is all there is.
        return second != nil || first != nil && !awaitsFlip ? .giveUpLast : .none
    }

    /// The vblank for which the frame on the screen can be painted again: one for which none is due, and after which, when its buffer comes
    /// back, there is time to prepare what is due next. nil where there is none.
    private func freeVblank(_ pacing: Pacing) -> HostTime? {
        var time = now + composeTime + Self.margin(pacing.period)
        // The next vblank is taken.
        if awaitsFlip { time = max(time, pacing.vblank(after: now) + .milliseconds(1)) }
        let flip = pacing.vblank(after: time)
        guard let due = first?.due ?? next else { return flip }
        // What should have come already is late by its own reader.
        if first == nil, due <= now { return flip }
        guard pacing.isBefore(flip, due) else { return nil }
        let isStale = first?.isStale == true
        if isStale, !leavesTime(flip, works: 1, until: due) { return nil }
        if hasQueued, second == nil, !leavesTime(flip, works: isStale ? 2 : 1, until: next) { return nil }
        return flip
    }

    private func leavesTime(_ flip: HostTime, works: Int64, until due: HostTime?) -> Bool {
        guard let pacing, let due else { return true }
        return flip + composeTime * works + Self.margin(pacing.period) <= due
    }

    private func isDueNext(_ frame: Frame, _ pacing: Pacing) -> Bool {
        frame.due.map { !pacing.isBefore(pacing.vblank(after: now), $0) } ?? true
    }

    private func isInTime(_ frame: Frame, after works: Int64) -> Bool {
        guard let pacing, let due = frame.due else { return true }
        return now + composeTime * works + Self.margin(pacing.period) <= due
    }
}

/// How long scenes take to be prepared: the longest of late. A pure value.
struct ComposeTime: Hashable, Sendable {
    private var longest: MediaTime?

    /// One took so long. What is longer counts at once, what is shorter is believed after a second or two.
    mutating func took(_ time: MediaTime) {
        longest = longest.map { max(time, $0 - ($0 - time).scaled(by: 1.0 / 64)) } ?? time
    }

    /// What the next one is taken to last.
    func expected(_ period: MediaTime) -> MediaTime { longest ?? period.scaled(by: OverlayPlan.assumedShare) }
}
