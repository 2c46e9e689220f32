import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// Keeps the overlay that an output was given, and brings it to where the screen can show it: onto planes (``OverlayPlanes``), else into the
/// pictures themselves (``ScenePainter``); where the planes can show only its front layers, those onto planes and the others into the pictures.
/// What the screen becomes meanwhile, another one or rotated, it does that anew for.
///
/// What is in the pictures has a number, ``painting``. Planes show what lies over it only with pictures of that number
/// (``BufferPool/begin(_:under:painting:)``), so nothing is ever seen twice, or not at all. As many layers as are in the pictures stay there until
/// the overlay is empty: each that went onto a plane would have all pictures prepared again.
///
/// Not thread-safe; belongs to the compositor thread.
final class OverlayPlacer {
    /// What is to be painted into pictures; nil where nothing is.
    private(set) var blended: PlacedOverlay?
    /// The number of that, another one whenever it is something else; 0 where it is nothing.
    private(set) var painting: UInt64 = 0
    private var lastPainting: UInt64 = 0

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
        let all = placed.pictures.count
        // So many of the rearmost have to be in the pictures; as few more as planes allow.
        var rearmost = isInPictures ? blended?.pictures.count ?? all : 0
        // A flip frees a buffer, the one after it at the latest.
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

    /// The number of what is to be in the pictures: the same as before where that is the same.
    private func number(of painted: PlacedOverlay, isSameScreen: Bool) -> UInt64 {
        if painted.pictures.isEmpty { return 0 }
        let isSame = isSameScreen && blended?.pictures.map(\.stamp) == painted.pictures.map(\.stamp)
        return isSame ? painting : lastPainting + 1
    }

    private func paint(_ painted: PlacedOverlay, _ number: UInt64) {
        blended = painted.pictures.isEmpty ? nil : painted
        (painting, lastPainting) = (number, max(number, lastPainting))
    }

    /// Planes show nothing any more, from the first picture on that contains what has this number.
    private func clearPlanes(over painting: UInt64) {
        shared.withLock { shared in
            shared.pool.takeBack()
            if !shared.pool.overlays[0].shows.isEmpty { shared.pool.offer(OverlayFrame(painting: painting)) }
        }
    }

    /// Whether planes will show it over pictures that contain what has this number.
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
            // For one small layer of several a cursor is not worth it.
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
