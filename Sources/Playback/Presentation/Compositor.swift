import DequeModule
import KioskPlatform
import KioskVocabulary

/// Takes decoded frames in order and composes each into a spare scan-out buffer ahead of its vblank, so that nothing is computed at the
/// deadline.
///
/// If a frame's time will have passed before it can be on the screen and a later frame is waiting, the compositor drops it unconverted. If
/// no later frame is waiting, it composes the late one anyway, so a machine that cannot keep up still shows as many frames as it can.
///
/// It also gives overlays to the output, and prepares the scenes again that an overlay makes stale (``OverlayPlan``).
struct Compositor: Sendable {
    let pipeline: Monitor<Pipeline>
    let output: any SceneOutput
    let clock: @Sendable (HostTime) -> MediaTime?
    let now: @Sendable () -> HostTime
    var heartbeat = Heartbeat()

    /// The purpose of a prepared frame.
    fileprivate enum Purpose {
        /// To be shown after the `ahead` frames that are ready.
        case next(ahead: Int)
        case screen
        /// A copy of a ready frame, which replaces that frame's scene.
        case ready(PreparedScene)

        var isNext: Bool { if case .next = self { true } else { false } }
    }

    private enum Work: ~Copyable {
        case stop
        case prepare(EnqueuedFrame, Purpose, WorkContext)
        case giveOverlay(Overlay, number: UInt64)
        case discard(PreparedScene?)
    }

    /// The state at the time when the work was taken: the generation, the serial of the frame on the screen, the count of returned buffers,
    /// and the overlay that the output had.
    fileprivate struct WorkContext {
        var generation: UInt64, serial: UInt64, returned: UInt64
        var mark: OverlayMark
        var gravities: [QueueItem.ID: VideoGravity]
    }

    /// Finished work whose result is still to be reported.
    struct Done: ~Copyable, Sendable {
        fileprivate enum Result: ~Copyable {
            case prepared(EnqueuedFrame, Purpose, WorkContext, Preparation)
            case gaveOverlay(number: UInt64, isEmpty: Bool, Region, OverlayPlacement)
            case gaveBack
        }
        fileprivate let result: Result
        /// The prepared scene, if any.
        var prepared: PreparedScene? {
            let preparation: Preparation? =
                switch result {
                case .prepared(_, _, _, let preparation): preparation
                default: nil
                }
            return if case .prepared(let scene) = preparation { scene } else { nil }
        }
        /// Whether the work gave an overlay to the output.
        var isOverlay: Bool {
            switch result {
            case .gaveOverlay(_, _, _, _): true
            default: false
            }
        }
        /// The time at which the work began.
        fileprivate let begin: HostTime?
    }

    /// The thread's next action.
    private enum Next: ~Copyable {
        case work(Work)
        /// Check again.
        case look
    }

    /// Runs the thread's loop until the pipeline stops.
    func run() {
        while true {
            heartbeat.rest()
            let patience = pipeline.withLock { $0.overlay.patienceEnds(at: now()) }
            let next: Next? = pipeline.wait(as: .compositor, until: patience) { pipeline in
                if let work = Self.nextWork(&pipeline, now) { return .work(work) }
                // A new overlay waits for others.
                return pipeline.overlay.patienceEnds(at: now()) == patience ? nil : .look
            }
            heartbeat.work()
            switch consume next {
            case .work(let work)?:
                guard let done = perform(work) else { return }
                finish(done)
            case .look?: break
            case nil: break
            }
        }
    }

    /// Does the next piece of work without waiting; returns nil if there is none. Report its result with ``finish(_:)``. For callers
    /// without a thread for it.
    func begin() -> Done? {
        let work: Work? = pipeline.withLock { Self.nextWork(&$0, now) }
        switch consume work {
        case .some(let work): return perform(work)
        case .none: return nil
        }
    }

    private static func nextWork(_ pipeline: inout Pipeline, _ now: () -> HostTime) -> Work? {
        if pipeline.isStopping { return .stop }
        let frameWaits = pipeline.mayCompose && pipeline.ready.isEmpty
        if let (overlay, number) = pipeline.overlay.toGive(frameWaits: frameWaits, isHeld: pipeline.playback.isHeld),
            pipeline.overlay.patienceEnds(at: now()) == nil
        {
            return .giveOverlay(overlay, number: number)
        }
        let context = WorkContext(
            generation: pipeline.generation, serial: pipeline.screen.serial, returned: pipeline.buffers.returns,
            mark: pipeline.overlay.mark,
            gravities: pipeline.gravities)
        if let shown = pipeline.takeFrameToRepaint() { return .prepare(shown, .screen, context) }
        switch pipeline.overlayStep(now: now) {
        case .none: break
        case .repaint: if let shown = pipeline.screen.beginOverlay() { return .prepare(shown, .screen, context) }
        case .renew(let index):
            if let copy = pipeline.takeFrameToRenew(index) { return .prepare(copy, .ready(pipeline.renewing!), context) }
        case .giveUpLast: return .discard(pipeline.giveUpLastReady())
        }
        guard let frame = pipeline.takeFrameToCompose() else { return nil }
        return .prepare(frame, .next(ahead: pipeline.ready.count), context)
    }

    /// Does the work; returns nil when the program ends.
    private func perform(_ work: consuming Work) -> Done? {
        switch consume work {
        case .stop: return nil
        case .prepare(let taken, let purpose, let context):
            var frame: EnqueuedFrame
            if case .next(let ahead) = purpose {
                frame = leaveOutPointless(taken, context.generation, ahead: ahead)
            } else {
                frame = taken
            }
            frame.refit(context.gravities)
            // Only scenes with an overlay, or in a window, are measured.
            let begin = context.mark.content == 0 && context.mark.region == .full ? nil : now()
            let preparation = output.prepare(frame.scene)
            return Done(result: .prepared(frame, purpose, context, preparation), begin: begin)
        case .giveOverlay(let overlay, let number):
            let placement = output.setOverlay(overlay)
            return Done(result: .gaveOverlay(number: number, isEmpty: overlay.pictures.isEmpty, overlay.region, placement), begin: nil)
        case .discard(let scene):
            if let scene { output.discard(scene) }
            return Done(result: .gaveBack, begin: nil)
        }
    }

    /// Returns the first frame from `first` on that is worth showing, or the last one available. `ahead` ready frames will be shown before
    /// it.
    private func leaveOutPointless(_ first: consuming EnqueuedFrame, _ generation: UInt64, ahead: Int) -> EnqueuedFrame {
        var frame = first
        while isPointless(frame.place, ahead: ahead), let next = pipeline.withLock({ $0.takeSuccessor(of: generation) }) {
            // A playthrough's first frame passes its mark on, so that its seam still counts.
            let passed = frame.place
            var dropped: EnqueuedFrame? = frame
            pipeline.withLock { $0.drop(dropped.take()!, generation: generation) }
            frame = next
            if passed.isFirst, frame.place.playthrough?.serial == passed.playthrough?.serial { frame.place.isFirst = true }
        }
        return frame
    }

    /// Returns whether a later frame should replace this one, because frames come too late (the presenter sets `overdue`) or faster than
    /// vblanks. In the second case some have to go: those whose place a later one can take. (60 on 50 Hz, on the test bench: at 0.5 a third
    /// of them are a vblank late, at 0.9 one stands for two vblanks now and then.)
    private func isPointless(_ place: FramePlace, ahead: Int) -> Bool {
        if let overdue = pipeline.withLock({ $0.overdue }), place.end <= overdue { return true }
        guard let period = output.mode?.refreshPeriod, let cadence = place.cadence, cadence < period.scaled(by: 0.995) else { return false }
        // Usually a flip is pending; on average half a period is left until it.
        guard let shown = clock(now() + period.scaled(by: 1.5 + Double(ahead))) else { return false }
        return place.end < shown + period.scaled(by: 0.7)
    }

    /// Reports the result of work.
    func finish(_ done: consuming Done) {
        let took = done.begin.map { now() - $0 }
        switch consume done.result {
        case .prepared(let frame, let purpose, let context, let preparation): prepared(frame, purpose, context, preparation, took)
        case .gaveOverlay(let number, let isEmpty, let region, let placement):
            pipeline.withLock { $0.overlay.gave(number, isEmpty: isEmpty, region: region, placement: placement) }
            output.wake()
        case .gaveBack: pipeline.withLock { $0.buffers.cameBack() }
        }
    }

    private func prepared(
        _ frame: consuming EnqueuedFrame, _ purpose: Purpose, _ context: WorkContext, _ preparation: Preparation, _ took: MediaTime?
    ) {
        var frame: EnqueuedFrame? = frame
        let (surplus, wakes): (PreparedScene?, Bool) = pipeline.signal({ $0.feederHasWork ? .feeder : [] }) { pipeline in
            var scene: PreparedScene?
            switch preparation {
            case .prepared(let prepared): scene = prepared
            // A display that has come meanwhile has reported it already; one that comes later will.
            case .noDisplay: pipeline.hasDisplay = output.mode != nil
            case .noSpareBuffer:
                switch purpose {
                case .next: pipeline.couldNotCompose(frame.take()!, generation: context.generation, asOf: context.returned)
                case .screen:
                    if context.serial == pipeline.screen.serial { pipeline.buffers.wereNotThere(asOf: context.returned) }
                    _ = pipeline.repainted(frame.take()!, serial: context.serial, as: nil, mark: .init(), isShort: true)
                case .ready: pipeline.couldNotRenew(frame.take()!, asOf: context.returned)
                }
                return (nil, !purpose.isNext)
            }
            if let took { pipeline.composeTime.took(took) }
            switch purpose {
            case .next:
                let surplus = pipeline.composed(frame.take()!, as: scene, mark: context.mark, generation: context.generation)
                return (surplus, pipeline.presenterIsIdle && pipeline.generation == context.generation)
            case .screen: return (pipeline.repainted(frame.take()!, serial: context.serial, as: scene, mark: context.mark), true)
            case .ready(let old): return (pipeline.renewed(frame.take()!, of: old, as: scene, mark: context.mark), true)
            }
        }
        if let surplus {
            output.discard(surplus)
            pipeline.withLock { $0.buffers.cameBack() }
        }
        if wakes { output.wake() }
    }
}
