import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// Keeps an output's overlay and places it: on planes (``OverlayPlanes``) if possible, else in the pictures themselves (``ScenePainter``).
/// If planes can only show the front layers, the other layers go into the pictures. It places the overlay anew for another or a rotated
/// screen.
///
/// The part in the pictures has a number, ``painting``. Planes show the rest only over pictures with that number
/// (``BufferPool/begin(_:under:painting:)``), so no layer ever appears twice or not at all. Layers in the pictures stay there until the
/// overlay is empty: each move to a plane would prepare all pictures again.
///
/// Not thread-safe; belongs to the compositor thread.
final class OverlayPlacer {
    /// The overlay to paint into pictures; nil for none.
    private(set) var blended: PlacedOverlay?
    /// The number of ``blended``, new with every change; 0 for none.
    private(set) var painting: UInt64 = 0
    private var lastPainting: UInt64 = 0

    /// The region of the screen for the pictures of scenes.
    private(set) var region = Region.full

    private let shared: Monitor<OutputState>
    private var overlay = Overlay()
    /// The screen size that the overlay was drawn for.
    private var canvas: (width: Int, height: Int)?
    private var placed: PlacedOverlay?
    private var target: OutputState.Target?
    private var lastNote = ""

    init(_ shared: Monitor<OutputState>) { self.shared = shared }

    /// Sets the overlay. `target` is nil without a display.
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

    /// Places the overlay anew if the screen has changed.
    func adapt(to target: OutputState.Target) {
        if target == self.target { return }
        if canvas == nil { canvas = target.canvas }
        _ = place(for: target)
    }

    private func place(for target: OutputState.Target) -> OverlayPlacement {
        let before = target == self.target ? placed : nil
        self.target = target
        // A drawing for a screen of another shape would be misplaced.
        let isFitting = canvas.map { $0 == target.canvas } ?? true
        let placed = PlacedOverlay(
            isFitting ? overlay : Overlay(), rotation: target.rotation, width: target.width, height: target.height, before: before)
        self.placed = placed
        let (planes, isInPictures) = shared.withLock { ($0.target == target ? $0.planes : nil, $0.anyContainsOverlay) }
        let all = placed.pictures.count
        // The number of rearmost layers that have to be in the pictures; planes may require more.
        var rearmost = isInPictures ? blended?.pictures.count ?? all : 0
        // This flip or the next one frees a buffer.
        let deadline = HostTime.now + .milliseconds(100)
        if let planes, !isInPictures || rearmost < all {
            repeat {
                let (rear, front) = placed.parted(behind: rearmost)
                let number = number(of: rear, isSameScreen: before != nil)
                if show(front, on: planes, over: number, target, until: deadline) {
                    paint(rear, number)
                    return rearmost == 0 ? .plane : .both(painting: number)
                }
                rearmost += 1
            } while rearmost < all
        }
        let number = number(of: placed, isSameScreen: before != nil)
        clearPlanes(over: number)
        paint(placed, number)
        return .blended
    }

    /// Returns the number for the part in the pictures: the present one if the part is the same.
    private func number(of painted: PlacedOverlay, isSameScreen: Bool) -> UInt64 {
        if painted.pictures.isEmpty { return 0 }
        let isSame = isSameScreen && blended?.pictures.map(\.stamp) == painted.pictures.map(\.stamp)
        return isSame ? painting : lastPainting + 1
    }

    private func paint(_ painted: PlacedOverlay, _ number: UInt64) {
        blended = painted.pictures.isEmpty ? nil : painted
        (painting, lastPainting) = (number, max(number, lastPainting))
    }

    /// Switches the planes off, from the first picture with painting `painting` on.
    private func clearPlanes(over painting: UInt64) {
        shared.withLock { shared in
            shared.pool.takeBack()
            if !shared.pool.overlays[0].shows.isEmpty { shared.pool.offer(OverlayFrame(painting: painting)) }
        }
    }

    /// Shows `placed` on planes, over pictures with painting `painting`. Returns whether planes will show it.
    private func show(
        _ placed: PlacedOverlay, on planes: OverlayPlanes, over painting: UInt64, _ target: OutputState.Target, until deadline: HostTime
    ) -> Bool {
        if placed.pictures.isEmpty {
            clearPlanes(over: painting)
            return true
        }
        while true {
            let (shown, awaitsFlip) = shared.withLock { shared in
                shared.pool.takeBack()
                return (shared.pool.overlays, shared.pool.awaitsOverlay)
            }
            // A cursor is not worth it for one small layer of several.
            switch planes.show(placed, over: shown, takesCursor: painting == 0) {
            case .frame(var frame):
                frame.painting = painting
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
                if reason != lastNote { log.info("kiosk blends drawn pictures into the picture: \(reason)") }
                lastNote = reason
                return false
            }
        }
    }
}
