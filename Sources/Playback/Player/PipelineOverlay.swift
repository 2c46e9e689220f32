import DequeModule
import KioskPlatform
import KioskVocabulary

/// What is done about an overlay with the lock held: what is stale, what the compositor does about it, what the presenter waits for.
extension Pipeline {
    // MARK: The player

    /// What is to lie over every scene from now on, among what others draw; gives back what was to, to be freed without the lock.
    mutating func setOverlay(_ new: inout Overlay, by source: Overlay.Source, at event: HostTime?) {
        swap(&drawn[source.order.rawValue], &new)
        if overlay.set(laidOut, by: source), let event { inputLatency.overlaid(at: event, shownBy: overlay.number) }
    }

    /// Has the subtitles of a picture lie over it that is chosen, or on the screen.
    mutating func followSubtitles(_ place: FramePlace) {
        guard subtitles.isInUse, var new = subtitles.overlay(for: place.playthrough?.serial, at: place.itemTime) else { return }
        setOverlay(&new, by: .init(.subtitles), at: nil)
        subtitles.retire(new)
        hasNewSubtitles = true
    }

    /// Subtitles stay above what is drawn at the bottom of the screen from now on.
    mutating func setSubtitleInset(_ inset: Int) {
        guard inset != subtitleInset else { return }
        subtitleInset = inset
        if !drawn[Overlay.Order.subtitles.rawValue].pictures.isEmpty { _ = overlay.set(laidOut, by: .init(.subtitles)) }
    }

    /// What is drawn, with the subtitles above what is at the bottom of the screen.
    private var laidOut: Overlay {
        let place = Overlay.Order.subtitles.rawValue
        guard let height = drawn[place].height, !drawn[place].pictures.isEmpty else { return Overlay(drawn) }
        let inset = max(subtitleInset, tickerInset(height))
        guard inset > 0 else { return Overlay(drawn) }
        var all = drawn
        // Those in the upper half stand for themselves.
        let low = all[place].pictures.indices.filter { all[place].pictures[$0].y + all[place].pictures[$0].surface.height / 2 > height / 2 }
        let bottom = low.map { all[place].pictures[$0].y + all[place].pictures[$0].surface.height }.max() ?? 0
        let shift = bottom - (height - inset)
        if shift > 0 { for index in low { all[place].pictures[index].y -= shift } }
        return Overlay(all)
    }

    /// How much of the lower half of a screen of that height is a ticker's.
    private func tickerInset(_ height: Int) -> Int {
        let top = drawn[Overlay.Order.ticker.rawValue].pictures.map(\.y).filter { $0 > height / 2 }.min()
        return height - (top ?? height)
    }

    // MARK: The compositor

    /// Whether anything shows another overlay than it is to, where scenes contain it.
    private var hasStaleScene: Bool {
        if screenIsStale { return true }
        for index in 0..<ready.count where isStale(ready[index]) { return true }
        return false
    }

    private var screenIsStale: Bool { screen.canTakeOverlay && (overlay.isStale(screen.mark) || overlay.hasToLeavePlane) }

    private func isStale(_ frame: borrowing PreparedFrame) -> Bool { frame.composed != nil && overlay.isStale(frame.mark) }

    /// What the compositor is to do about scenes that show another overlay than they are to. Nothing where a seek has led to a frame that is
    /// queued: it is seen next, and brings the overlay along. An overlay for each place of a finger would take every buffer before it.
    func overlayStep(now: () -> HostTime) -> OverlayPlan.Step {
        guard hasDisplay, hasStaleScene, seek.underWay == nil || frames.isEmpty || !ready.isEmpty else { return .none }
        return overlayPlan(at: now()).step
    }

    private func overlayPlan(at now: HostTime) -> OverlayPlan {
        func frame(_ index: Int) -> OverlayPlan.Frame? {
            guard index < ready.count else { return nil }
            // What is late is due next.
            let due = pacing.map { max($0.vblank(of: ready[index].enqueued.place.start), $0.vblank(after: now)) }
            return .init(
                due: due, isStale: isStale(ready[index]),
                isOlder: ready[index].mark.number < screen.mark.number)
        }
        var next: HostTime?
        if !frames.isEmpty {
            next = frames.withFrame(at: 0) { pacing?.vblank(of: $0.place.start) }
        } else if ready.isEmpty, let place = screen.place {
            next = pacing?.vblank(of: place.end)
        }
        return OverlayPlan(
            now: now, composeTime: composeTime.expected(MediaTime(nanoseconds: Int64(saturating: pacing?.period ?? 0))), pacing: pacing,
            isPlaying: playback.isPlaying, isMoving: overlay.isMoving(at: now),
            first: frame(0), second: frame(1), next: next, hasQueued: !frames.isEmpty, screenIsStale: screenIsStale,
            hasBuffer: buffers.mayBeThere, awaitsFlip: pending != nil)
    }

    /// A copy of ready frame `index`, to be prepared again while that stays ready (``renewing``).
    mutating func takeFrameToRenew(_ index: Int) -> EnqueuedFrame? {
        guard let old = ready[index].composed, let copy = ready[index].enqueued.shared() else { return nil }
        renewing = old
        return copy
    }

    /// The copy has been prepared, where there is still a display. Returns what is to be discarded: what was ready, or, where that is no
    /// longer to be shown or has been, what was prepared.
    mutating func renewed(
        _ copy: consuming EnqueuedFrame, of old: PreparedScene, as new: PreparedScene?, mark: OverlayMark
    ) -> PreparedScene? {
        release(copy)
        renewing = nil
        guard let new else { return nil }
        for index in 0..<ready.count where ready[index].composed == old {
            (ready[index].composed, ready[index].mark) = (new, mark)
            return old
        }
        return new
    }

    /// There was no buffer for the copy.
    mutating func couldNotRenew(_ copy: consuming EnqueuedFrame, asOf returns: UInt64) {
        release(copy)
        renewing = nil
        buffers.wereNotThere(asOf: returns)
    }

    /// Takes the last ready frame back into the queue. Returns what is to be discarded.
    mutating func giveUpLastReady() -> PreparedScene? {
        guard var frame = ready.popLast() else { return nil }
        let composed = frame.composed.take()
        frames.prepend(frame.enqueued)
        return composed
    }

    // MARK: The presenter

    /// Whether the next ready frame is to be waited for, as another overlay is on its way to it.
    func awaitsOverlay(at now: HostTime) -> Bool {
        if overlay.isComing(at: now) { return true }
        guard !ready.isEmpty, isStale(ready[0]) else { return false }
        return renewing == ready[0].composed || [.renew(0), .giveUpLast].contains(overlayPlan(at: now).step)
    }

    /// Whether something is to be committed where no frame is due: the frame on the screen, painted again, or the overlay alone.
    var awaitsGap: Bool { screen.waiting != nil || overlay.awaitsCommit(over: screen.mark) }
}
