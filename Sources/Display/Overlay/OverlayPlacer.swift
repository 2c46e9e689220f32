import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// Keeps the overlay that an output was given, and brings it to where the screen can show it: onto planes (``OverlayPlanes``), else into the
/// pictures themselves (``ScenePainter``). What the screen becomes meanwhile, another one or rotated, it does that anew for.
///
/// An overlay that is in the pictures stays there until it is empty: a plane would show it a second time, over those that have it.
///
/// Not thread-safe; belongs to the compositor thread.
final class OverlayPlacer {
    /// What is to be painted into pictures; nil where nothing is.
    private(set) var blended: PlacedOverlay?

    /// Where the pictures of scenes are.
    private(set) var region = Region.full

    private let shared: Monitor<OutputState>
    private var overlay = Overlay()
    /// The screen that it was drawn for.
    private var canvas: (width: Int, height: Int)?
    private var placed: PlacedOverlay?
    private var target: OutputState.Target?
    private var lastNote = ""

    init(_ shared: Monitor<OutputState>) { self.shared = shared }

    /// Takes over an overlay. `target` is nil without a display.
    func set(_ overlay: Overlay, for target: OutputState.Target?) -> OverlayPlacement {
        self.overlay = overlay
        region = overlay.region
        canvas = overlay.width.flatMap { width in overlay.height.map { (width, $0) } } ?? target?.canvas
        guard let target else {
            self.target = nil
            return .blended
        }
        return place(for: target)
    }

    /// Places it anew where the screen is another one than before.
    func adapt(to target: OutputState.Target) {
        if target == self.target { return }
        if canvas == nil { canvas = target.canvas }
        _ = place(for: target)
    }

    private func place(for target: OutputState.Target) -> OverlayPlacement {
        let before = target == self.target ? placed : nil
        self.target = target
        // What was drawn for a screen of another shape would stand beside it.
        let isFitting = canvas.map { $0 == target.canvas } ?? true
        let placed = PlacedOverlay(
            isFitting ? overlay : Overlay(), rotation: target.rotation, width: target.width, height: target.height, before: before)
        self.placed = placed
        let (planes, isInPictures) = shared.withLock { ($0.target == target ? $0.planes : nil, $0.anyContainsOverlay) }
        if let planes, !isInPictures, show(placed, on: planes, target) {
            blended = nil
            return .plane
        }
        blended = placed.pictures.isEmpty ? nil : placed
        return .blended
    }

    /// Whether planes will show it.
    private func show(_ placed: PlacedOverlay, on planes: OverlayPlanes, _ target: OutputState.Target) -> Bool {
        if placed.pictures.isEmpty {
            shared.withLock { shared in
                shared.pool.takeBack()
                if !shared.pool.overlays[0].shows.isEmpty { shared.pool.offer(.nothing) }
            }
            return true
        }
        // A flip frees a buffer, the one after it at the latest.
        let deadline = HostTime.now + .milliseconds(100)
        while true {
            let (shown, awaitsFlip) = shared.withLock { shared in
                shared.pool.takeBack()
                return (shared.pool.overlays, shared.pool.awaitsOverlay)
            }
            switch planes.show(placed, over: shown) {
            case .frame(let frame):
                return shared.withLock { shared in
                    // The screen may have gone meanwhile.
                    guard shared.planes === planes else { return false }
                    shared.pool.offer(frame)
                    return true
                }
            case .noSpareBuffer:
                let flipped: Void? = shared.wait(until: deadline) { shared in
                    !shared.pool.awaitsOverlay || shared.pool.generation != target.generation ? () : nil
                }
                if flipped == nil || !awaitsFlip { return false }
            case .refused(let reason):
                if reason != lastNote { log.info("drawn pictures are blended into the picture: \(reason)") }
                lastNote = reason
                return false
            }
        }
    }
}
