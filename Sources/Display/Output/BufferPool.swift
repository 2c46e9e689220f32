import KioskPlayback
import KioskVocabulary

/// Who has which scan-out buffer, what the overlay planes show, and what is on its way to the screen: a flip changes both together. A pure
/// value; ``DisplayOutput`` keeps it behind its lock.
///
///     spare ──take──> preparing ──finish──> prepared ──begin──> pending ──flipped──> onScreen ──(next flip)──> spare
///                         └──────<─────────────┴── discard  <──refused──┘                └──assumed──> leaving ──(next flip)──> spare
///
/// What lies over the picture goes the same way from ``offer(_:)`` on, with the first commit that can have it. A commit of it alone shows the
/// buffer on the screen once more.
///
/// A flip whose end nobody told of is assumed to have happened, but may not have yet: the buffer before it is *leaving*, and not to be
/// painted into until the kernel takes the next flip, which it does when it is done with the one before. Nor are the buffers of overlays drawn
/// into that are in here, but for those of `next` after ``takeBack()``.
///
/// Every change of screen begins a new generation: all buffers are then new ones, and whatever comes back under an older
/// generation has nothing left to give back.
struct BufferPool {
    enum Use: Equatable { case spare, preparing, prepared, pending, onScreen, leaving }

    /// What one flip has on the screen. `buffer` is nil where there is no screen.
    private struct Shown {
        var buffer: Int?
        var overlay = OverlayFrame.nothing
    }

    private(set) var generation: UInt64 = 0
    /// Of those that are neither shown nor to be; of others it is `spare`.
    private var states: [Use] = []
    /// Readers (snapshots) of a buffer; it does not become spare to a painter while it has any.
    private var readers: [Int] = []
    /// Where nothing of the overlay changes its frame is nil.
    private var pending: (buffer: Int, overlay: OverlayFrame?)?
    private var shown = Shown()
    private var leaving: Shown?
    /// What is offered to lie over the picture, and what has gone, for the compositor to free: a drawing may be large, and the presenter is not
    /// to wait for that.
    private(set) var next: OverlayFrame?
    private var gone: [OverlayFrame] = []

    /// Begins the next generation with `count` buffers, the first of which is on the screen; 0 when there is no screen.
    mutating func renew(count: Int) {
        let generation = generation + 1
        self = BufferPool()
        self.generation = generation
        (states, readers) = (Array(repeating: .spare, count: count), Array(repeating: 0, count: count))
        shown.buffer = count > 0 ? 0 : nil
    }

    // MARK: Buffers

    /// Who has a buffer.
    func use(of buffer: Int) -> Use {
        if shown.buffer == buffer { return .onScreen }
        if pending?.buffer == buffer { return .pending }
        return leaving?.buffer == buffer ? .leaving : states[buffer]
    }

    /// Whether a buffer is neither shown nor to be, and nobody reads it.
    func isSpare(_ buffer: Int) -> Bool { use(of: buffer) == .spare && readers[buffer] == 0 }

    /// Whether what is in a buffer is on the screen, or may come there.
    func isOfUse(_ buffer: Int) -> Bool {
        let use = use(of: buffer)
        return use != .spare && use != .preparing
    }

    /// A spare buffer to paint into.
    mutating func take() -> Int? {
        guard let index = states.indices.first(where: { isSpare($0) }) else { return nil }
        states[index] = .preparing
        return index
    }

    /// The buffer that was taken is prepared.
    mutating func finish(_ buffer: Int, generation: UInt64) {
        if generation == self.generation, states[buffer] == .preparing { states[buffer] = .prepared }
    }

    /// Whether `prepared` can be flipped to; false for one of an older generation.
    func isCurrent(_ prepared: PreparedScene) -> Bool {
        prepared.generation == generation && states.indices.contains(prepared.buffer) && use(of: prepared.buffer) == .prepared
    }

    /// A scene that is not committed comes back.
    mutating func discard(_ prepared: PreparedScene) { if isCurrent(prepared) { states[prepared.buffer] = .spare } }

    /// Who prepared scenes, and has not committed them, has ended: they come back, and so does what it was preparing.
    mutating func reclaim() { states = states.indices.map { pending?.buffer == $0 ? states[$0] : .spare } }

    /// The buffer on the screen; nil where there is no screen.
    var onScreen: Int? { shown.buffer }

    /// The buffer on the screen, not painted into until ``endReading(_:generation:)``.
    mutating func beginReading() -> Int? {
        guard let index = onScreen else { return nil }
        readers[index] += 1
        return index
    }

    /// Ends what ``beginReading()`` began. Returns whether the buffer is spare from now on, which no flip will tell.
    mutating func endReading(_ buffer: Int, generation: UInt64) -> Bool {
        guard generation == self.generation else { return false }
        readers[buffer] -= 1
        return isSpare(buffer)
    }

    // MARK: What lies over the picture

    /// To be shown with the next commit that can have it, instead of what was to be.
    mutating func offer(_ frame: OverlayFrame) { next = frame }

    /// Takes what no commit has taken yet.
    mutating func takeBack() { next = nil }

    /// The overlays that are on the screen, may be, or will be: what is offered or shown last comes first.
    var overlays: [OverlayFrame] { [next, pending?.overlay, shown.overlay, leaving?.overlay].compactMap { $0 } }

    /// What lies over the picture on the screen.
    var overlayOnScreen: OverlayFrame { shown.overlay }

    /// Whether a flip is under way that changes it.
    var awaitsOverlay: Bool { pending?.overlay != nil }

    /// The driver has taken the pending flip without its overlay: there is none any more. Returns the planes that are still on.
    mutating func dropOverlays() -> [PlaneProperties] {
        next = nil
        pending?.overlay = nil
        defer {
            shown.overlay = .nothing
            leaving?.overlay = .nothing
        }
        return planes
    }

    /// The planes that show something, or will with the flip that is under way.
    var planes: [PlaneProperties] {
        let all = [pending?.overlay, shown.overlay, leaving?.overlay].flatMap { $0?.shows.map(\.plane) ?? [] }
        return Dictionary(all.map { ($0.id, $0) }, uniquingKeysWith: { $1 }).values.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// The planes that show something, or will; those of what no commit has taken yet among them. In the order of their numbers.
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

    /// Whether a flip is under way.
    var hasPending: Bool { pending != nil }

    /// A commit begins of a prepared buffer, or once more of the one on the screen, whose picture is rotated by `rotation` and contains
    /// `painting` of an overlay, 0: nothing. What is on the planes stays there where no other lies over that, and else they are to be off.
    /// Returns what is to change of the planes, nil where nothing is.
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

    /// The commit that ``begin(_:under:painting:)`` was for was not taken.
    mutating func refused() {
        if let frame = pending.take()?.overlay, next == nil, !frame.shows.isEmpty || !shown.overlay.shows.isEmpty { next = frame }
    }

    /// It was taken by the kernel.
    mutating func queued() {
        if let pending { states[pending.buffer] = .spare }
        if let left = leaving.take(), !left.overlay.shows.isEmpty { gone.append(left.overlay) }
    }

    /// The pending flip has happened: the buffer that was on the screen is spare. `isAssumed`: nobody said so, and it may still be leaving.
    mutating func flipped(isAssumed: Bool = false) {
        guard let pending = pending.take() else { return }
        if isAssumed { leaving = shown } else if pending.overlay != nil { gone.append(shown.overlay) }
        shown = Shown(buffer: pending.buffer, overlay: pending.overlay ?? shown.overlay)
    }
}
