import DequeModule
import Platform

/// Takes decoded frames in order and puts each into a spare scan-out buffer ahead of its vblank, so that nothing is computed at the
/// deadline.
///
/// A frame whose time will have passed when it can be on the screen is dropped without being converted when a later one is waiting; when
/// none is, it is composed all the same, so that a box that cannot keep up shows as many frames as it can instead of none.
struct Compositor: Sendable {
    let pipeline: Monitor<Pipeline>
    let output: any VideoOutput
    let clock: @Sendable (HostTime) -> MediaTime?
    let now: @Sendable () -> HostTime

    private enum Work: ~Copyable {
        case stop
        case compose(EnqueuedFrame, generation: UInt64, returned: UInt64, ahead: Int)
        case repaint(EnqueuedFrame, serial: UInt64, returned: UInt64)
    }

    /// The thread's body.
    func run() {
        while true {
            let work: Work? = pipeline.wait { Self.nextWork(&$0) }
            guard carryOut(work!) else { return }  // without a deadline, wait returns only with work
        }
    }

    /// Does what there is to do, one piece of it, and does not wait; false when there is nothing. For who has no thread for it.
    func step() -> Bool {
        let work: Work? = pipeline.withLock { Self.nextWork(&$0) }
        switch consume work {
        case .some(let work): return carryOut(work)
        case .none: return false
        }
    }

    private func carryOut(_ work: consuming Work) -> Bool {
        switch consume work {
        case .stop: return false
        case .compose(let frame, let generation, let returned, let ahead): compose(frame, generation, returned, ahead: ahead)
        case .repaint(let frame, let serial, let returned): repaint(frame, serial, returned)
        }
        return true
    }

    private static func nextWork(_ pipeline: inout Pipeline) -> Work? {
        if pipeline.isStopping { return .stop }
        let returned = pipeline.buffers.returns
        if let shown = pipeline.takeFrameToRepaint() { return .repaint(shown, serial: pipeline.screen.serial, returned: returned) }
        guard let frame = pipeline.takeFrameToCompose() else { return nil }
        return .compose(frame, generation: pipeline.generation, returned: returned, ahead: pipeline.ready.count)
    }

    /// `ahead` frames lie ready that will be shown before this one.
    private func compose(_ first: consuming EnqueuedFrame, _ generation: UInt64, _ returned: UInt64, ahead: Int) {
        var frame = first
        while isPointless(frame.place, ahead: ahead), let next = successor(generation) {
            // A playthrough's first frame hands its mark on, so that its seam is still counted.
            let passed = frame.place
            var dropped: EnqueuedFrame? = frame
            pipeline.withLock { $0.drop(dropped.take()!) }
            frame = next
            if passed.isFirst, frame.place.playthrough?.serial == passed.playthrough?.serial { frame.place.isFirst = true }
        }
        let preparation = output.prepare(frame.scene)
        var enqueued: EnqueuedFrame? = frame
        let (surplus, wake): (PreparedScene?, Bool) = pipeline.signal { pipeline in
            var composed: PreparedScene?
            switch preparation {
            case .prepared(let scene): composed = scene
            case .noDisplay: break
            case .noSpareBuffer:
                pipeline.couldNotCompose(enqueued.take()!, generation: generation, asOf: returned)
                return (nil, false)
            }
            let surplus = pipeline.composed(enqueued.take()!, as: composed, generation: generation)
            return (surplus, pipeline.presenterIsIdle && pipeline.generation == generation)
        }
        if let surplus { output.discard(surplus) }
        if wake { output.wake() }
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

    private func repaint(_ frame: consuming EnqueuedFrame, _ serial: UInt64, _ returned: UInt64) {
        let preparation = output.prepare(frame.scene)
        var enqueued: EnqueuedFrame? = frame
        let surplus: PreparedScene? = pipeline.signal { pipeline in
            switch preparation {
            case .prepared(let scene): return pipeline.repainted(enqueued.take()!, serial: serial, as: scene)
            case .noDisplay: return pipeline.repainted(enqueued.take()!, serial: serial, as: nil)
            case .noSpareBuffer:
                pipeline.couldNotRepaint(enqueued.take()!, serial: serial, asOf: returned)
                return nil
            }
        }
        if let surplus { output.discard(surplus) }
        output.wake()
    }
}
