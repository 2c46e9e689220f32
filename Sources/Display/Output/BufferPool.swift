import KioskPlayback
import KioskVocabulary

/// The owners of the scan-out buffers, and the overlays on the screen and on their way there: one flip changes both. A pure value;
/// ``DisplayOutput`` keeps it behind its lock.
///
///     spare ──take──> preparing ──finish──> prepared ──begin──> pending ──flipped──> onScreen ──(next flip)──> spare
///                         └──────<─────────────┴── discard  <──refused──┘                └──assumed──> leaving ──(next flip)──> spare
///
/// An overlay takes the same path from ``offer(_:)`` on, with the first commit that fits. A commit of an overlay alone shows the buffer on
/// the screen again.
///
/// If the driver reports no end of a flip, the pool assumes that it has happened, but it may not have. The buffer before it is then
/// *leaving*. Nobody paints into it until the kernel takes the next flip, because the kernel does that only after the previous one. Nobody
/// draws into the buffers of overlays in this pool either, except those of `next` after ``takeBack()``.
///
/// Every change of screen begins a new generation with new buffers. The pool ignores returns of an older generation.
struct BufferPool {
    enum Use: Equatable { case spare, preparing, prepared, pending, onScreen, leaving }

    /// The content of the screen after a flip. `buffer` is nil if there is no screen.
    private struct Shown {
        var buffer: Int?
        var overlay = OverlayFrame.nothing
    }

    private(set) var generation: UInt64 = 0
    /// The state of each buffer without a flip. From ``queued()`` on it is `spare`.
    private var states: [Use] = []
    /// The number of readers (snapshots) of each buffer. A buffer with readers is not spare for painters.
    private var readers: [Int] = []
    /// `overlay` is nil if the flip does not change the overlay.
    private var pending: (buffer: Int, overlay: OverlayFrame?)?
    private var shown = Shown()
    private var leaving: Shown?
    /// `next` is the offered overlay. `gone` are former overlays for the compositor to free: a drawing may be large, and the presenter must
    /// not wait for that.
    private(set) var next: OverlayFrame?
    private var gone: [OverlayFrame] = []

    /// Begins the next generation with `count` buffers, the first of them on the screen. `count` is 0 if there is no screen.
    mutating func renew(count: Int) {
        let generation = generation + 1
        self = BufferPool()
        self.generation = generation
        (states, readers) = (Array(repeating: .spare, count: count), Array(repeating: 0, count: count))
        shown.buffer = count > 0 ? 0 : nil
    }

    // MARK: Buffers

    /// Returns the use of a buffer.
    func use(of buffer: Int) -> Use {
        if shown.buffer == buffer { return .onScreen }
        if pending?.buffer == buffer { return .pending }
        return leaving?.buffer == buffer ? .leaving : states[buffer]
    }

    /// Whether a buffer is neither in use nor being read.
    func isSpare(_ buffer: Int) -> Bool { use(of: buffer) == .spare && readers[buffer] == 0 }

    /// Whether the content of a buffer is on the screen, or may come there.
    func isOfUse(_ buffer: Int) -> Bool {
        let use = use(of: buffer)
        return use != .spare && use != .preparing
    }

    /// Takes a spare buffer to paint into.
    mutating func take() -> Int? {
        guard let index = states.indices.first(where: { isSpare($0) }) else { return nil }
        states[index] = .preparing
        return index
    }

    /// Marks a taken buffer as prepared.
    mutating func finish(_ buffer: Int, generation: UInt64) {
        if generation == self.generation, states[buffer] == .preparing { states[buffer] = .prepared }
    }

    /// Whether a flip can show `prepared`; false for an older generation.
    func isCurrent(_ prepared: PreparedScene) -> Bool {
        prepared.generation == generation && states.indices.contains(prepared.buffer) && use(of: prepared.buffer) == .prepared
    }

    /// Takes back a scene that its owner does not commit.
    mutating func discard(_ prepared: PreparedScene) { if isCurrent(prepared) { states[prepared.buffer] = .spare } }

    /// Takes back all buffers of an ended player: those prepared and not committed, and the one it was preparing.
    mutating func reclaim() { states = states.indices.map { pending?.buffer == $0 ? states[$0] : .spare } }

    /// The buffer on the screen; nil if there is no screen.
    var onScreen: Int? { shown.buffer }

    /// Returns the buffer on the screen. Nobody paints into it until ``endReading(_:generation:)``.
    mutating func beginReading() -> Int? {
        guard let index = onScreen else { return nil }
        readers[index] += 1
        return index
    }

    /// Ends the reading that ``beginReading()`` began. Returns whether the buffer is spare from now on; no flip reports this.
    mutating func endReading(_ buffer: Int, generation: UInt64) -> Bool {
        guard generation == self.generation else { return false }
        readers[buffer] -= 1
        return isSpare(buffer)
    }

    // MARK: What lies over the picture

    /// Offers an overlay to the next commit that it fits. It replaces an earlier offer.
    mutating func offer(_ frame: OverlayFrame) { next = frame }

    /// Withdraws an offer that no commit has taken.
    mutating func takeBack() { next = nil }

    /// The overlays that are, may be or will be on the screen, the latest offered or shown first.
    var overlays: [OverlayFrame] { [next, pending?.overlay, shown.overlay, leaving?.overlay].compactMap { $0 } }

    /// The overlay on the screen.
    var overlayOnScreen: OverlayFrame { shown.overlay }

    /// Whether the flip in progress changes the overlay.
    var awaitsOverlay: Bool { pending?.overlay != nil }

    /// Forgets all overlays, after the driver has taken the pending flip without its overlay. Returns the planes that are still on.
    mutating func dropOverlays() -> [PlaneProperties] {
        next = nil
        pending?.overlay = nil
        defer {
            shown.overlay = .nothing
            leaving?.overlay = .nothing
        }
        return planes
    }

    /// The planes that show something, or will show something with the flip in progress.
    var planes: [PlaneProperties] {
        let all = [pending?.overlay, shown.overlay, leaving?.overlay].flatMap { $0?.shows.map(\.plane) ?? [] }
        return Dictionary(all.map { ($0.id, $0) }, uniquingKeysWith: { $1 }).values.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// The planes that show something or will, including those of the offered overlay, in the order of their numbers.
    var taken: [PlaneID] {
        if isOff { return [] }
        return Set(overlays.flatMap { $0.shows.map(\.plane.id) }).sorted { $0.rawValue < $1.rawValue }
    }

    /// Whether the planes show nothing, and will show nothing.
    private var isOff: Bool {
        (next?.shows.isEmpty ?? true) && (pending?.overlay?.shows.isEmpty ?? true) && shown.overlay.shows.isEmpty
            && (leaving?.overlay.shows.isEmpty ?? true)
    }

    /// Overlays that have gone since the last call.
    mutating func takeGone() -> [OverlayFrame] {
        defer { if !gone.isEmpty { gone = [] } }
        return gone
    }

    // MARK: Flips

    /// Whether a flip is in progress.
    var hasPending: Bool { pending != nil }

    /// Begins a commit of a prepared buffer, or a repeated one of the buffer on the screen. `rotation` is the rotation of its picture,
    /// `painting` the overlay that it contains (0: none). The planes take the offered overlay if it fits. Otherwise they keep their overlay
    /// if it may lie over `painting`, or else go off. Returns the change of the planes; nil for none.
    mutating func begin(_ buffer: Int, under rotation: Rotation, painting: UInt64) -> OverlayChange? {
        precondition(pending == nil && (shown.buffer == buffer || use(of: buffer) == .prepared))
        var frame: OverlayFrame?
        if let next, next.fits(over: rotation, painting) {
            frame = next
            self.next = nil
        } else if !shown.overlay.isOver(painting), !shown.overlay.shows.isEmpty {
            frame = .nothing
        }
        pending = (buffer, frame)
        return frame.map { OverlayChange(from: shown.overlay, to: $0) }
    }

    /// Handles a refusal of the commit of ``begin(_:under:painting:)``.
    mutating func refused() {
        if let frame = pending.take()?.overlay, next == nil, !frame.shows.isEmpty || !shown.overlay.shows.isEmpty { next = frame }
    }

    /// Handles the kernel's acceptance of the commit.
    mutating func queued() {
        if let pending { states[pending.buffer] = .spare }
        if let left = leaving.take(), !left.overlay.shows.isEmpty { gone.append(left.overlay) }
    }

    /// Completes the pending flip: the buffer shown before becomes spare. `isAssumed`: nobody reported the flip, so that buffer may still
    /// be leaving.
    mutating func flipped(isAssumed: Bool = false) {
        guard let pending = pending.take() else { return }
        if isAssumed { leaving = shown } else if pending.overlay != nil { gone.append(shown.overlay) }
        shown = Shown(buffer: pending.buffer, overlay: pending.overlay ?? shown.overlay)
    }
}
