import KioskPlayback
import KioskVocabulary

/// Which drawn pictures the overlay planes show, and will show. A pure value; ``DisplayOutput`` keeps it behind its lock.
///
///     offer ──> next ──begin──> pending ──flipped──> onScreen ──(next flip)──> gone
///                 ^───refused──────┘                     └──assumed──> leaving ──(next flip)──> gone
///
/// As in ``BufferPool``, what is leaving may still be on the screen. The buffers of a frame in here are not drawn into, but for those of
/// `next` after ``takeBack()``.
struct OverlayQueue {
    private(set) var next: OverlayFrame?
    private(set) var pending: OverlayFrame?
    private(set) var onScreen = OverlayFrame.nothing
    private(set) var leaving: OverlayFrame?
    /// Those that have gone, for the compositor to free: a drawing may be large, and the presenter is not to wait for that.
    private var gone: [OverlayFrame] = []

    /// Those that have gone since the last call.
    mutating func takeGone() -> [OverlayFrame] {
        defer { if !gone.isEmpty { gone = [] } }
        return gone
    }

    /// To be shown with the next commit that can have it, instead of what was to be.
    mutating func offer(_ frame: OverlayFrame) { next = frame }

    /// Takes what no commit has taken yet.
    mutating func takeBack() -> OverlayFrame? { next.take() }

    /// What is offered last, else shown last.
    var newest: OverlayFrame { next ?? pending ?? onScreen }

    /// A commit of a picture that is turned by `rotation` begins. `containsOverlay`: the picture has it already, and the planes are to be
    /// off. Returns what is to change, nil where nothing is.
    mutating func begin(under rotation: Rotation, containsOverlay: Bool) -> OverlayChange? {
        let frame: OverlayFrame
        if containsOverlay {
            guard !onScreen.shows.isEmpty else { return nil }
            frame = .nothing
        } else {
            guard let next, next.rotation == nil || next.rotation == rotation else { return nil }
            frame = next
            self.next = nil
        }
        pending = frame
        return OverlayChange(from: onScreen, to: frame)
    }

    /// The commit that ``begin(under:containsOverlay:)`` was for was not taken.
    mutating func refused() {
        if let pending = pending.take(), next == nil, !pending.shows.isEmpty || !onScreen.shows.isEmpty { next = pending }
    }

    /// It was taken by the kernel.
    mutating func queued() { if let left = leaving.take() { gone.append(left) } }

    /// The flip has happened. `isAssumed`: nobody said so.
    mutating func flipped(isAssumed: Bool = false) {
        guard let pending = pending.take() else { return }
        if isAssumed { leaving = onScreen } else { gone.append(onScreen) }
        onScreen = pending
    }

    /// The planes are off, and will be.
    mutating func clear() { self = OverlayQueue() }

    /// The planes that show something, or will.
    var planes: [PlaneProperties] {
        let all = [pending, onScreen, leaving].flatMap { $0?.shows.map(\.plane) ?? [] }
        return Dictionary(all.map { ($0.id, $0) }, uniquingKeysWith: { $1 }).values.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// Whether the planes show nothing, and will show nothing.
    var isOff: Bool {
        (next?.shows.isEmpty ?? true) && (pending?.shows.isEmpty ?? true) && onScreen.shows.isEmpty && (leaving?.shows.isEmpty ?? true)
    }

    /// The planes that show something, or will; those of what no commit has taken yet among them. In the order of their numbers.
    var taken: [PlaneID] {
        if isOff { return [] }
        return Set([next, pending, onScreen, leaving].flatMap { $0?.shows.map(\.plane.id) ?? [] }).sorted { $0.rawValue < $1.rawValue }
    }

    /// Whether a buffer is on the screen, may be, or will be.
    func isBusy(_ buffer: OverlayBuffer) -> Bool {
        [next, pending, onScreen, leaving].contains { $0?.shows.contains { $0.buffer === buffer } ?? false }
    }
}

/// What the overlay planes show at one time.
struct OverlayFrame {
    /// One plane.
    struct Show {
        let plane: PlaneProperties
        let zpos: UInt64?
        let buffer: OverlayBuffer
        /// Where on the screen, in scan-out pixels; as large as what is shown of the buffer.
        let place: PixelRectangle

        /// Adds what shows it to a request.
        func request(on crtc: CRTCID, in request: inout AtomicRequest) {
            plane.show(buffer.framebuffer, at: place, on: crtc, zpos: zpos, in: &request)
        }
    }

    var shows: [Show] = []
    /// Where the plane of the picture is among the planes; nil where it cannot be put.
    var below: UInt64?
    /// The turn of the picture that it lies over; nil where it may lie over any.
    var rotation: Rotation?
    /// What is drawn in the buffers, for snapshots.
    var drawn: PlacedOverlay?

    /// All planes off.
    static let nothing = OverlayFrame()
}

/// What a commit changes about the overlay planes.
struct OverlayChange {
    /// To be switched off.
    var hidden: [PlaneProperties]
    /// To be shown, those that stay as they are among them.
    var shows: [OverlayFrame.Show]
    var below: UInt64?

    /// Whether no plane is named.
    var isEmpty: Bool { hidden.isEmpty && shows.isEmpty }

    init(from former: OverlayFrame, to frame: OverlayFrame) {
        let stay = Set(frame.shows.map(\.plane.id))
        hidden = former.shows.map(\.plane).filter { !stay.contains($0.id) }
        (shows, below) = (frame.shows, frame.below)
    }
}
