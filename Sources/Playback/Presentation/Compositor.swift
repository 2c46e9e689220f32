import DequeModule
import KioskPlatform
import KioskVocabulary

/// Takes decoded frames in order and puts each into a spare scan-out buffer ahead of its vblank, so that nothing is computed at the
/// deadline.
///
/// A frame whose time will have passed when it can be on the screen is dropped without being converted when a later one is waiting; when
/// none is, it is composed all the same, so that a box that cannot keep up shows as many frames as it can instead of none.
///
/// It also gives the output what lies over every scene, and prepares again what that has made stale (``OverlayPlan``).
struct Compositor: Sendable {
    let pipeline: Monitor<Pipeline>
    let output: any SceneOutput
    let clock: @Sendable (HostTime) -> MediaTime?
    let now: @Sendable () -> HostTime
    var heartbeat = Heartbeat()

    private enum Work: ~Copyable {
        case stop
        case compose(EnqueuedFrame, WorkContext, ahead: Int)
        case repaint(EnqueuedFrame, WorkContext)
        case giveOverlay(Overlay, number: UInt64)
        /// A copy of a ready frame, and what that is prepared as.
        case renew(EnqueuedFrame, of: PreparedScene, WorkContext)
        case discard(PreparedScene?)
    }

    /// What was so when the work was taken: the generation, the number of the frame on the screen, how often buffers had come back, and what
    /// the output had been given to lie over the scene.
    fileprivate struct WorkContext {
        var generation: UInt64, serial: UInt64, returned: UInt64
        var mark: OverlayMark
        var gravities: [QueueItem.ID: VideoGravity]
    }

    /// Work that has been done and is to be told.
    struct Done: ~Copyable, Sendable {
        fileprivate enum Result: ~Copyable {
            case composed(EnqueuedFrame, WorkContext, Preparation)
            case repainted(EnqueuedFrame, WorkContext, Preparation)
            case gaveOverlay(number: UInt64, isEmpty: Bool, Region, OverlayPlacement)
            case renewed(EnqueuedFrame, of: PreparedScene, WorkContext, Preparation)
            case gaveBack
        }
        fileprivate let result: Result
        /// What was prepared, where anything was.
        var prepared: PreparedScene? {
            let preparation: Preparation? =
                switch result {
                case .composed(_, _, let preparation): preparation
                case .repainted(_, _, let preparation): preparation
                case .renewed(_, _, _, let preparation): preparation
                default: nil
                }
            return if case .prepared(let scene) = preparation { scene } else { nil }
        }
        /// Whether an overlay was given.
        var isOverlay: Bool {
            switch result {
            case .gaveOverlay(_, _, _, _): true
            default: false
            }
        }
        /// When it was begun.
        fileprivate let begin: HostTime?
    }

    /// The thread's body.
    func run() {
        while true {
            heartbeat.rest()
            let work: Work? = pipeline.wait(as: .compositor) { Self.nextWork(&$0, now) }
            heartbeat.work()
            guard let done = perform(work!) else { return }  // without a deadline, wait returns only with work
            finish(done)
        }
    }

    /// Does what there is to do, one piece of it, and does not wait; nil when there is nothing. What comes of it is told with
    /// ``finish(_:)``. For who has no thread for it.
    func begin() -> Done? {
        let work: Work? = pipeline.withLock { Self.nextWork(&$0, now) }
        switch consume work {
        case .some(let work): return perform(work)
        case .none: return nil
        }
    }

    private static func nextWork(_ pipeline: inout Pipeline, _ now: () -> HostTime) -> Work? {
        if pipeline.isStopping { return .stop }
        if let (overlay, number) = pipeline.overlay.toGive(frameWaits: pipeline.mayCompose && pipeline.ready.isEmpty) {
            return .giveOverlay(overlay, number: number)
        }
        let context = WorkContext(
            generation: pipeline.generation, serial: pipeline.screen.serial, returned: pipeline.buffers.returns,
            mark: pipeline.overlay.mark,
            gravities: pipeline.gravities)
        if let shown = pipeline.takeFrameToRepaint() { return .repaint(shown, context) }
        switch pipeline.overlayStep(now: now) {
        case .none: break
        case .repaint: if let shown = pipeline.takeFrameToOverlay() { return .repaint(shown, context) }
        case .renew(let index): if let copy = pipeline.takeFrameToRenew(index) { return .renew(copy, of: pipeline.renewing!, context) }
        case .giveUpLast: return .discard(pipeline.giveUpLastReady())
        }
        guard let frame = pipeline.takeFrameToCompose() else { return nil }
        return .compose(frame, context, ahead: pipeline.ready.count)
    }

    /// Does it; nil at the end of the program.
    private func perform(_ work: consuming Work) -> Done? {
        switch consume work {
        case .stop: return nil
        case .compose(let first, let context, let ahead):
            var frame = leaveOutPointless(first, context.generation, ahead: ahead)
            frame.refit(context.gravities)
            let begin = beginning(context)
            let preparation = output.prepare(frame.scene)
            return Done(result: .composed(frame, context, preparation), begin: begin)
        case .repaint(let shown, let context):
            var frame = shown
            frame.refit(context.gravities)
            let begin = beginning(context)
            let preparation = output.prepare(frame.scene)
            return Done(result: .repainted(frame, context, preparation), begin: begin)
        case .renew(let ready, let old, let context):
            var copy = ready
            copy.refit(context.gravities)
            let begin = beginning(context)
            let preparation = output.prepare(copy.scene)
            return Done(result: .renewed(copy, of: old, context, preparation), begin: begin)
        case .giveOverlay(let overlay, let number):
            let placement = output.setOverlay(overlay)
            return Done(result: .gaveOverlay(number: number, isEmpty: overlay.pictures.isEmpty, overlay.region, placement), begin: nil)
        case .discard(let scene):
            if let scene { output.discard(scene) }
            return Done(result: .gaveBack, begin: nil)
        }
    }

    /// When preparing begins, where it is measured: with an overlay in the scene, or in a window.
    private func beginning(_ context: WorkContext) -> HostTime? {
        context.mark.content == 0 && context.mark.region == .full ? nil : now()
    }

    /// The first frame from `first` on that is worth being shown, or the last one there is. `ahead` frames lie ready that will be shown
    /// before it.
    private func leaveOutPointless(_ first: consuming EnqueuedFrame, _ generation: UInt64, ahead: Int) -> EnqueuedFrame {
        var frame = first
        while isPointless(frame.place, ahead: ahead), let next = successor(generation) {
            // A playthrough's first frame hands its mark on, so that its seam is still counted.
            let passed = frame.place
            var dropped: EnqueuedFrame? = frame
            pipeline.withLock { $0.drop(dropped.take()!, generation: generation) }
            frame = next
            if passed.isFirst, frame.place.playthrough?.serial == passed.playthrough?.serial { frame.place.isFirst = true }
        }
        return frame
    }

    /// Whether there is a later frame that is to be shown in its place: because frames come too late (the presenter says so), or faster
    /// than vblanks. Of those some have to go: those that a later one could be shown for. (60 on 50 Hz, in the bed: at 0.5 a third of them
    /// are a vblank late, at 0.9 one stands for two vblanks now and then.)
    private func isPointless(_ place: FramePlace, ahead: Int) -> Bool {
        if let overdue = pipeline.withLock({ $0.overdue }), place.end <= overdue { return true }
        guard let period = output.mode?.refreshPeriod, let cadence = place.cadence, cadence < period.scaled(by: 0.995) else { return false }
        // There is a flip under way, mostly; on average half a period is left of it.
        guard let shown = clock(now() + period.scaled(by: 1.5 + Double(ahead))) else { return false }
        return place.end < shown + period.scaled(by: 0.7)
    }

    /// The next frame of the same generation, for which the one in hand is dropped.
    private func successor(_ generation: UInt64) -> EnqueuedFrame? {
        pipeline.withLock { $0.takeSuccessor(of: generation) }
    }

    /// Tells what has come of work.
    func finish(_ done: consuming Done) {
        let took = done.begin.map { now() - $0 }
        switch consume done.result {
        case .composed(let frame, let context, let preparation): composed(frame, context, preparation, took)
        case .repainted(let frame, let context, let preparation): repainted(frame, context, preparation, took)
        case .renewed(let copy, let old, let context, let preparation): renewed(copy, of: old, context, preparation, took)
        case .gaveOverlay(let number, let isEmpty, let region, let placement):
            pipeline.signal { $0.gaveOverlay(number, isEmpty: isEmpty, region: region, placement: placement) }
            output.wake()
        case .gaveBack: pipeline.signal { $0.buffers.cameBack() }
        }
    }

    private func composed(_ frame: consuming EnqueuedFrame, _ context: WorkContext, _ preparation: Preparation, _ took: MediaTime?) {
        var enqueued: EnqueuedFrame? = frame
        let (surplus, wake): (PreparedScene?, Bool) = pipeline.signal({ $0.feederHasWork ? .feeder : [] }) { pipeline in
            var composed: PreparedScene?
            switch preparation {
            case .prepared(let scene): composed = scene
            case .noDisplay: break
            case .noSpareBuffer:
                pipeline.couldNotCompose(enqueued.take()!, generation: context.generation, asOf: context.returned)
                return (nil, false)
            }
            if let took { pipeline.composeTook(took) }
            let surplus = pipeline.composed(enqueued.take()!, as: composed, mark: context.mark, generation: context.generation)
            return (surplus, pipeline.presenterIsIdle && pipeline.generation == context.generation)
        }
        if let surplus { output.discard(surplus) }
        if wake { output.wake() }
    }

    private func repainted(_ frame: consuming EnqueuedFrame, _ context: WorkContext, _ preparation: Preparation, _ took: MediaTime?) {
        var enqueued: EnqueuedFrame? = frame
        let surplus: PreparedScene? = pipeline.signal { pipeline in
            if let took { pipeline.composeTook(took) }
            switch preparation {
            case .prepared(let scene): return pipeline.repainted(enqueued.take()!, serial: context.serial, as: scene, mark: context.mark)
            case .noDisplay: return pipeline.repainted(enqueued.take()!, serial: context.serial, as: nil, mark: context.mark)
            case .noSpareBuffer:
                pipeline.couldNotRepaint(enqueued.take()!, serial: context.serial, asOf: context.returned)
                return nil
            }
        }
        if let surplus { output.discard(surplus) }
        output.wake()
    }

    private func renewed(
        _ copy: consuming EnqueuedFrame, of old: PreparedScene, _ context: WorkContext, _ preparation: Preparation, _ took: MediaTime?
    ) {
        var copy: EnqueuedFrame? = copy
        let surplus: PreparedScene? = pipeline.signal { pipeline in
            switch preparation {
            case .prepared(let scene):
                if let took { pipeline.composeTook(took) }
                return pipeline.renewed(copy.take()!, of: old, as: scene, mark: context.mark)
            case .noDisplay: return pipeline.renewed(copy.take()!, of: old, as: nil, mark: context.mark)
            case .noSpareBuffer:
                pipeline.couldNotRenew(copy.take()!, asOf: context.returned)
                return nil
            }
        }
        if let surplus {
            output.discard(surplus)
            pipeline.signal { $0.buffers.cameBack() }
        }
        output.wake()
    }
}
