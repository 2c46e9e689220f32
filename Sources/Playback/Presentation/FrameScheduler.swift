import KioskPlatform

/// Decides which frame the next vblank shows. A pure value: vblank times, clock readings and frame times in, a decision out.
///
/// The display decides *when*, the clock decides *what*. The scheduler keeps the grid of vblanks it has seen and a *position*, the timeline
/// instant that a vblank shows, which it advances by a fixed *step* from vblank to vblank instead of asking the clock afresh each time: the
/// clock's jitter would otherwise make frames whose edges fall near a vblank wobble by one.
///
/// Where the frame duration is a simple ratio of the refresh period within ±0.5 % (30 on 60 Hz: 2 vblanks a frame, 24 on 60 Hz: 5 vblanks
/// for two frames), the scheduler is *locked* to the display: the step is that ratio exactly, and the position is kept half-way between the
/// instants at which frames can change, as far from any edge as it can be: every frame then stands for exactly its number of vblanks,
/// however long it runs. The sound is made to follow (``SoundLock``), so that frames appear at the vblank nearest to their sound. Elsewhere
/// the step is the refresh period, and the position is pulled gently towards the clock.
///
/// Only when position and clock have gone wrong by ``tolerance(isLocked:)`` does the position jump, by whole vblanks. What is due is the
/// newest frame that begins at or before the position; older ones that were never shown are dropped.
///
/// The sound of a live stream keeps to its sender (``LiveClock``), so there the position has to follow. It stays locked, and goes to the next
/// place half-way between frame changes when what is heard is nearer to that, with ``senderMargin`` to spare. So a frame stands a vblank more or
/// less each time the sender has gone a vblank ahead of the display or fallen behind it, which is as rarely as can be.
///
/// Where items follow each other whose rates differ, or that are no whole number of vblanks long, the position has to move, by less than a
/// vblank: to the side on which the picture comes nearer to its sound, unless that would leave out a frame.
///
/// A frame that comes too late is shown late where no later one that is due is prepared. While locked, as long as the picture then is
/// within ``lockedTolerance`` of its sound, the position gives way: nothing is dropped, and the sound follows (``slip(to:heard:within:)``).
/// Beyond that the scheduler names the instant that the next vblank is to show (``overdue``), and the compositor leaves out what ends
/// before it. So a stall of any length is over with the next frame or two, without a burst of old frames and without catching up slowly.
struct FrameScheduler: Sendable {
    /// A frame's place on the timeline.
    struct Frame: Hashable, Sendable {
        var start: MediaTime
        /// How long a frame of this item lasts at its nominal rate; nil where there is no such rate.
        var cadence: MediaTime?
    }

    /// What to do now.
    enum Decision: Hashable, Sendable {
        /// Flip to the candidate with this index, for this vblank; those before it are dropped. It is `late` vblanks behind its time.
        case show(Int, late: Int, vblank: HostTime)
        /// Nothing is due for the next vblank; decide again at this time.
        case wake(HostTime)
        /// Nothing to decide before something changes.
        case idle
    }

    /// A commit this shortly before a vblank may miss it.
    let commitTime: MediaTime
    private let nominalPeriod: Double
    private(set) var period: Double
    private var anchor: HostTime?
    private var anchorIndex: Int64 = 0
    private var flips = 0
    private var lock: Lock?
    /// Whether a frame has been shown since ``unlock()``: until then nobody sees the position move, and the clock's first readings are its
    /// worst.
    private var hasShown = false
    private var sound = SoundLock()

    private struct Lock: Hashable, Sendable {
        var cadence: MediaTime?
        var step: Double
        var phase: Double?
        var position: Double
        var index: Int64
    }

    /// A scheduler for a display with this refresh period that has not flipped yet.
    init(refreshPeriod: MediaTime, commitTime: MediaTime = MediaTime(nanoseconds: 700_000)) {
        self.commitTime = commitTime
        nominalPeriod = Double(max(1_000_000, refreshPeriod.nanoseconds))
        period = nominalPeriod
    }

    /// How far position and clock may differ before the position jumps: half a period is where it may have been put to begin with, the rest
    /// is room for the clock's jitter. While locked the sound comes after, and needs the time: half a minute for the most that nobody
    /// notices (ITU-R BT.1359: sound 45 ms early).
    private func tolerance(isLocked: Bool) -> Double {
        let tolerance = 0.6 * period + 4_000_000
        return isLocked ? max(Double(Self.lockedTolerance.nanoseconds), tolerance) : tolerance
    }
    static let lockedTolerance = MediaTime.milliseconds(35)
    /// So far beyond half-way between its place and the next one lies what is heard before the position of a live stream goes there: further than
    /// the clock's jitter, which would move it to and fro else.
    static let senderMargin = 4_000_000.0
    /// The share of its distance from the clock that the position gives up at each decision, where there is no lock.
    private static let pull = 0.05

    /// The timeline's instant at the next vblank, when frames come too late for that: those that end before it are not worth preparing any
    /// more.
    private(set) var overdue: MediaTime?

    /// How many samples are to be played in the time of one.
    var soundRatio: Double { senderRatio ?? sound.ratio }

    /// How fast a live stream is to be played (``LiveClock``): the sound keeps to that, and the position follows. nil of anything else.
    var senderRatio: Double?
    /// Whether the compositor has been asked to leave out a frame of a live stream.
    private var passesOver = false

    /// Takes in the time of a vblank at which a flip took effect.
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
            // Averaged ever more slowly: what is left of the timestamps' jitter must not move the grid.
            flips += 1
            period += max(0.002, 0.1 / Double(flips)) * error / count
            period = min(max(period, 0.98 * nominalPeriod), 1.02 * nominalPeriod)
        }
        anchorIndex &+= Int64(saturating: count)
    }

    /// Whether the display is locked to: there a decision that finds a frame late moves the position.
    var isLocked: Bool { lock?.phase != nil }

    /// Which vblank shows what, by the decision made last; nil before the first one.
    var pacing: Pacing? {
        guard let lock, let anchor else { return nil }
        let vblanks = Double(lock.index &- anchorIndex)
        return Pacing(
            anchor: anchor + MediaTime(nanoseconds: Int64(saturating: vblanks * period)),
            position: lock.position + (hasShown ? 0 : lock.step), step: lock.step, period: period, isSettled: hasShown)
    }

    /// Whether no flip has been seen.
    var hasNoGrid: Bool { anchor == nil }

    /// Forgets the position, after a pause, a seek or anything else that sets the clock.
    mutating func unlock() {
        lock = nil
        hasShown = false
        overdue = nil
        sound.release()
    }

    /// Which of `ready` (in order, oldest first) to show at the next vblank after `now`, given the timeline's instant at a host time (nil
    /// while it stands still).
    mutating func decide(now: HostTime, ready: [Frame], clock: (HostTime) -> MediaTime?) -> Decision {
        guard let first = ready.first else { return .idle }
        overdue = nil
        let (vblank, index) = nextVblank(after: now + commitTime)
        guard let time = clock(vblank) else { return .idle }
        let (step, phase) = Self.step(cadence: first.cadence, period: nominalPeriod)
        // A frame is to be shown at the vblank nearest to its instant: up to half a step before or after it.
        let heard = Double(time.nanoseconds) + 0.5 * step
        let position = advanced(to: index, heard: heard, step: step, phase: phase, ready: ready)
        // So shortly before a vblank a commit may still be in time for it: what is only due for the one after has to wait until it has
        // passed.
        let (soon, _) = nextVblank(after: now)
        if soon < vblank, Double(first.start.nanoseconds) > position - step {
            return .wake(soon + MediaTime(nanoseconds: Int64(saturating: 0.25 * period)))
        }
        if let due = ready.lastIndex(where: { Double($0.start.nanoseconds) <= position }) {
            if !hasShown { return .show(beginning(upTo: due, of: ready, heard: heard), late: 0, vblank: vblank) }
            // What the pull has moved it by does not count.
            let late = lateness(of: ready[due]) - (phase == nil ? Self.pull : 0)
            if late >= 1, due == ready.count - 1, !slip(to: ready[due], heard: heard) {
                overdue = MediaTime(nanoseconds: Int64(saturating: position + step))
            }
            return .show(due, late: max(0, Int(saturating: late.rounded(.towardZero))), vblank: vblank)
        }
        var vblanks = ((Double(first.start.nanoseconds) - position) / step).rounded(.up)
        // The clock's pull, or its next readings, may make it due a vblank earlier.
        if phase == nil || !hasShown, vblanks > 2 { vblanks -= 1 }
        // Just after the vblank before the one it is due for, when the flip before has certainly been done.
        let wake = vblank + MediaTime(nanoseconds: Int64(saturating: (vblanks - 1) * period + 0.25 * period))
        return .wake(wake)
    }

    /// How many vblanks the position is past a frame's beginning.
    private func lateness(of frame: Frame) -> Double { (lock!.position - Double(frame.start.nanoseconds)) / lock!.step }

    /// The frame to begin with. The first readings of a clock that has only begun to go can jump past a frame's beginning that nobody has
    /// seen: where the display is locked to, it is shown for its whole time nevertheless, when that makes it no more than a vblank later
    /// than it need be.
    private mutating func beginning(upTo due: Int, of ready: [Frame], heard: Double) -> Int {
        hasShown = true
        return (0...due).first { slip(to: ready[$0], heard: heard, within: 1.5 * lock!.step) } ?? due
    }

    /// What was due was not ready, and comes late. Where the display is locked to, every frame after it would come as late, with what is
    /// due always one ahead of what is ready: so the position gives way, and the sound comes after; but no further than
    /// ``tolerance(isLocked:)``.
    private mutating func slip(to frame: Frame, heard: Double, within limit: Double = .infinity) -> Bool {
        guard let current = lock, current.phase != nil else { return false }
        let position = current.position - lateness(of: frame).rounded(.down) * current.step
        guard abs(heard - position) <= min(limit, tolerance(isLocked: true)) else { return false }
        lock!.position = position
        return true
    }

    /// The first vblank after `time`, and its number on the grid.
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

    /// The position of a live stream, or the next place half-way between frame changes where that is nearer to what is heard. No frame comes late
    /// by that: where the next one would, the position waits for the one after. A frame a vblank leaves no other way than to pass one over: one
    /// that lies ready, or the next that would be prepared (``overdue``); once that has been asked for, the clock's jitter does not undo it.
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

    /// Where a position is among the places half-way between two instants at which frames can change, counted from the first one after
    /// `next` begins: a whole number on one of them.
    private static func offset(_ position: Double, of next: Frame, step: Double, phase: Double) -> Double {
        (position - Double(next.start.nanoseconds)) / (2 * phase * step) - 0.5
    }

    /// The place half-way between frame changes before or after `position`, whichever is nearer to what is heard: where one item follows
    /// another that is no whole number of vblanks long, the picture would wander away from its sound else. Not one that leaves out a frame.
    private static func realigned(_ position: Double, heard: Double, to next: Frame, step: Double, phase: Double) -> Double {
        let unit = 2 * phase * step
        let offset = offset(position, of: next, step: step, phase: phase)
        let lower = position - (offset - offset.rounded(.down)) * unit
        let upper = lower + unit
        let cadence = Double(next.cadence?.nanoseconds ?? 0)
        return heard - lower < 0.5 * unit || upper >= Double(next.start.nanoseconds) + cadence ? lower : upper
    }

    /// How far the timeline advances from vblank to vblank, and where between two possible frame changes the position is to lie (a fraction
    /// of the step); no phase where the rate does not fit the refresh.
    static func step(cadence: MediaTime?, period: Double) -> (step: Double, phase: Double?) {
        guard let cadence, cadence > .zero else { return (period, nil) }
        let vblanks = Double(cadence.nanoseconds) / period
        for frames in 1...5 {
            let exact = vblanks * Double(frames)
            let whole = exact.rounded()
            // Beyond a dozen vblanks a pattern is no longer simple, and being off by 0.5 % costs more than it brings.
            if whole >= 1, frames == 1 || whole <= 12, abs(exact / whole - 1) <= 0.005 {
                return (Double(cadence.nanoseconds) * Double(frames) / whole, 0.5 / Double(frames))
            }
        }
        return (period, nil)
    }
}

/// Which vblank shows which instant of the timeline, as the scheduler has it now: what is planned by beside its own decisions.
struct Pacing: Hashable, Sendable {
    /// A vblank, and the instant of the timeline that it shows, in nanoseconds.
    var anchor: HostTime
    var position: Double
    /// How far the timeline goes from vblank to vblank, and how long that takes, in nanoseconds.
    var step: Double, period: Double
    /// Whether a frame has been shown by it. Before that the clock's next readings may move it, so every frame counts as due a vblank earlier.
    var isSettled = true

    /// The vblank for which a frame is due that begins at `start`.
    func vblank(of start: MediaTime) -> HostTime {
        vblank(min(max(((Double(start.nanoseconds) - position) / step).rounded(.up), -1e9), 1e9))
    }

    func vblank(after time: HostTime) -> HostTime { vblank((Double((time - anchor).nanoseconds) / period).rounded(.down) + 1) }

    /// Whether a flip at one vblank is over before the other one.
    func isBefore(_ flip: HostTime, _ due: HostTime) -> Bool { flip + MediaTime(nanoseconds: Int64(saturating: 0.5 * period)) < due }

    private func vblank(_ count: Double) -> HostTime { anchor + MediaTime(nanoseconds: Int64(saturating: count * period)) }
}

/// How much faster or slower than written the sound is played, so that it stays with pictures that are locked to the display.
///
/// Two crystals never agree: a display and a card some hundred parts per million apart lose a vblank against each other every minute. And
/// 23.976 frames a second on 24 Hz are a thousandth too fast by intent. Somebody has to give way, and a frame that stands a vblank too long
/// is seen where a pitch that is a thousandth higher is not heard. So the sound gives way, by at most ``limit``, slowly: a proportional and
/// an integral part (damped critically, with a time constant of some ten seconds) on the smoothed distance between picture and sound. The
/// integral is what the two crystals differ by; it is kept over pauses, seeks and items.
struct SoundLock: Hashable, Sendable {
    /// A pitch that is off by an eighth of a per cent (two hundredths of a semitone) is heard by nobody.
    static let limit = 0.00125
    /// More than this between two crystals is a fault, and not learned.
    private static let longestDrift = 0.0006
    private static let proportional = 0.1
    private static let integral = proportional * proportional / 4
    private static let smoothingTime = 1.0

    /// Sound seconds to play in a second of the card.
    private(set) var ratio = 1.0
    private var drift = 0.0
    private var smoothed: Double?

    /// The picture is `error` seconds ahead of the sound, `elapsed` seconds after the last report; it is meant to run `speed` times as fast
    /// as written.
    mutating func follow(error: Double, elapsed: Double, speed: Double) {
        let share = min(1, elapsed / Self.smoothingTime)
        let distance = smoothed.map { $0 + share * (error - $0) } ?? error
        smoothed = distance
        let wanted = speed + drift + Self.proportional * distance
        ratio = min(max(wanted, 1 - Self.limit), 1 + Self.limit)
        if ratio == wanted { drift = min(max(drift + Self.integral * distance * elapsed, -Self.longestDrift), Self.longestDrift) }
    }

    /// The picture follows the sound from now on, or both begin anew.
    mutating func release() {
        ratio = 1
        smoothed = nil
    }
}
