import DequeModule
import KioskPlatform
import KioskVocabulary

/// Commits ready frames, each at the vblank that the scheduler picks, and counts the results. It never converts, decodes or frees a frame
/// at the deadline: it only chooses among frames that already lie in scan-out buffers.
///
/// The presenter sleeps in the output's `wait` until the vblank before the next frame's own has passed. It commits, and sleeps on until the
/// flip event. The output knows how long an event may take, and gives up on it (``Flip/isAssumed``). A commit that waits for its flip is in
/// the pipeline, where the compositor reads it. The presenter informs observers after it has released the lock.
///
/// Work without the lock comes first below, then the decisions made with the lock held.
struct Presenter: ~Copyable {
    let pipeline: Monitor<Pipeline>
    let output: any SceneOutput
    let audioOutput: any PCMOutput
    let audio: AudioQueue
    let now: @Sendable () -> HostTime
    /// The presenter's heartbeat. It rests while the output waits: the output has its own.
    private let heartbeat: Heartbeat
    private let emit: @Sendable (PlaybackEvent) -> Void

    var scheduler: FrameScheduler
    /// The value of ``SceneOutput/reportsVblank`` that the scheduler was made for.
    private(set) var reportsVblank: Bool
    /// The commit that the output was too busy for. The presenter retries its frame as a repainted one.
    var refused: Commit?
    /// The id of the last commit. Ids also grow from player to player of an output.
    var lastID: UInt64
    /// The generation whose first frame has been shown.
    private var shownGeneration: UInt64?
    var shownAt: HostTime
    /// The condition for the clock's start after the first frame.
    var preroll: Preroll
    /// Whether the clock was running at the last decision.
    var wasPlaying = false
    /// The serial of the frame that was on the screen when the clock started or stopped, or that a seek led to.
    private var frameOfChange: UInt64 = 0
    var present: Playthrough?
    /// The places of the ready frames, refilled for each decision and kept to reuse the memory.
    var candidates: [FrameScheduler.Frame] = []
    /// The events to emit after the lock is released; kept to reuse the memory.
    var events: [PlaybackEvent] = []
    /// Whether there has been a flip since the last decision. The presenter wakes the other threads after its decision: before it, they
    /// would find the lock taken.
    private var hasFlipped = false
    private var stalls = StallRecord()

    /// A frame on its way to the screen.
    struct Commit {
        var id: UInt64 = 0
        /// The number of vblanks by which the frame is late: at the commit, and after the flip on the screen.
        var late = 0
        /// The vblank that the commit is for, if any.
        var due: HostTime?
        var generation: UInt64 = 0
        /// The frame's place; nil for a repaint.
        var place: FramePlace?
        /// The playthrough that this frame begins.
        var starts: Playthrough?
        /// The number of the overlay that is visible with this commit, and whether the commit brings nothing else.
        var overlay: UInt64 = 0
        var isOverlayAlone = false
    }

    enum Step {
        case stop
        /// Commit a scene; nil for the overlay alone.
        case present(PreparedScene?, Commit)
        case shownWithoutDisplay
        case wait(until: HostTime?)
        /// A seek that waited for the one before has begun.
        case seekBegun
    }

    private static let shortWait = MediaTime.milliseconds(4)

    init(
        pipeline: Monitor<Pipeline>, output: any SceneOutput, audioOutput: any PCMOutput, audio: AudioQueue,
        heartbeat: Heartbeat = Heartbeat(), emit: @escaping @Sendable (PlaybackEvent) -> Void, now: @escaping @Sendable () -> HostTime
    ) {
        self.pipeline = pipeline
        self.output = output
        self.heartbeat = heartbeat
        self.audioOutput = audioOutput
        self.audio = audio
        self.emit = emit
        self.now = now
        shownAt = now()
        lastID = UInt64(max(0, shownAt.nanoseconds))
        preroll = Preroll(from: shownAt)
        reportsVblank = output.reportsVblank
        scheduler = Self.scheduler(for: output, reportsVblank: reportsVblank)
    }

    private static func scheduler(for output: any SceneOutput, reportsVblank: Bool) -> FrameScheduler {
        let period = output.mode?.refreshPeriod ?? .milliseconds(16)
        // Without vblank events a commit is visible at once, so it is made at the frame's own time and not ahead of it.
        return reportsVblank ? FrameScheduler(refreshPeriod: period) : FrameScheduler(refreshPeriod: period, commitTime: .zero)
    }

    private mutating func renewScheduler() {
        reportsVblank = output.reportsVblank
        scheduler = Self.scheduler(for: output, reportsVblank: reportsVblank)
    }

    /// Runs the thread's loop until the pipeline stops.
    mutating func run() {
        heartbeat.work()
        defer { heartbeat.rest() }
        while true {
            var returned: [PreparedScene] = []
            // A buffer has come back, or is assumed to have.
            let wakes = hasFlipped
            hasFlipped = false
            let step = pipeline.signal({ wakes || $0.hasNewSubtitles ? $0.waitersWithWork : [] }) { pipeline in
                pipeline.hasNewSubtitles = false
                return decide(&pipeline, &returned)
            }
            discard(returned)
            tell()
            if case .stop = step { return }
            if audio.rendering == .overdue { audioOutput.standIn() }
            switch step {
            case .stop: return
            case .present(let frame, let commit): present(frame, commit)
            case .seekBegun:
                audioOutput.interrupt()
                pipeline.signal { _ in }  // the feeder has a seek to carry out
            case .shownWithoutDisplay:
                pipeline.signal { _ in }  // there is room for another frame, and perhaps one to repaint
                wait(until: now())
            case .wait(let deadline): wait(until: deadline)
            }
        }
    }

    private mutating func wait(until deadline: HostTime?) {
        heartbeat.rest()
        // The sound is late, and the timeline stands still meanwhile: look again soon.
        let look = audio.rendering == .onTime ? nil : now() + RenderingWatch.limit.scaled(by: 0.5)
        let event = output.wait(until: look.map { min($0, deadline ?? $0) } ?? deadline)
        heartbeat.work()
        handle(event)
    }

    private mutating func present(_ frame: PreparedScene?, _ commit: Commit) {
        switch frame.map({ output.commit($0, id: commit.id) }) ?? output.commitOverlay(id: commit.id) {
        case .queued: if commit.place?.playthrough != nil { StartTrace.reached(.committed) }
        case .busy:
            if frame != nil { refused = commit }
            pipeline.withLock { $0.wasBusy(with: frame) }
            wait(until: now() + Self.shortWait)
        case .stale:
            pipeline.withLock { $0.pending = nil }
            // The display has changed and will report it; then the compositor gives the overlay again.
            if frame == nil { return }
            reached(commit, at: nil)
            pipeline.signal({ _ in .compositor }) { $0.screen.setRepaint(true) }
        }
    }

    private func discard(_ frames: [PreparedScene]) {
        if frames.isEmpty { return }
        for frame in frames { output.discard(frame) }
        pipeline.signal({ _ in .compositor }) { $0.buffers.cameBack() }
    }

    private mutating func handle(_ event: SceneOutputEvent) {
        switch event {
        case .flipped(let flip):
            // Whether the driver counts vblanks may show only at the flips.
            if output.reportsVblank != reportsVblank { renewScheduler() }
            if output.reportsVblank || shownGeneration == nil || scheduler.hasNoGrid { scheduler.flipped(at: flip.time) }
            hasFlipped = true
            pipeline.withLock { pipeline in
                pipeline.buffers.cameBack()
                pipeline.lastFlip = flip.time
                if flip.isAssumed { pipeline.statistics.flipsLost += 1 }
                guard pipeline.pending?.id == flip.id, var commit = pipeline.pending.take() else { return }
                // The commit came too late for its vblank, or the kernel was late: on a busy machine its worker has to wait, too.
                if let due = commit.due { commit.late += max(0, Int(saturating: Double((flip.time - due).nanoseconds) / scheduler.period)) }
                reached(commit, at: flip.time, &pipeline)
            }
            tell()
        case .changed:
            renewScheduler()
            if let commit = pipeline.withLock({ $0.pending.take() }) ?? refused.take() { reached(commit, at: nil) }
            let isThere = output.mode != nil
            // The compositor may already have composed some frames for the new display before its event arrived.
            discard(pipeline.signal { $0.displayChanged(isThere: isThere) })
        case .deadline, .woken: break
        case .bufferFreed: pipeline.signal({ _ in .compositor }) { $0.buffers.cameBack() }
        }
    }

    /// Accounts for a frame that reached the screen at `time`, or that no display shows (nil).
    private mutating func reached(_ commit: Commit, at time: HostTime?) {
        pipeline.withLock { reached(commit, at: time, &$0) }
        tell()
    }

    /// Emits the collected events to the observers.
    private mutating func tell() {
        if events.isEmpty { return }
        for event in events { emit(event) }
        events.removeAll(keepingCapacity: true)
    }

    // MARK: Decisions with the lock held: the next frame, the clock's start, ended items, counts

    /// The time after a start or a seek during which the queues may still be filling.
    private static let fillingTime = MediaTime.seconds(1)
    /// The interval between checks for playback that has stalled for lack of data.
    private static let stallCheck = MediaTime.milliseconds(100)

    /// Returns the next step. Adds buffers that go back to the output to `returned`.
    mutating func decide(_ pipeline: inout Pipeline, _ returned: inout [PreparedScene]) -> Step {
        pipeline.presenterIsIdle = false
        if pipeline.isStopping { return .stop }
        if pipeline.pending != nil { return .wait(until: nil) }
        let now = now()
        if pipeline.screen.waiting?.isUrgent == true, let repainted = presentRepainted(&pipeline) { return repainted }
        if shownGeneration == pipeline.generation {
            switch pipeline.followUp() {
            case .none: break
            case .dropped: return .wait(until: now)
            case .begun(let void):
                returned += void
                return .seekBegun
            }
        }

        // Show the first frame of a generation as soon as there is one, at any clock reading. While the clock stands, do the same with the
        // first picture after the bare background.
        let stands = !pipeline.playback.isPlaying
        if !pipeline.ready.isEmpty, shownGeneration != pipeline.generation || (stands && pipeline.screen.place?.playthrough == nil) {
            // The item on the screen has not ended: a seek or skip left it.
            if pipeline.ready[0].enqueued.place.playthrough == nil { present = nil }
            (shownGeneration, shownAt, preroll) = (pipeline.generation, now, Preroll(from: now))
            scheduler.unlock()
            defer { frameOfChange = pipeline.screen.serial }
            pipeline.followSubtitles(pipeline.ready[0].enqueued.place)
            return show(0, late: 0, &pipeline, &returned)
        }
        startClock(&pipeline, now)
        let isPlaying = pipeline.playback.isPlaying
        if isPlaying != wasPlaying {
            frameOfChange = pipeline.screen.serial
            scheduler.unlock()
        }
        wasPlaying = isPlaying
        let step = isPlaying ? choose(&pipeline, now, &returned) : nil
        pipeline.pacing = isPlaying ? scheduler.pacing : nil
        if let status = pipeline.playback.statusChange(ranDry: audio.ranDry) {
            events.append(.statusChanged(status))
            let isDry = pipeline.playback.isPlaying && status == .waitingToPlay
            if let edge = stalls.statusChanged(isDry: isDry, stalls: audio.stalls), let stall = pipeline.measured(edge) {
                events.append(.measured(stall))
            }
        }
        if pipeline.awaitsGap, let gap = fillGap(&pipeline, now, instead: step, &returned) {
            // The compositor may compose the missing frame meanwhile, in time for its vblank.
            if case .wait = gap { pipeline.presenterIsIdle = true }
            return gap
        }
        if let step { return step }
        if awaitsStart(pipeline) { return .wait(until: isHeld(pipeline) ? pipeline.scrub.until : now + Self.shortWait) }
        pipeline.presenterIsIdle = true
        // No event reports when the sound runs dry.
        return .wait(until: pipeline.playback.status == .playing ? now + Self.stallCheck : nil)
    }

    // MARK: Choosing

    /// Returns whether only the clock is missing. The bare background needs no clock: the frame after it is shown at once, and its timeline
    /// begins then.
    private func awaitsStart(_ pipeline: borrowing Pipeline) -> Bool {
        pipeline.playback.awaitsClock && shownGeneration == pipeline.generation
            && (pipeline.screen.place?.playthrough != nil || pipeline.playback.isComplete)
    }

    /// Returns whether the user holds the slider and the picture has to stand meanwhile.
    private func isHeld(_ pipeline: borrowing Pipeline) -> Bool { pipeline.scrub.isHeld && !pipeline.cursor.rules.playsWhileScrubbing }

    private mutating func startClock(_ pipeline: inout Pipeline, _ now: HostTime) {
        guard awaitsStart(pipeline) else { return }
        pipeline.scrub.passed(now)
        if isHeld(pipeline) { return }
        let isFull = !pipeline.frames.hasRoom || audio.isFull || pipeline.playback.isComplete
        guard preroll.isReady(at: now, level: audio.time(ofSample: Double(audio.available)), demand: audio.cardDemand, isFull: isFull)
        else { return }
        pipeline.playback.clockStarted()
        StartTrace.reached(.clockStarted)
        audioOutput.interrupt()  // the card still holds silence
    }

    private mutating func choose(_ pipeline: inout Pipeline, _ now: HostTime, _ returned: inout [PreparedScene]) -> Step? {
        candidates.removeAll(keepingCapacity: true)
        for index in 0..<pipeline.ready.count {
            candidates.append(
                .init(start: pipeline.ready[index].enqueued.place.start, cadence: pipeline.ready[index].enqueued.place.cadence))
        }
        if !candidates.isEmpty {
            // Frames that precede a live stream keep the ordinary lock.
            let serial = pipeline.ready[0].enqueued.place.playthrough?.serial
            scheduler.senderRatio = pipeline.livePace.flatMap { $0.serial == serial ? $0.ratio : nil }
        }
        let decision = scheduler.decide(now: now, ready: candidates, clock: { audio.timelineTime(at: $0, now: now) })
        pipeline.overdue = scheduler.overdue
        if abs(scheduler.soundRatio - audio.ratio) > 2e-6 { audio.ratio = scheduler.soundRatio }
        switch decision {
        case .show(let index, let late, let vblank):
            // Uses the `reportsVblank` that the scheduler was made for, until the next flip renews it. Otherwise a scheduler that commits
            // ahead of the vblank would never be asked in time.
            if !reportsVblank, vblank - now > .milliseconds(1) { return .wait(until: vblank - MediaTime(nanoseconds: 300_000)) }
            pipeline.followSubtitles(pipeline.ready[index].enqueued.place)
            if reportsVblank, index == 0, late == 0 || !scheduler.isLocked, let limit = limitForOverlay(pipeline, now, vblank) {
                return .wait(until: limit)
            }
            return show(index, late: late, due: reportsVblank ? vblank : nil, &pipeline, &returned)
        case .wake(let time):
            return .wait(until: max(time, now + MediaTime(nanoseconds: 100_000)))
        case .idle:
            if !candidates.isEmpty { return .wait(until: now + Self.shortWait) }  // the clock has no reading yet
            return endOfPlaylist(&pipeline, now)
        }
    }

    private mutating func endOfPlaylist(_ pipeline: inout Pipeline, _ now: HostTime) -> Step? {
        guard pipeline.playback.isComplete, pipeline.frames.isEmpty, !pipeline.isComposing, let end = pipeline.screen.place?.end
        else { return nil }
        let time = audio.timelineTime(at: now) ?? .zero
        // The last sample may lie a fraction of a frame before the last picture's end; a queue that ran dry has ended. No event reports the
        // end, and the background beneath sound alone has no end of its own.
        if time < end, !audio.ranDry { return .wait(until: now + min(Self.stallCheck, max(Self.shortWait, end - time))) }
        pipeline.playback.playedOut()
        if let present { events.append(.itemEnded(item: present.position.item)) }
        events.append(.playlistEnded)
        return nil
    }

    /// Takes ready frame `index`, drops the frames before it, and returns the step that shows it.
    private mutating func show(
        _ index: Int, late: Int, due: HostTime? = nil, _ pipeline: inout Pipeline, _ returned: inout [PreparedScene]
    ) -> Step {
        var starts: Playthrough?
        // This repaint was for a vblank without a due frame, and is too late for it.
        if let surplus = pipeline.screen.dropWaiting() { returned.append(surplus) }
        for _ in 0..<index {
            guard let dropped = pipeline.dropReady() else { break }
            if dropped.place.isFirst { starts = dropped.place.playthrough }
            if let composed = dropped.composed { returned.append(composed) }
        }
        guard let (place, composed) = pipeline.showReady() else { return .wait(until: nil) }
        if place.isFirst { starts = place.playthrough }
        let commit = Commit(late: late, due: due, generation: pipeline.generation, place: place, starts: starts)
        if let composed { return .present(composed, begin(commit, pipeline.screen.mark, &pipeline)) }
        _ = pipeline.overlay.commit(pipeline.screen.mark)
        // No display: the frame counts as shown, so the timeline goes on. If the display is back, the compositor repaints the frame.
        if output.mode != nil { pipeline.screen.setRepaint(true) }
        reached(commit, at: nil, &pipeline)
        return .shownWithoutDisplay
    }

    /// Registers a commit on its way to the screen, of a scene with this mark or of the overlay alone (nil).
    mutating func begin(_ commit: Commit, _ mark: OverlayMark?, _ pipeline: inout Pipeline) -> Commit {
        var commit = commit
        lastID += 1
        (commit.id, commit.overlay) = (lastID, pipeline.overlay.commit(mark))
        pipeline.pending = commit
        return commit
    }

    // MARK: Counting

    /// Counts a frame that reached the screen at `time` (nil if no display shows it), and reports the playthrough that it begins.
    mutating func reached(_ commit: Commit, at time: HostTime?, _ pipeline: inout Pipeline) {
        if let time { countBuffered(commit, at: time, &pipeline) }
        pipeline.inputLatency.overlayShown(commit.overlay, at: time, into: &pipeline.statistics.inputLatency)
        if commit.isOverlayAlone { return }
        guard let place = commit.place else {
            // A repaint of the same frame.
            if time != nil { pipeline.statistics.countShown(nil, late: commit.late) }
            return
        }
        if time != nil, place.playthrough != nil { StartTrace.reached(place.start > .zero ? .moved : .shown) }
        pipeline.leftOut.shown(place, commit.generation, in: &pipeline.statistics)
        pipeline.countInputLatency(of: commit.generation, at: time)
        if let starts = commit.starts { pipeline.statistics.beginPlaythrough(starts.position.item) }
        if time != nil { pipeline.statistics.countShown(place.playthrough?.position.item, late: commit.late) }
        if let starts = commit.starts { begin(starts, late: commit.late, isSeen: time != nil, &pipeline) }
        if pipeline.isMeasured, let move = pipeline.measured(place, commit.generation, at: time ?? now()) {
            events.append(.measured(move))
        }
        // The bare background follows when nothing is left to play.
        if place.playthrough == nil, let ended = present.take() { events.append(.itemEnded(item: ended.position.item)) }
    }

    /// Measures the distance between picture and sound, and the buffer levels, at a flip.
    private func countBuffered(_ commit: Commit, at time: HostTime, _ pipeline: inout Pipeline) {
        // A still has no sound of its own, and in a pause no time passes.
        guard let place = commit.place, place.cadence != nil, pipeline.playback.isPlaying, let heard = audio.timelineTime(at: time)
        else { return }
        pipeline.statistics.synchrony.count(heard - place.start)
        guard time - shownAt > Self.fillingTime else { return }
        let level = BufferLevel(frames: pipeline.framesAhead, sound: audio.ahead(of: heard))
        pipeline.statistics.leastBuffered = level.least(pipeline.statistics.leastBuffered)
    }

    private mutating func begin(_ playthrough: Playthrough, late: Int, isSeen: Bool, _ pipeline: inout Pipeline) {
        let item = playthrough.position.item
        if playthrough.position.isPaused, case .changed = pipeline.playback.pause() { audioOutput.interrupt() }
        if playthrough.isSeam {
            if isSeen { pipeline.statistics.countSeam(item, late: late) }
            if let present { events.append(.itemEnded(item: present.position.item)) }
        }
        present = playthrough
        pipeline.cursor.list.interludeIsOver(item)
        events.append(.itemStarted(item: item, isSeam: playthrough.isSeam, late: late))
    }

    // MARK: Overlays

    // If no frame is due, the presenter commits for an overlay alone (``OverlayState``), but only if that delays no frame. If a frame is
    // due at the coming vblank, it brings the overlay along. The presenter waits a little for it if it still has to be prepared again.

    /// The share of a period before a vblank within which a commit of the overlay alone may miss it, and so block the next vblank's frame.
    private static let caution = 0.2

    /// Returns the time until which the next frame's commit for `vblank` waits for another overlay on its way; nil without such a wait.
    private func limitForOverlay(_ pipeline: borrowing Pipeline, _ now: HostTime, _ vblank: HostTime) -> HostTime? {
        let limit = vblank - OverlayPlan.margin(scheduler.period)
        return now < limit && pipeline.awaitsOverlay(at: now) ? limit : nil
    }

    /// Commits the repainted frame on the screen, or the overlay alone, if no frame is due at the coming vblank. Returns nil if one is due
    /// or `step` commits one. If the due frame is not ready, the presenter waits until its vblank has passed. A repaint is too late then,
    /// and gives its buffer to the next frame.
    private mutating func fillGap(
        _ pipeline: inout Pipeline, _ now: HostTime, instead step: Step?, _ returned: inout [PreparedScene]
    ) -> Step? {
        switch step {
        case nil, .wait: break
        default: return nil
        }
        // The clock has just started and has no reading yet: the next frame brings the overlay along.
        if pipeline.playback.isPlaying, pipeline.pacing == nil, pipeline.screen.serial == frameOfChange, !pipeline.ready.isEmpty {
            return nil
        }
        if let pacing = pipeline.pacing, let start = nextStart(pipeline) {
            let due = pacing.vblank(of: start)
            let flip =
                reportsVblank
                ? pacing.vblank(after: now + MediaTime(nanoseconds: Int64(saturating: Self.caution * pacing.period)))
                : now + MediaTime(nanoseconds: Int64(saturating: 0.75 * pacing.period))
            let isMissing = pipeline.ready.isEmpty
            if !pacing.isBefore(flip, due), !(isMissing && due <= now) {
                if !isMissing, let surplus = pipeline.screen.dropWaiting() { returned.append(surplus) }
                return isMissing ? .wait(until: due + .milliseconds(1)) : nil
            }
        }
        if let repainted = presentRepainted(&pipeline) { return repainted }
        return .present(nil, begin(Commit(isOverlayAlone: true), nil, &pipeline))
    }

    /// Returns the timeline instant at which the frame after the one on the screen begins.
    private func nextStart(_ pipeline: borrowing Pipeline) -> MediaTime? {
        pipeline.ready.isEmpty ? pipeline.screen.place?.end : pipeline.ready[0].enqueued.place.start
    }

    /// Commits the repainted frame on the screen with its overlay, or the commit that the output was too busy for; nil if there is none.
    private mutating func presentRepainted(_ pipeline: inout Pipeline) -> Step? {
        guard let repainted = pipeline.screen.takeWaiting() else { return nil }
        return .present(repainted, begin(refused.take() ?? Commit(), pipeline.screen.mark, &pipeline))
    }
}
