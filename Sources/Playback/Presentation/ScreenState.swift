import KioskPlatform

/// The frame on the screen, and whether it has to be composed again: because the display has changed, or because another overlay lies over
/// it (``OverlayPlan``).
///
/// The compositor takes the frame out to compose it again and brings it back; meanwhile a newer frame may be shown. What was composed
/// anew, and a frame that the output was too busy to take, waits here for the presenter.
struct ScreenState: ~Copyable {
    private enum Repaint {
        case none
        case wanted
        /// The frame is out with the compositor; `again` where the display has changed once more since.
        case underWay(again: Bool, isUrgent: Bool)
    }

    /// A composed picture of what is on the screen.
    struct Waiting: Hashable, Sendable {
        var scene: PreparedScene
        /// What lies over it.
        var mark: OverlayMark
        /// Whether it comes before all else. What was painted for the sake of an overlay comes where no frame is due.
        var isUrgent: Bool
    }

    /// nil before the first, and while it is out.
    private var frame: EnqueuedFrame?
    /// Where the frame lies, which is known all the while; nil before the first.
    private(set) var place: FramePlace?
    /// Grows with every frame shown.
    private(set) var serial: UInt64 = 0
    private var repaint = Repaint.none
    /// What is to be presented next, in place of the same frame.
    private(set) var waiting: Waiting?
    /// What lies over the picture on the screen, or the one on its way there.
    private(set) var mark = OverlayMark()

    /// What is shown from now on, composed for the display as it is with `mark` over it; returns the frame before, to be released.
    mutating func show(_ newer: consuming EnqueuedFrame, mark: OverlayMark) -> EnqueuedFrame? {
        place = newer.place
        self.mark = mark
        serial += 1
        setRepaint(false)
        let before = frame.take()
        frame = .some(newer)
        return before
    }

    /// Whether it has to be composed again.
    mutating func setRepaint(_ isWanted: Bool) {
        if case .underWay(_, let isUrgent) = repaint {
            repaint = .underWay(again: isWanted, isUrgent: isUrgent)
        } else {
            repaint = isWanted ? .wanted : .none
        }
    }

    /// Whether there is a frame to be composed again.
    var canRepaint: Bool {
        if case .wanted = repaint { frame != nil } else { false }
    }

    /// Takes the frame out to be composed again, where that is wanted.
    mutating func beginRepaint() -> EnqueuedFrame? {
        guard canRepaint else { return nil }
        repaint = .underWay(again: false, isUrgent: true)
        return frame.take()
    }

    /// Whether there is a frame that can be composed again for an overlay: what is under way comes first.
    var canTakeOverlay: Bool {
        if case .none = repaint { frame != nil && waiting == nil } else { false }
    }

    /// Takes the frame out to be composed again under another overlay.
    mutating func beginOverlay() -> EnqueuedFrame? {
        guard canTakeOverlay else { return nil }
        repaint = .underWay(again: false, isUrgent: false)
        return frame.take()
    }

    /// Brings a frame back that was taken out as number `serial`; returns it, to be released, where a newer one has been shown since. Then
    /// `composed` is the caller's to discard, too. `isShort`: there was no buffer for it.
    mutating func endRepaint(
        _ older: consuming EnqueuedFrame, serial: UInt64, composed: PreparedScene?, mark: OverlayMark, isShort: Bool
    ) -> EnqueuedFrame? {
        var isUrgent = true
        if case .underWay(let again, let wasUrgent) = repaint { (repaint, isUrgent) = (again ? .wanted : .none, wasUrgent) }
        // What the newer frame needs is its own business.
        if serial != self.serial { return older }
        if isShort, isUrgent { repaint = .wanted }
        frame = .some(older)
        waiting = composed.map { Waiting(scene: $0, mark: mark, isUrgent: isUrgent) }
        return nil
    }

    /// Keeps a frame that the output was too busy to take.
    mutating func keep(_ refused: PreparedScene) { waiting = Waiting(scene: refused, mark: mark, isUrgent: true) }

    /// What is to be presented next.
    mutating func takeWaiting() -> PreparedScene? {
        guard let next = waiting.take() else { return nil }
        mark = next.mark
        return next.scene
    }

    /// What waits and will not be presented any more.
    mutating func dropWaiting() -> PreparedScene? { waiting.take()?.scene }
}

/// Whether the compositor may look for a spare scan-out buffer: not where there was none and none has come back since.
struct SpareBuffers: Hashable, Sendable {
    private var ranOut = false
    /// How often buffers may have come back: what was found out before the last time no longer counts.
    private(set) var returns: UInt64 = 0

    var mayBeThere: Bool { !ranOut }

    /// A flip has freed a buffer, or one was discarded.
    mutating func cameBack() {
        returns += 1
        ranOut = false
    }

    /// There was none. `returns` is what it was before the look: one may have come back meanwhile, and nobody would say so again.
    mutating func wereNotThere(asOf returns: UInt64) { ranOut = self.returns == returns }
}
