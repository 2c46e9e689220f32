import DequeModule
import KioskPlatform

/// When the presenter commits for the sake of an overlay (``OverlayState``): where no frame is due, so that none comes later for it. Where one
/// is due for the coming vblank it brings the overlay along, and is waited for a little if it is still to be prepared again.
extension Presenter {
    /// A commit of the overlay alone so shortly before a vblank may miss it, and be in the way of the frame of the next one.
    private static let caution = 0.2

    /// Until when the next frame is not committed for `vblank`, because another overlay is on its way to it; nil where it is not waited for.
    func limitForOverlay(_ pipeline: borrowing Pipeline, _ now: HostTime, _ vblank: HostTime) -> HostTime? {
        let limit = vblank - OverlayPlan.margin(scheduler.period)
        return now < limit && pipeline.awaitsOverlay(at: now) ? limit : nil
    }

    /// Commits the frame on the screen, painted again, or the overlay alone, where no frame is due for the coming vblank; nil where one is,
    /// or `step` commits one. Where that is not ready it is waited for until its vblank has passed; what was painted again comes too late
    /// then and gives its buffer to the next one.
    mutating func fillGap(
        _ pipeline: inout Pipeline, _ now: HostTime, instead step: Step?, _ returned: inout [PreparedScene]
    ) -> Step? {
        switch step {
        case nil, .wait: break
        default: return nil
        }
        // The clock has just begun to go, and has no reading yet: the next frame brings the overlay along.
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
        return .presentOverlay(id: begin(Commit(isOverlayAlone: true), nil, &pipeline).id)
    }

    /// When the frame after the one on the screen begins, on the timeline.
    private func nextStart(_ pipeline: borrowing Pipeline) -> MediaTime? {
        pipeline.ready.isEmpty ? pipeline.screen.place?.end : pipeline.ready[0].enqueued.place.start
    }

    /// Commits what was composed of the frame on the screen, with what lies over it, or what the output was too busy for; nil where there is
    /// nothing.
    mutating func presentRepainted(_ pipeline: inout Pipeline) -> Step? {
        guard let repainted = pipeline.takeRepainted() else { return nil }
        return .present(repainted, begin(refused.take() ?? Commit(), pipeline.screen.mark, &pipeline))
    }
}
