import KioskPlatform

/// Decides which frame the next vblank shows. A pure value: vblank times, clock readings and frame times in, a decision out.
///
/// The vblanks set the pace; the clock sets the timeline instant. The scheduler keeps the grid of vblanks and a *position*: the timeline
/// instant that a vblank shows. From vblank to vblank it advances the position by a fixed *step* and does not read the clock afresh.
/// Otherwise clock jitter would move frames whose edges fall near a vblank to and fro by one vblank.
///
/// If the frame duration is a simple ratio of the refresh period within ±0.5 %, the scheduler is *locked* to the display (30 on 60 Hz: 2
/// vblanks a frame; 24 on 60 Hz: 5 vblanks for two frames). The step is then that ratio exactly. The position stays half-way between the
/// instants at which frames can change, as far from any edge as possible. Every frame then stands for exactly its number of vblanks, for
/// any running time. The sound follows (``SoundLock``), so frames appear at the vblank nearest to their sound. Without a lock the step is
/// the refresh period, and the scheduler pulls the position gently towards the clock.
///
/// The position jumps only if it differs from the clock by more than ``tolerance(isLocked:)``. It then takes the clock's instant; while
/// locked, the nearest place half-way between frame changes. The frame that is due is the newest one that begins at or before the position.
/// The scheduler drops older frames that were never shown.
///
/// The sound of a live stream keeps to its sender (``LiveClock``), so the position has to follow. It stays locked. It moves to the next
/// place half-way between frame changes once the sound is nearer to that, with ``senderMargin`` to spare. So a frame stands a vblank more
/// or less each time the sender gains or loses a vblank against the display, and no more often.
///
/// If consecutive items differ in rate, or an item is no whole number of vblanks long, the position moves by less than a vblank. It moves
/// to the side that brings the picture nearer to its sound, unless that skips a frame.
///
/// A late frame is shown late if no later frame that is due is prepared. While locked, and while the picture stays within
/// ``lockedTolerance`` of its sound, the position moves back: nothing is dropped, and the sound follows (``slip(to:heard:within:)``).
/// Beyond that the scheduler publishes the instant that the next vblank shows (``overdue``), and the compositor skips frames that end
/// before it. So after a stall of any length one or two frames suffice to recover, without a burst of old frames or a slow catch-up.
struct FrameScheduler: Sendable {
    /// A frame's place on the timeline.
    struct Frame: Hashable, Sendable {
        var start: MediaTime
        /// The nominal duration of a frame of this item; nil if the item has no nominal rate.
        var cadence: MediaTime?
    }

    /// The scheduler's decision.
    enum Decision: Hashable, Sendable {
        /// Flip to the candidate with this index at this vblank, and drop the ones before it. The candidate is `late` vblanks behind its
        /// time.
        case show(Int, late: Int, vblank: HostTime)
        /// Nothing is due for the next vblank; decide again at this time.
        case wake(HostTime)
        /// Nothing to decide until something changes.
        case idle
    }

    /// The time before a vblank within which a commit may miss that vblank.
    let commitTime: MediaTime
    private let nominalPeriod: Double
    private(set) var period: Double
    private var anchor: HostTime?
    private var anchorIndex: Int64 = 0
    private var flips = 0
    private var lock: Lock?
    /// Whether a frame has been shown since ``unlock()``. Until then a move of the position is invisible, and the clock's first readings
    /// are its worst.
    private var hasShown = false
    private var sound = SoundLock()

    private struct Lock: Hashable, Sendable {
        var cadence: MediaTime?
        var step: Double
        var phase: Double?
        var position: Double
        var index: Int64
    }

    /// Creates a scheduler for a display that has this refresh period and has not flipped yet.
    init(refreshPeriod: MediaTime, commitTime: MediaTime = MediaTime(nanoseconds: 700_000)) {
        self.commitTime = commitTime
        nominalPeriod = Double(max(1_000_000, refreshPeriod.nanoseconds))
        period = nominalPeriod
    }

    /// Returns the largest difference between position and clock before the position jumps. Half a period may exist from the start; the
    /// rest leaves room for clock jitter. While locked, the sound follows and needs time for it: half a minute for the largest difference
    /// that viewers do not notice (ITU-R BT.1359: sound 45 ms early).
    private func tolerance(isLocked: Bool) -> Double {
        let tolerance = 0.6 * period + 4_000_000
        return isLocked ? max(Double(Self.lockedTolerance.nanoseconds), tolerance) : tolerance
    }
    static let lockedTolerance = MediaTime.milliseconds(35)
    /// The distance beyond half-way to the next place at which the position of a live stream moves there, in nanoseconds. It is larger than
    /// the clock's jitter, which would otherwise move the position to and fro.
    static let senderMargin = 4_000_000.0
    /// The share of its distance from the clock that the position gives up at each decision without a lock.
    private static let pull = 0.05

    /// The timeline instant at the next vblank, if frames come too late for it. Frames that end before it are not worth preparing.
    private(set) var overdue: MediaTime?

    /// The number of samples to play in the time of one.
    var soundRatio: Double { senderRatio ?? sound.ratio }

    /// The playing speed of a live stream (``LiveClock``): the sound keeps to it, and the position follows. nil for everything else.
    var senderRatio: Double?
    /// Whether the scheduler has asked the compositor to skip a frame of a live stream.
    private var passesOver = false

    /// Records the time of a vblank at which a flip took effect.
    mutating func flipped(at time: HostTime) {
        guard let last = anchor else {
            anchor = time
            return
        }
        let elapsed = Double((time - last).nanoseconds)
        let count = (elapsed / period).rounded()
        guard count >= 1 else { return }
        let error = elapsed - count * period
        if abs(error) > 0.25 * period || count > 600 {
            anchor = time  // a new grid: the mode changed, or the display slept
        } else {
            anchor = last + MediaTime(nanoseconds: Int64(saturating: count * period + 0.25 * error))
            // Averages ever more slowly, so that the remaining jitter of the timestamps does not move the grid.
            flips += 1
            period += max(0.002, 0.1 / Double(flips)) * error / count
            period = min(max(period, 0.98 * nominalPeriod), 1.02 * nominalPeriod)
        }
        anchorIndex &+= Int64(saturating: count)
    }

    /// Whether the scheduler is locked to the display. If so, a decision that finds a frame late moves the position.
    var isLocked: Bool { lock?.phase != nil }

    /// The relation between vblanks and timeline after the last decision; nil before the first one.
    var pacing: Pacing? {
        guard let lock, let anchor else { return nil }
        let vblanks = Double(lock.index &- anchorIndex)
        return Pacing(
            anchor: anchor + MediaTime(nanoseconds: Int64(saturating: vblanks * period)),
            position: lock.position + (hasShown ? 0 : lock.step), step: lock.step, period: period, isSettled: hasShown)
    }

    /// Whether no flip has been reported yet.
    var hasNoGrid: Bool { anchor == nil }

    /// Forgets the position. Call it after a pause, a seek or anything else that sets the clock.
    mutating func unlock() {
        lock = nil
        hasShown = false
        overdue = nil
        sound.release()
    }

    /// Returns the frame of `ready` (oldest first) to show at the next vblank after `now`. `clock` gives the timeline instant at a host
    /// time, or nil while the timeline stands still.
    mutating func decide(now: HostTime, ready: [Frame], clock: (HostTime) -> MediaTime?) -> Decision {
        guard let first = ready.first else { return .idle }
        overdue = nil
        let (vblank, index) = nextVblank(after: now + commitTime)
        guard let time = clock(vblank) else { return .idle }
        let (step, phase) = Self.step(cadence: first.cadence, period: nominalPeriod)
        // A frame belongs to the vblank nearest to its instant: up to half a step before or after it.
        let heard = Double(time.nanoseconds) + 0.5 * step
        let position = advanced(to: index, heard: heard, step: step, phase: phase, ready: ready)
        // This shortly before a vblank a commit may still be in time for it. A frame that is due only for the next vblank waits until this
        // one has passed.
        let (soon, _) = nextVblank(after: now)
        if soon < vblank, Double(first.start.nanoseconds) > position - step {
            return .wake(soon + MediaTime(nanoseconds: Int64(saturating: 0.25 * period)))
        }
        if let due = ready.lastIndex(where: { Double($0.start.nanoseconds) <= position }) {
            if !hasShown { return .show(beginning(upTo: due, of: ready, heard: heard), late: 0, vblank: vblank) }
            // The pull's own share of the difference does not count.
            let late = lateness(of: ready[due]) - (phase == nil ? Self.pull : 0)
            if late >= 1, due == ready.count - 1, !slip(to: ready[due], heard: heard) {
                overdue = MediaTime(nanoseconds: Int64(saturating: position + step))
            }
            return .show(due, late: max(0, Int(saturating: late.rounded(.towardZero))), vblank: vblank)
        }
        var vblanks = ((Double(first.start.nanoseconds) - position) / step).rounded(.up)
        // The clock's pull, or its next readings, may make the frame due a vblank earlier.
        if phase == nil || !hasShown, vblanks > 2 { vblanks -= 1 }
        // Wakes just after the vblank before the due one, when the previous flip is certainly done.
        let wake = vblank + MediaTime(nanoseconds: Int64(saturating: (vblanks - 1) * period + 0.25 * period))
        return .wake(wake)
    }

    /// Returns the number of vblanks by which the position is past a frame's beginning.
    private func lateness(of frame: Frame) -> Double { (lock!.position - Double(frame.start.nanoseconds)) / lock!.step }

    /// Returns the index of the first frame to show. A clock that has just started can jump past the beginning of a frame that was never
    /// shown. While locked, the scheduler shows that frame for its whole time anyway, if this delays it by no more than a vblank beyond the
    /// minimum.
    private mutating func beginning(upTo due: Int, of ready: [Frame], heard: Double) -> Int {
        hasShown = true
        return (0...due).first { slip(to: ready[$0], heard: heard, within: 1.5 * lock!.step) } ?? due
    }

    /// Moves the position back for a frame that was not ready in time. While locked, every later frame would come as late, because the due
    /// frame would always be one ahead of the ready one. So the position moves back and the sound follows, but no further than
    /// ``tolerance(isLocked:)``.
    private mutating func slip(to frame: Frame, heard: Double, within limit: Double = .infinity) -> Bool {
        guard let current = lock, current.phase != nil else { return false }
        let position = current.position - lateness(of: frame).rounded(.down) * current.step
        guard abs(heard - position) <= min(limit, tolerance(isLocked: true)) else { return false }
        lock!.position = position
        return true
    }

    /// Returns the first vblank after `time`, and its number on the grid.
    private func nextVblank(after time: HostTime) -> (HostTime, Int64) {
        guard let anchor else { return (time, anchorIndex) }
        let count = max(1, (Double((time - anchor).nanoseconds) / period).rounded(.down) + 1)
        return (anchor + MediaTime(nanoseconds: Int64(saturating: count * period)), anchorIndex &+ Int64(saturating: count))
    }

    private mutating func advanced(to index: Int64, heard: Double, step: Double, phase: Double?, ready: [Frame]) -> Double {
        let next = ready[0]
        if let current = lock, hasShown {
            let vblanks = Double(index &- current.index)
            var position = current.position + vblanks * current.step
            if let phase {
                let offset = Self.offset(position, of: next, step: step, phase: phase)
                if current.cadence != next.cadence || current.phase != phase || abs(offset - offset.rounded()) > 0.25 {
                    position = Self.realigned(position, heard: heard, to: next, step: step, phase: phase)
                }
                if senderRatio != nil { position = followed(position, heard: heard, step: step, unit: 2 * phase * step, ready: ready) }
            } else {
                position += Self.pull * (heard - position)
            }
            if abs(heard - position) <= tolerance(isLocked: phase != nil) {
                lock = Lock(cadence: next.cadence, step: step, phase: phase, position: position, index: index)
                if phase == nil || senderRatio != nil {
                    sound.release()
                } else if vblanks > 0 {
                    sound.follow(error: (position - heard) / 1e9, elapsed: vblanks * period / 1e9, speed: step / nominalPeriod)
                }
                return position
            }
        }
        sound.release()
        var position = heard
        if let phase {
            let offset = Self.offset(heard, of: next, step: step, phase: phase)
            position += (offset.rounded() - offset) * 2 * phase * step
        }
        lock = Lock(cadence: next.cadence, step: step, phase: phase, position: position, index: index)
        return position
    }

    /// Returns the position of a live stream, or the next place half-way between frame changes if that is nearer to the sound. No frame
    /// becomes late by the move: if the next frame would, the position waits for the one after. At one frame a vblank the only way is to
    /// skip a frame: a ready one, or the next to be prepared (``overdue``). Once the scheduler has requested a skip, clock jitter does not
    /// cancel it.
    private mutating func followed(_ position: Double, heard: Double, step: Double, unit: Double, ready: [Frame]) -> Double {
        let wasPassingOver = passesOver
        passesOver = false
        guard abs(heard - position) > 0.5 * unit + (wasPassingOver ? 0 : Self.senderMargin) else { return position }
        if heard < position { return position - unit }
        let ahead = position + unit
        func isInTime(_ frame: Frame) -> Bool { ahead - Double(frame.start.nanoseconds) < step }
        if isInTime(ready[0]) { return ahead }
        guard Double(ready[0].cadence?.nanoseconds ?? 0) <= step else { return position }
        if ready.count > 1, isInTime(ready[1]) { return ahead }
        passesOver = true
        overdue = MediaTime(nanoseconds: Int64(saturating: ahead + step))
        return position
    }

    /// Returns the index of a position among the places half-way between two possible frame changes, counted from the first one after
    /// `next` begins. The result is a whole number if the position lies on such a place.
    private static func offset(_ position: Double, of next: Frame, step: Double, phase: Double) -> Double {
        (position - Double(next.start.nanoseconds)) / (2 * phase * step) - 0.5
    }

    /// Returns the place half-way between frame changes before or after `position`, whichever is nearer to the sound, but none that skips a
    /// frame. Without this the picture would drift from its sound after items that are no whole number of vblanks long.
    private static func realigned(_ position: Double, heard: Double, to next: Frame, step: Double, phase: Double) -> Double {
        let unit = 2 * phase * step
        let offset = offset(position, of: next, step: step, phase: phase)
        let lower = position - (offset - offset.rounded(.down)) * unit
        let upper = lower + unit
        let cadence = Double(next.cadence?.nanoseconds ?? 0)
        return heard - lower < 0.5 * unit || upper >= Double(next.start.nanoseconds) + cadence ? lower : upper
    }

    /// Returns the timeline's advance from vblank to vblank, and the place of the position between two possible frame changes as a fraction
    /// of the step. The phase is nil if the rate does not fit the refresh.
    static func step(cadence: MediaTime?, period: Double) -> (step: Double, phase: Double?) {
        guard let cadence, cadence > .zero else { return (period, nil) }
        let vblanks = Double(cadence.nanoseconds) / period
        for frames in 1...5 {
            let exact = vblanks * Double(frames)
            let whole = exact.rounded()
            // Beyond a dozen vblanks a pattern is no longer simple, and a speed error of 0.5 % costs more than the lock gains.
            if whole >= 1, frames == 1 || whole <= 12, abs(exact / whole - 1) <= 0.005 {
                return (Double(cadence.nanoseconds) * Double(frames) / whole, 0.5 / Double(frames))
            }
        }
        return (period, nil)
    }
}

/// The relation between vblanks and timeline instants as of the scheduler's last decision, for planning outside the scheduler.
struct Pacing: Hashable, Sendable {
    /// A vblank, and the timeline instant that it shows, in nanoseconds.
    var anchor: HostTime
    var position: Double
    /// The timeline's advance from vblank to vblank, and the time between them, in nanoseconds.
    var step: Double, period: Double
    /// Whether a frame has been shown since the clock was set. Before that the clock's next readings may move the position, so every frame
    /// counts as due a vblank earlier.
    var isSettled = true

    /// Returns the vblank at which a frame that begins at `start` is due.
    func vblank(of start: MediaTime) -> HostTime {
        vblank(min(max(((Double(start.nanoseconds) - position) / step).rounded(.up), -1e9), 1e9))
    }

    func vblank(after time: HostTime) -> HostTime { vblank((Double((time - anchor).nanoseconds) / period).rounded(.down) + 1) }

    /// Returns whether a flip at one vblank is over before the other one.
    func isBefore(_ flip: HostTime, _ due: HostTime) -> Bool { flip + MediaTime(nanoseconds: Int64(saturating: 0.5 * period)) < due }

    private func vblank(_ count: Double) -> HostTime { anchor + MediaTime(nanoseconds: Int64(saturating: count * period)) }
}

/// The speed correction that keeps the sound with pictures that are locked to the display.
///
/// Two crystals never agree: a display and a card some hundred parts per million apart lose a vblank against each other every minute. And
/// 23.976 frames a second on 24 Hz are a thousandth too fast by intent. One side has to yield. Viewers see a frame that stands a vblank too
/// long, but do not hear a pitch that is a thousandth higher. So the sound yields, slowly and by at most ``limit``. A proportional and an
/// integral part act on the smoothed distance between picture and sound, critically damped, with a time constant of some ten seconds. The
/// integral is the difference between the two crystals; it survives pauses, seeks and items.
struct SoundLock: Hashable, Sendable {
    /// An inaudible change of pitch: an eighth of a per cent is two hundredths of a semitone.
    static let limit = 0.00125
    /// A larger difference between two crystals is a fault; the integral does not learn it.
    private static let longestDrift = 0.0006
    private static let proportional = 0.1
    private static let integral = proportional * proportional / 4
    private static let smoothingTime = 1.0

    /// The seconds of sound to play in a second of the card.
    private(set) var ratio = 1.0
    private var drift = 0.0
    private var smoothed: Double?

    /// Takes in that the picture is `error` seconds ahead of the sound, `elapsed` seconds after the last report. The picture should run
    /// `speed` times as fast as written.
    mutating func follow(error: Double, elapsed: Double, speed: Double) {
        let share = min(1, elapsed / Self.smoothingTime)
        let distance = smoothed.map { $0 + share * (error - $0) } ?? error
        smoothed = distance
        let wanted = speed + drift + Self.proportional * distance
        ratio = min(max(wanted, 1 - Self.limit), 1 + Self.limit)
        if ratio == wanted { drift = min(max(drift + Self.integral * distance * elapsed, -Self.longestDrift), Self.longestDrift) }
    }

    /// Stops the correction: the picture follows the sound from now on, or both start anew.
    mutating func release() {
        ratio = 1
        smoothed = nil
    }
}
