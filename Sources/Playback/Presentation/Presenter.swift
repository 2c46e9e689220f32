import KioskPlatform

/// Commits ready frames, each for the vblank the scheduler picks, and counts what became of them. Never converts, decodes or frees a frame
/// at the deadline: it only chooses among frames that already lie in scan-out buffers.
///
/// It sleeps in the output's `wait` until the vblank before the next frame's own has passed, commits, and sleeps on until the flip event.
/// How long an event may take the output knows, which gives up on it (``Flip/isAssumed``). What waits for its flip is in the pipeline, where the
/// compositor asks for it. Observers are told after the lock has been given back.
///
/// This file is the thread and what it does without the lock; what it decides with the lock held is in PresenterDecisions.swift.
struct Presenter: ~Copyable {
    let pipeline: Monitor<Pipeline>
    let output: any SceneOutput
    let audioOutput: any PCMOutput
    let audio: AudioQueue
    let now: @Sendable () -> HostTime
    /// At rest while the output waits: that has beats of its own.
    private let heartbeat: Heartbeat
    private let emit: @Sendable (PlaybackEvent) -> Void

    var scheduler: FrameScheduler
    /// What the scheduler was made for.
    private(set) var reportsVblank: Bool
    /// What the output was too busy for; its frame is tried again as the repainted one.
    var refused: Commit?
    /// Ids grow from player to player of an output, too.
    var lastID: UInt64
    /// The generation whose first frame has been shown, and when.
    var shownGeneration: UInt64?
    var shownAt: HostTime
    /// When the clock may start after that.
    var preroll: Preroll
    /// Whether the clock was going at the last decision.
    var wasPlaying = false
    /// The number of the frame that was on the screen when it began to go or stood still, or that a seek led to.
    var frameOfChange: UInt64 = 0
    /// The playthrough on the screen.
    var present: Playthrough?
    /// The places of the ready frames, filled anew for each decision; kept for its memory.
    var candidates: [FrameScheduler.Frame] = []
    /// What observers are to be told once the lock has been given back; kept for its memory.
    var events: [PlaybackEvent] = []
    /// Whether there has been a flip since the last decision. The others are woken with that: before, they would find the lock taken.
    private var hasFlipped = false

    /// A frame on its way to the screen.
    struct Commit {
        var id: UInt64 = 0
        /// Vblanks behind its time: when it was committed, and from the flip on when it was seen.
        var late = 0
        /// The vblank it was committed for, where it was for one.
        var due: HostTime?
        var generation: UInt64 = 0
        /// Where it lies; nil for a repaint.
        var place: FramePlace?
        /// The playthrough this frame is the first of.
        var starts: Playthrough?
        /// The number of the overlay that is seen with it, and whether it brings nothing else.
        var overlay: UInt64 = 0
        var isOverlayAlone = false
    }

    enum Step {
        case stop
        case present(PreparedScene, Commit)
        case presentOverlay(id: UInt64)
        case shownWithoutDisplay
        case wait(until: HostTime?)
        /// A seek that had waited for the one before has begun.
        case seekBegun
    }

    static let shortWait = MediaTime.milliseconds(4)

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
        // Without vblank events a commit is seen at once, so it is made at the frame's own time and not ahead of it.
        return reportsVblank ? FrameScheduler(refreshPeriod: period) : FrameScheduler(refreshPeriod: period, commitTime: .zero)
    }

    private mutating func renewScheduler() {
        reportsVblank = output.reportsVblank
        scheduler = Self.scheduler(for: output, reportsVblank: reportsVblank)
    }

    /// The thread's body.
    mutating func run() {
        heartbeat.work()
        defer { heartbeat.rest() }
        while true {
            var returned: [PreparedScene] = []
            // A buffer has come back, or is taken to have.
            let wakes = hasFlipped
            hasFlipped = false
            let step = pipeline.signal({ wakes ? $0.waitersWithWork : [] }) { decide(&$0, &returned) }
            discard(returned)
            tell()
            if case .stop = step { return }
            if audio.rendering == .overdue { audioOutput.standIn() }
            switch step {
            case .stop: return
            case .present(let frame, let commit): present(frame, commit)
            case .presentOverlay(let id): presentOverlay(id)
            case .seekBegun:
                audioOutput.interrupt()
                pipeline.signal { _ in }  // the feeder has a seek to carry out
            case .shownWithoutDisplay:
                pipeline.signal { _ in }  // there is room for another, and perhaps something to paint again
                wait(until: now())
            case .wait(let deadline): wait(until: deadline)
            }
        }
    }

    private mutating func wait(until deadline: HostTime?) {
        heartbeat.rest()
        // The sound is late: it is looked at again, as time stands still meanwhile.
        let look = audio.rendering == .onTime ? nil : now() + RenderingWatch.limit.scaled(by: 0.5)
        let event = output.wait(until: look.map { min($0, deadline ?? $0) } ?? deadline)
        heartbeat.work()
        handle(event)
    }

    private mutating func present(_ frame: PreparedScene, _ commit: Commit) {
        switch output.commit(frame, id: commit.id) {
        case .queued: if commit.place?.playthrough != nil { StartTrace.reached(.committed) }
        case .busy:
            refused = commit
            pipeline.withLock { $0.wasBusy(with: frame) }
            wait(until: now() + Self.shortWait)
        case .stale:
            pipeline.withLock { $0.pending = nil }
            reached(commit, at: nil)
            pipeline.signal { $0.repaint() }
        }
    }

    private mutating func presentOverlay(_ id: UInt64) {
        switch output.commitOverlay(id: id) {
        case .queued: break
        case .busy:
            pipeline.withLock { $0.wasBusy(with: nil) }
            wait(until: now() + Self.shortWait)
        case .stale: pipeline.withLock { $0.pending = nil }  // the display has changed, and will say so; then the overlay is given again
        }
    }

    private func discard(_ frames: [PreparedScene]) {
        if frames.isEmpty { return }
        for frame in frames { output.discard(frame) }
        pipeline.signal { $0.buffers.cameBack() }
    }

    private mutating func handle(_ event: SceneOutputEvent) {
        switch event {
        case .flipped(let flip):
            // That nobody counts vblanks may only turn out at the flips.
            if output.reportsVblank != reportsVblank { renewScheduler() }
            if output.reportsVblank || shownGeneration == nil || scheduler.hasNoGrid { scheduler.flipped(at: flip.time) }
            hasFlipped = true
            pipeline.withLock { pipeline in
                pipeline.buffers.cameBack()
                pipeline.lastFlip = flip.time
                if flip.isAssumed { pipeline.statistics.flipsLost += 1 }
                guard pipeline.pending?.id == flip.id, var commit = pipeline.pending.take() else { return }
                // The commit came too late for its vblank, or the kernel had no time for it: on a busy box its worker has to wait, too.
                if let due = commit.due { commit.late += max(0, Int(saturating: Double((flip.time - due).nanoseconds) / scheduler.period)) }
                reached(commit, at: flip.time, &pipeline)
            }
            tell()
        case .changed:
            renewScheduler()
            if let commit = pipeline.withLock({ $0.pending.take() }) ?? refused.take() { reached(commit, at: nil) }
            let isThere = output.mode != nil
            // Some may have been composed for the new display already, before its event arrived.
            discard(pipeline.signal { $0.displayChanged(isThere: isThere) })
        case .deadline, .woken: break
        case .bufferFreed: pipeline.signal { $0.buffers.cameBack() }
        }
    }

    /// A frame has reached the screen at `time`, or is done with where no display shows it (nil).
    private mutating func reached(_ commit: Commit, at time: HostTime?) {
        pipeline.withLock { reached(commit, at: time, &$0) }
        tell()
    }

    /// Tells observers what has happened.
    private mutating func tell() {
        if events.isEmpty { return }
        for event in events { emit(event) }
        events.removeAll(keepingCapacity: true)
    }
}
