import KioskPlatform

/// The frame on the screen, and whether to compose it again: because the display has changed, or because another overlay lies over it
/// (``OverlayPlan``).
///
/// The compositor takes the frame out to compose it again and brings it back; meanwhile a newer frame may be shown. A recomposed scene, or
/// a frame that the output was too busy for, waits here for the presenter.
struct ScreenState: ~Copyable {
    private enum Repaint {
        case none
        case wanted
        /// The compositor has the frame; `again` if the display has changed once more since.
        case underWay(again: Bool, isUrgent: Bool)
    }

    /// A composed scene of the frame on the screen.
    struct Waiting: Hashable, Sendable {
        var scene: PreparedScene
        /// The overlay in the scene.
        var mark: OverlayMark
        /// Whether the scene comes before everything else. A repaint for an overlay alone comes only if no frame is due.
        var isUrgent: Bool
    }

    /// The frame; nil before the first one, and while the compositor has it.
    private var frame: EnqueuedFrame?
    /// The frame's place, also while the compositor has the frame; nil before the first one.
    private(set) var place: FramePlace?
    /// A number that grows with every frame shown.
    private(set) var serial: UInt64 = 0
    private var repaint = Repaint.none
    /// The scene to present next, in place of the same frame.
    private(set) var waiting: Waiting?
    /// The overlay over the picture on the screen, or over the one on its way there.
    private(set) var mark = OverlayMark()

    /// Makes `newer` the frame on the screen, composed for the present display with `mark` over it. Returns the frame before, for the
    /// caller to release.
    mutating func show(_ newer: consuming EnqueuedFrame, mark: OverlayMark) -> EnqueuedFrame? {
        place = newer.place
        self.mark = mark
        serial += 1
        setRepaint(false)
        let before = frame.take()
        frame = .some(newer)
        return before
    }

    /// Sets whether the frame has to be composed again.
    mutating func setRepaint(_ isWanted: Bool) {
        if case .underWay(_, let isUrgent) = repaint {
            repaint = .underWay(again: isWanted, isUrgent: isUrgent)
        } else {
            repaint = isWanted ? .wanted : .none
        }
    }

    /// Whether there is a frame to compose again.
    var canRepaint: Bool {
        if case .wanted = repaint { frame != nil } else { false }
    }

    /// Takes the frame out to compose it again, if wanted.
    mutating func beginRepaint() -> EnqueuedFrame? {
        guard canRepaint else { return nil }
        repaint = .underWay(again: false, isUrgent: true)
        return frame.take()
    }

    /// Whether a frame can be composed again for an overlay: a repaint that is wanted or under way comes first.
    var canTakeOverlay: Bool {
        if case .none = repaint { frame != nil && waiting == nil } else { false }
    }

    /// Takes the frame out to compose it again under another overlay.
    mutating func beginOverlay() -> EnqueuedFrame? {
        guard canTakeOverlay else { return nil }
        repaint = .underWay(again: false, isUrgent: false)
        return frame.take()
    }

    /// Brings back a frame that was taken out under `serial`. If a newer frame has been shown since, returns it for the caller to release;
    /// the caller then also discards `composed`. `isShort` says that there was no buffer for it.
    mutating func endRepaint(
        _ older: consuming EnqueuedFrame, serial: UInt64, composed: PreparedScene?, mark: OverlayMark, isShort: Bool
    ) -> EnqueuedFrame? {
        var isUrgent = true
        if case .underWay(let again, let wasUrgent) = repaint { (repaint, isUrgent) = (again ? .wanted : .none, wasUrgent) }
        // The newer frame has its own repaint state.
        if serial != self.serial { return older }
        if isShort, isUrgent { repaint = .wanted }
        frame = .some(older)
        waiting = composed.map { Waiting(scene: $0, mark: mark, isUrgent: isUrgent) }
        return nil
    }

    /// Keeps a frame that the output was too busy for.
    mutating func keep(_ refused: PreparedScene) { waiting = Waiting(scene: refused, mark: mark, isUrgent: true) }

    /// Takes the scene to present next.
    mutating func takeWaiting() -> PreparedScene? {
        guard let next = waiting.take() else { return nil }
        mark = next.mark
        return next.scene
    }

    /// Takes the waiting scene, which will not be presented, for the caller to discard.
    mutating func dropWaiting() -> PreparedScene? { waiting.take()?.scene }
}

/// Whether the compositor may look for a spare scan-out buffer: not if there was none and none has come back since.
struct SpareBuffers: Hashable, Sendable {
    private var ranOut = false
    /// The number of times that buffers may have come back. A result from before the latest return no longer counts.
    private(set) var returns: UInt64 = 0

    var mayBeThere: Bool { !ranOut }

    /// Records that a flip has freed a buffer, or that a scene was discarded.
    mutating func cameBack() {
        returns += 1
        ranOut = false
    }

    /// Records that no buffer was spare. `returns` is the count before the look: a buffer may have come back meanwhile, and no event would
    /// report it again.
    mutating func wereNotThere(asOf returns: UInt64) { ranOut = self.returns == returns }
}
