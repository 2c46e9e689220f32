import DequeModule
import Logging
import Platform

/// Commits ready frames, each for the vblank the scheduler picks, and counts what became of them. Never converts, decodes or frees a frame
/// at the deadline: it only chooses among frames that already lie in scan-out buffers.
///
/// It sleeps in the output's `wait` until the vblank before the next frame's own has passed, commits, and sleeps on until the flip event. A flip that is
/// never reported is given up after ``flipLimit``.
struct Presenter: ~Copyable {
    private let pipeline: Monitor<Pipeline>
    private let output: any VideoOutput
    private let audioOutput: any AudioOutput
    private let audio: AudioQueue
    private let emit: @Sendable (PlayerEvent) -> Void
    private let now: @Sendable () -> HostTime
    private let logger = Logger(label: "playback")

    private var scheduler: FrameScheduler
    /// What the scheduler was made for.
    private var reportsVblank: Bool
    private var pending: Pending?
    /// What the output was too busy for; its frame is tried again as the repainted one.
    private var refused: Pending?
    private var lastID: UInt64 = 0
    /// The generation whose first frame has been shown, and when.
    private var shownGeneration: UInt64?
    private var shownAt: HostTime
    /// When the clock may start after that.
    private var preroll: Preroll
    /// Whether the clock was going at the last decision.
    private var wasRunning = false
    private var currentTurn: Turn?
    /// What the sound was last told.
    private var soundRatio = 1.0
    /// The places of the ready frames, filled anew for each decision; kept for its memory.
    private var candidates: [FrameScheduler.Frame] = []

    private struct Pending {
        var id: UInt64
        var since: HostTime
        /// Vblanks behind its time: when it was committed, and from the flip on when it was seen.
        var late: Int
        /// The vblank it was committed for, where it was for one.
        var due: HostTime?
        /// Where it lies; nil for a repaint.
        var place: FramePlace?
        /// The turn this frame is the first of.
        var starts: Turn?
        /// It has been waited for to the end of ``flipLimit``.
        var isOverdue = false
    }

    private enum Step {
        case stop
        case present(PreparedScene)
        case shownInTheDark
        case wait(until: HostTime?)
        /// A seek that had waited for the one before has begun.
        case moved
    }

    private static let flipLimit = MediaTime.seconds(1)
    private static let shortWait = MediaTime.milliseconds(4)
    /// How long after a start or a seek the queues may still be filling.
    private static let fillingTime = MediaTime.seconds(1)
    /// How often it looks whether playing has come to a stop for want of anything to play.
    private static let stallCheck = MediaTime.milliseconds(100)

    init(
        pipeline: Monitor<Pipeline>, output: any VideoOutput, audioOutput: any AudioOutput, audio: AudioQueue,
        emit: @escaping @Sendable (PlayerEvent) -> Void, now: @escaping @Sendable () -> HostTime
    ) {
        self.pipeline = pipeline
        self.output = output
        self.audioOutput = audioOutput
        self.audio = audio
        self.emit = emit
        self.now = now
        shownAt = now()
        preroll = Preroll(from: shownAt)
        reportsVblank = output.reportsVblank
        scheduler = Self.scheduler(for: output, reportsVblank: reportsVblank)
    }

    private static func scheduler(for output: any VideoOutput, reportsVblank: Bool) -> FrameScheduler {
        let period = output.mode?.refreshPeriod ?? .milliseconds(16)
        // Without vblank events a commit is seen at once, so it is made at the frame's own time and not ahead of it.
        return reportsVblank ? FrameScheduler(refreshPeriod: period) : FrameScheduler(refreshPeriod: period, commitTime: .zero)
    }

    private mutating func renewScheduler() {
        reportsVblank = output.reportsVblank
        scheduler = Self.scheduler(for: output, reportsVblank: reportsVblank)
    }

    /// The thread's body.
    mutating func run() {
        while true {
            var returned: [PreparedScene] = []
            var events: [PlayerEvent] = []
            let step = pipeline.withLock { decide(&$0, &returned, &events) }
            discard(returned)
            events.forEach(emit)
            switch step {
            case .stop: return
            case .present(let frame): present(frame)
            case .moved:
                audioOutput.interrupt()
                pipeline.signal { _ in }  // the feeder has a jump to carry out
            case .shownInTheDark:
                pipeline.signal { _ in }  // there is room for another, and perhaps something to paint again
                handle(output.wait(until: now()))
            case .wait(let deadline): handle(output.wait(until: deadline))
            }
        }
    }

    // MARK: Deciding, with the lock held

    private mutating func decide(_ pipeline: inout Pipeline, _ returned: inout [PreparedScene], _ events: inout [PlayerEvent]) -> Step {
        pipeline.presenterIsIdle = false
        if pipeline.isStopping { return .stop }
        let now = now()
        if let pending {
            if !pending.isOverdue { return .wait(until: pending.since + Self.flipLimit) }
            logger.warning("a page flip was never reported; going on")
            pipeline.statistics.flipsLost += 1
            pipeline.returnBuffers()
            self.pending = nil
            begin(pending, shown: false, &pipeline)
        }
        if let repainted = pipeline.repainted.take() { return .present(repainted) }
        if shownGeneration == pipeline.generation, let move = pipeline.takeMove() {
            guard move.position.index == pipeline.shown?.turn?.position.index else { return .wait(until: now) }
            audio.isRunning = false
            returned += pipeline.begin(move)
            return .moved
        }

        // The first frame of a generation is shown as soon as there is one, whatever the clock says; and so is, while that stands, the first picture
        // after the bare background.
        let stands = !pipeline.wantsPlay || !pipeline.isStarted
        if !pipeline.ready.isEmpty, shownGeneration != pipeline.generation || (stands && pipeline.shown?.turn == nil) {
            // What was on the screen has not ended: it was left.
            if pipeline.ready[0].laid.place.turn == nil { currentTurn = nil }
            (shownGeneration, shownAt, preroll) = (pipeline.generation, now, Preroll(from: now))
            scheduler.unlock()
            return show(0, late: 0, &pipeline, &returned)
        }
        startClock(&pipeline, now)
        let isRunning = pipeline.isStarted && pipeline.wantsPlay
        if isRunning != wasRunning { scheduler.unlock() }
        wasRunning = isRunning
        let step = isRunning ? choose(&pipeline, now, &returned, &events) : nil
        setStatus(&pipeline, now, &events)
        if let step { return step }
        if awaitsStart(pipeline) { return .wait(until: now + Self.shortWait) }
        pipeline.presenterIsIdle = true
        // Nobody says so when the sound runs dry.
        return .wait(until: pipeline.status == .playing ? now + Self.stallCheck : nil)
    }

    /// Whether only the clock is missing. The bare background needs none: what follows it is shown at once, and begins then.
    private func awaitsStart(_ pipeline: borrowing Pipeline) -> Bool {
        pipeline.wantsPlay && !pipeline.isStarted && shownGeneration == pipeline.generation
            && (pipeline.shown?.turn != nil || pipeline.hasEnded)
    }

    private mutating func startClock(_ pipeline: inout Pipeline, _ now: HostTime) {
        guard awaitsStart(pipeline) else { return }
        let isFull = !pipeline.hasRoomForFrame || audio.isFull || pipeline.hasEnded
        guard preroll.isReady(at: now, level: audio.time(ofSample: Double(audio.available)), demand: audio.cardDemand, isFull: isFull)
        else { return }
        pipeline.isStarted = true
        audio.isRunning = true
        audioOutput.interrupt()  // what the card still holds is silence
    }

    private mutating func choose(
        _ pipeline: inout Pipeline, _ now: HostTime, _ returned: inout [PreparedScene], _ events: inout [PlayerEvent]
    ) -> Step? {
        candidates.removeAll(keepingCapacity: true)
        for index in 0..<pipeline.ready.count {
            candidates.append(.init(start: pipeline.ready[index].laid.place.start, cadence: pipeline.ready[index].laid.place.cadence))
        }
        let decision = scheduler.decide(now: now, ready: candidates, clock: { audio.timelineTime(at: $0, now: now) })
        pipeline.overdue = scheduler.overdue
        if abs(scheduler.soundRatio - soundRatio) > 2e-6 {
            soundRatio = scheduler.soundRatio
            audio.ratio = soundRatio
            pipeline.statistics.soundRatio = soundRatio
        }
        switch decision {
        case .show(let index, let late, let vblank):
            // As the scheduler was told, until the next flip: one that commits ahead of the vblank would never be asked in time for it else.
            if !reportsVblank, vblank - now > .milliseconds(1) { return .wait(until: vblank - MediaTime(nanoseconds: 300_000)) }
            return show(index, late: late, due: reportsVblank ? vblank : nil, &pipeline, &returned)
        case .wake(let time):
            return .wait(until: max(time, now + MediaTime(nanoseconds: 100_000)))
        case .idle:
            if !candidates.isEmpty { return .wait(until: now + Self.shortWait) }  // the clock has no reading yet
            return endOfPlaylist(&pipeline, now, &events)
        }
    }

    private func endOfPlaylist(_ pipeline: inout Pipeline, _ now: HostTime, _ events: inout [PlayerEvent]) -> Step? {
        guard pipeline.hasEnded, pipeline.frames.isEmpty, !pipeline.isComposing, let end = pipeline.shown?.end else { return nil }
        let time = audio.timelineTime(at: now) ?? .zero
        // The last sample may lie a fraction of a frame before the last picture's end; what ran dry has ended.
        // Nobody says so when it does, and what stands beneath sound alone has no end of its own.
        if time < end, !audio.ranDry { return .wait(until: now + min(Self.stallCheck, max(Self.shortWait, end - time))) }
        pipeline.hasPlayedOut = true
        pipeline.wantsPlay = false
        audio.isRunning = false
        if let currentTurn { events.append(.itemEnded(index: currentTurn.position.index)) }
        events.append(.playlistEnded)
        return nil
    }

    /// Takes ready frame `index`, drops those before it, and says what to do with it.
    private mutating func show(
        _ index: Int, late: Int, due: HostTime? = nil, _ pipeline: inout Pipeline, _ returned: inout [PreparedScene]
    ) -> Step {
        var starts: Turn?
        for _ in 0..<index {
            guard let dropped = pipeline.ready.popFirst() else { break }
            if dropped.laid.place.isFirst { starts = dropped.laid.place.turn }
            if let composed = dropped.composed { returned.append(composed) }
            pipeline.countDropped(dropped.laid.place)
            pipeline.discard(dropped.intoLaid())
        }
        guard let frame = pipeline.ready.popFirst() else { return .wait(until: nil) }
        if frame.laid.place.isFirst { starts = frame.laid.place.turn }
        let composed = frame.composed
        if frame.laid.place.turn != nil { pipeline.jumpTarget = nil }
        pipeline.shownSerial += 1
        pipeline.setOnScreen(frame.intoLaid())
        pipeline.needsRepaint = false
        pending = Pending(id: 0, since: now(), late: late, due: due, place: pipeline.shown, starts: starts)
        if let composed { return .present(composed) }
        // No display: the frame counts as shown, so that the timeline goes on in the dark. If it is back, the frame is painted again.
        if output.mode != nil { pipeline.needsRepaint = true }
        if let pending = self.pending.take() { begin(pending, shown: false, &pipeline) }
        return .shownInTheDark
    }

    private func setStatus(_ pipeline: inout Pipeline, _ now: HostTime, _ events: inout [PlayerEvent]) {
        let status: TimeControlStatus
        if !pipeline.wantsPlay {
            status = .paused
        } else if !pipeline.isStarted || audio.ranDry {
            status = .waiting
        } else {
            status = .playing
        }
        if status != pipeline.status {
            pipeline.status = status
            events.append(.statusChanged(status))
        }
    }

    // MARK: Acting, without the lock

    private mutating func present(_ frame: PreparedScene) {
        lastID += 1
        // Without one it is a repaint.
        var given = pending.take() ?? refused.take() ?? Pending(id: lastID, since: now(), late: 0, place: nil, starts: nil)
        given.id = lastID
        switch output.commit(frame, id: lastID) {
        case .queued:
            given.since = now()
            pending = given
        case .busy:
            refused = given
            pipeline.withLock { $0.repainted = frame }
            handle(output.wait(until: now() + Self.shortWait))
        case .stale:
            begin(given, shown: false)
            pipeline.signal { $0.needsRepaint = true }
        }
    }

    private func discard(_ frames: [PreparedScene]) {
        if frames.isEmpty { return }
        for frame in frames { output.discard(frame) }
        pipeline.signal { $0.returnBuffers() }
    }

    private mutating func handle(_ event: VideoOutputEvent) {
        switch event {
        case .flipped(let flip):
            // That nobody counts vblanks may only turn out at the flips.
            if output.reportsVblank != reportsVblank { renewScheduler() }
            if output.reportsVblank || shownGeneration == nil || scheduler.hasNoGrid { scheduler.flipped(at: flip.time) }
            pipeline.signal { $0.returnBuffers() }
            guard var given = pending, flip.id == given.id else { return }
            pending = nil
            // The commit came too late for its vblank, or the kernel had no time for it: on a busy box its worker has to wait, too.
            if let due = given.due { given.late += max(0, Int(saturating: Double((flip.time - due).nanoseconds) / scheduler.period)) }
            begin(given, shown: true, at: flip.time)
        case .changed:
            renewScheduler()
            if let given = pending.take() ?? refused.take() { begin(given, shown: false) }
            let isLit = output.mode != nil
            let void = pipeline.signal { pipeline -> [PreparedScene] in
                var void: [PreparedScene] = []
                if let frame = pipeline.repainted.take() { void.append(frame) }
                for index in 0..<pipeline.ready.count {
                    if let frame = pipeline.ready[index].composed.take() { void.append(frame) }
                }
                pipeline.returnBuffers()
                pipeline.needsRepaint = isLit
                return void
            }
            // Some may have been composed for the new display already, before its event arrived.
            discard(void)
        case .deadline:
            // Not by the clock alone: after a freeze it may be late while the flip is among the events that are still to be told.
            if let given = pending, given.since + Self.flipLimit <= now() { pending?.isOverdue = true }
        case .woken: break
        }
    }

    private mutating func begin(_ given: Pending, shown: Bool, at time: HostTime? = nil) {
        pipeline.withLock { pipeline in
            // A still has no sound of its own, and a pause no time.
            if let time, let place = given.place, place.cadence != nil, pipeline.isStarted, pipeline.wantsPlay,
                let heard = audio.timelineTime(at: time)
            {
                pipeline.statistics.synchrony.count(heard - place.start)
                if time - shownAt > Self.fillingTime {
                    let level = BufferLevel(frames: pipeline.framesAhead, sound: audio.ahead(of: heard))
                    pipeline.statistics.leastBuffered = level.least(pipeline.statistics.leastBuffered)
                }
            }
            begin(given, shown: shown, &pipeline)
        }
    }

    /// Counts a frame that has reached the screen (or would have, were there one), and tells of the turn it begins.
    private mutating func begin(_ given: Pending, shown: Bool, _ pipeline: inout Pipeline) {
        let index = given.place?.turn?.position.index
        if shown {
            pipeline.statistics.framesShown += 1
            if given.late > 0 { pipeline.statistics.framesLate += 1 }
            if let index {
                pipeline.statistics.items[index, default: .init()].framesShown += 1
                if given.late > 0 { pipeline.statistics.items[index]!.framesLate += 1 }
            }
        }
        if let turn = given.starts { begin(turn, late: given.late, shown: shown, &pipeline) }
        // The bare background follows when nothing can be played any more.
        if let place = given.place, place.turn == nil, let ended = currentTurn.take() { emit(.itemEnded(index: ended.position.index)) }
    }

    private mutating func begin(_ turn: Turn, late: Int, shown: Bool, _ pipeline: inout Pipeline) {
        let index = turn.position.index
        if turn.isSeam {
            if shown {
                pipeline.statistics.seams += 1
                pipeline.statistics.worstSeamLateness = max(pipeline.statistics.worstSeamLateness, late)
                pipeline.statistics.items[index, default: .init()].seams += 1
                let worst = pipeline.statistics.items[index]!.worstSeamLateness
                pipeline.statistics.items[index]!.worstSeamLateness = max(worst, late)
            }
            if let currentTurn { emit(.itemEnded(index: currentTurn.position.index)) }
        }
        currentTurn = turn
        emit(.itemStarted(index: index, isSeam: turn.isSeam, late: late))
    }
}
