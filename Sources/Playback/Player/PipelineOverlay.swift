import DequeModule
import KioskPlatform
import KioskVocabulary

/// The pipeline's overlay, with the lock held: stale scenes, the compositor's next step, and the presenter's waits.
extension Pipeline {
    // MARK: The player

    /// Sets an overlay over every scene from now on, one of several by order. Gives back the old one, to be freed without the lock.
    mutating func setOverlay(_ new: inout Overlay, by source: Overlay.Source, at event: HostTime?) {
        swap(&drawn[source.order.rawValue], &new)
        if overlay.set(laidOut, by: source), let event { inputLatency.overlaid(at: event, shownBy: overlay.number) }
    }

    /// Sets the subtitles of a picture that is chosen, or on the screen.
    mutating func followSubtitles(_ place: FramePlace) {
        guard subtitles.isInUse, var new = subtitles.overlay(for: place.playthrough?.serial, at: place.itemTime) else { return }
        setOverlay(&new, by: .init(.subtitles), at: nil)
        subtitles.retire(new)
        hasNewSubtitles = true
    }

    /// Keeps subtitles this far above the bottom of the screen from now on.
    mutating func setSubtitleInset(_ inset: Int) {
        guard inset != subtitleInset else { return }
        subtitleInset = inset
        if !drawn[Overlay.Order.subtitles.rawValue].pictures.isEmpty { _ = overlay.set(laidOut, by: .init(.subtitles)) }
    }

    /// All overlays, with the subtitles above the controls and the ticker at the bottom of the screen.
    private var laidOut: Overlay {
        let place = Overlay.Order.subtitles.rawValue
        guard let height = drawn[place].height, !drawn[place].pictures.isEmpty else { return Overlay(drawn) }
        let inset = max(subtitleInset, tickerInset(height))
        guard inset > 0 else { return Overlay(drawn) }
        var all = drawn
        // Subtitles in the upper half stay where they are.
        let low = all[place].pictures.indices.filter { all[place].pictures[$0].y + all[place].pictures[$0].surface.height / 2 > height / 2 }
        let bottom = low.map { all[place].pictures[$0].y + all[place].pictures[$0].surface.height }.max() ?? 0
        let shift = bottom - (height - inset)
        if shift > 0 { for index in low { all[place].pictures[index].y -= shift } }
        return Overlay(all)
    }

    /// Returns how much of the lower half of a screen of this height the ticker takes.
    private func tickerInset(_ height: Int) -> Int {
        let top = drawn[Overlay.Order.ticker.rawValue].pictures.map(\.y).filter { $0 > height / 2 }.min()
        return height - (top ?? height)
    }

    // MARK: The compositor

    /// Whether any scene contains an overlay that is out of date.
    private var hasStaleScene: Bool {
        if screenIsStale { return true }
        for index in 0..<ready.count where isStale(ready[index]) { return true }
        return false
    }

    private var screenIsStale: Bool { screen.canTakeOverlay && (overlay.isStale(screen.mark) || overlay.hasToLeavePlane) }

    private func isStale(_ frame: borrowing PreparedFrame) -> Bool { frame.composed != nil && overlay.isStale(frame.mark) }

    /// Returns the compositor's next step for scenes with a stale overlay. It does nothing if a seek has led to a frame that is queued:
    /// that is seen next, and brings the overlay along. Otherwise an overlay for each place of a finger would take every buffer before it.
    func overlayStep(now: () -> HostTime) -> OverlayPlan.Step {
        guard hasDisplay, hasStaleScene, seek.underWay == nil || frames.isEmpty || !ready.isEmpty else { return .none }
        return overlayPlan(at: now()).step
    }

    private func overlayPlan(at now: HostTime) -> OverlayPlan {
        func frame(_ index: Int) -> OverlayPlan.Frame? {
            guard index < ready.count else { return nil }
            // A late frame is due next.
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

    /// Returns a copy of ready frame `index`, to be prepared again while that stays ready (``renewing``).
    mutating func takeFrameToRenew(_ index: Int) -> EnqueuedFrame? {
        guard let old = ready[index].composed, let copy = ready[index].enqueued.shared() else { return nil }
        renewing = old
        return copy
    }

    /// Takes the copy that has been prepared; `new` is nil if the display is gone. Returns the scene to discard: the old ready one, or the
    /// new one if the frame is no longer to be shown, or has been.
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

    /// Notes that there was no buffer for the copy.
    mutating func couldNotRenew(_ copy: consuming EnqueuedFrame, asOf returns: UInt64) {
        release(copy)
        renewing = nil
        buffers.wereNotThere(asOf: returns)
    }

    /// Takes the last ready frame back into the queue. Returns the scene to discard.
    mutating func giveUpLastReady() -> PreparedScene? {
        guard var frame = ready.popLast() else { return nil }
        let composed = frame.composed.take()
        frames.prepend(frame.enqueued)
        return composed
    }

    // MARK: The presenter

    /// Whether to wait with the next ready frame, because another overlay is on its way to it.
    func awaitsOverlay(at now: HostTime) -> Bool {
        if overlay.isComing(at: now) { return true }
        guard !ready.isEmpty, isStale(ready[0]) else { return false }
        return renewing == ready[0].composed || [.renew(0), .giveUpLast].contains(overlayPlan(at: now).step)
    }

    /// Whether there is something to commit when no frame is due: the frame on the screen, painted again, or the overlay alone.
    var awaitsGap: Bool { screen.waiting != nil || overlay.awaitsCommit(over: screen.mark) }
}
