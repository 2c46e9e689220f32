import KioskPlatform

/// Decides the compositor's next step for an overlay that scenes contain, before it composes further frames. A pure value: ready frames and
/// due times in, a step out.
///
/// First the plan repaints the frame on the screen, if there is a vblank without a due frame, and time enough after it. Then it prepares
/// the frame that is due next again. A frame never misses its vblank for the overlay: it stays ready until its replacement is done. If
/// there is no time for that, it is shown as it is. The plan may give up a later frame for its buffer, if there is time to compose it
/// again.
///
/// If another overlay follows at the next vblank, as with a ticker, the plan only prepares scenes that are visible before it.
///
/// In a pause nothing is due. Even then one frame stays ready, because it is due as soon as playback resumes.
struct OverlayPlan: Sendable {
    /// A ready frame.
    struct Frame: Hashable, Sendable {
        var due: HostTime?
        /// Whether the frame shows another overlay than it has to, and whether that one is older than the one on the screen.
        var isStale: Bool, isOlder = false
    }

    enum Step: Hashable, Sendable {
        /// Nothing: compose the queued frames.
        case none
        /// Repaint the frame on the screen.
        case repaint
        /// Prepare the ready frame at this place again.
        case renew(Int)
        /// Move the last ready frame back into the queue, for its buffer.
        case giveUpLast
    }

    var now: HostTime
    /// The time that a scene takes to prepare.
    var composeTime: MediaTime
    /// nil while no frame is due at any time, as in a pause, or until the clock has a reading, as when playback has just started.
    var pacing: Pacing?
    var isPlaying: Bool
    /// Whether another overlay is expected after the next vblank.
    var isMoving = false
    /// The ready frames. There is no second one without a first.
    var first: Frame?, second: Frame?
    /// The due time of the first frame that is not ready, and whether it is queued.
    var next: HostTime?, hasQueued: Bool
    /// Whether the frame on the screen shows another overlay than it has to.
    var screenIsStale: Bool
    /// Whether there may be a buffer to paint into, and whether a pending flip frees one.
    var hasBuffer: Bool, awaitsFlip = false

    /// Returns the time before a vblank at which an unready frame counts as late: the presenter then stops waiting for a frame that is
    /// being prepared again. It is a quarter of a period. A commit takes less than a millisecond, and its thread is real-time.
    static func margin(_ period: Double) -> MediaTime { MediaTime(nanoseconds: Int64(saturating: 0.25 * period)) }
    /// The assumed time to prepare a scene until it has been measured, as a share of a period.
    static let assumedShare = 0.6

    var step: Step {
        // A still may stand for hours before anything follows it, without a clock reading.
        guard let pacing else { return isPlaying && first == nil && !hasQueued ? repaintWhileNothingIsDue : stepWhileNothingIsDue }
        if screenIsStale, first != nil || !hasQueued, let flip = freeVblank(pacing) {
            if hasBuffer { return .repaint }
            if let second, leavesTime(flip, works: first?.isStale == true ? 2 : 1, until: second.due) { return .giveUpLast }
        }
        // There may be more time than the pacing says.
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
        // Playback resumes with this frame: it must not bring back an older overlay than the one already seen.
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
        // With two buffers, the other one is the only choice.
        return second != nil || first != nil && !awaitsFlip ? .giveUpLast : .none
    }

    /// Returns the vblank at which the frame on the screen can be repainted: one without a due frame, after which there is time to prepare
    /// the next due frame once the buffer comes back. nil if there is none.
    private func freeVblank(_ pacing: Pacing) -> HostTime? {
        var time = now + composeTime + Self.margin(pacing.period)
        // A commit is pending for the next vblank.
        if awaitsFlip { time = max(time, pacing.vblank(after: now) + .milliseconds(1)) }
        let flip = pacing.vblank(after: time)
        guard let due = first?.due ?? next else { return flip }
        // The frame should have come already: its reader is late.
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

/// The time that scenes take to prepare: the recent maximum. A pure value.
struct ComposeTime: Hashable, Sendable {
    private var longest: MediaTime?

    /// Records the time of one preparation. A longer time counts at once; a shorter one takes effect over a second or two.
    mutating func took(_ time: MediaTime) {
        longest = longest.map { max(time, $0 - ($0 - time).scaled(by: 1.0 / 64)) } ?? time
    }

    /// Returns the expected time of the next preparation.
    func expected(_ period: MediaTime) -> MediaTime { longest ?? period.scaled(by: OverlayPlan.assumedShare) }
}
