import Glibc
import KioskPlayback

/// Memory that an overlay plane scans out: premultiplied ARGB. It is written only, in rows and in order: what changes is put together in a
/// row of ordinary memory first. It knows what was drawn into it last, so only rectangles in which something else is to be are written.
///
/// Drawn into on the compositor thread, while no plane shows it.
final class OverlayBuffer: @unchecked Sendable {
    // Sendable because the compositor thread alone touches what changes, and only while the buffer is nobody else's (BufferPool).

    let pixels: PixelMemory
    let framebuffer: FramebufferID
    /// What of the screen is in it, in scan-out pixels, at its upper left corner; nil before the first drawing.
    private(set) var box: PixelRectangle?
    private var marks: [Mark] = []
    private let owner: AnyObject

    /// What was drawn where.
    private struct Mark: Equatable {
        var stamp: UInt64
        var place: PixelRectangle

        static func all(of overlay: PlacedOverlay, in box: PixelRectangle) -> [Mark] {
            overlay.pictures.compactMap { picture in picture.place.intersection(box).map { Mark(stamp: picture.stamp, place: $0) } }
        }
    }

    /// On memory that `owner` keeps.
    init(pixels: PixelMemory, framebuffer: FramebufferID, owner: AnyObject) {
        (self.pixels, self.framebuffer, self.owner) = (pixels, framebuffer, owner)
    }

    /// Bytes.
    var byteCount: Int { pixels.stride * pixels.height }

    /// Whether what is in it is what of `overlay` is in `box`.
    func shows(_ overlay: PlacedOverlay, in box: PixelRectangle) -> Bool { self.box == box && marks == Mark.all(of: overlay, in: box) }

    /// Makes it show what of `overlay` is in `box`, which is no larger than the buffer. `line` has room for a row of it. Returns how many
    /// pixels were written.
    @discardableResult
    func draw(_ overlay: PlacedOverlay, in box: PixelRectangle, line: UnsafeMutableRawPointer) -> Int {
        let wanted = Mark.all(of: overlay, in: box)
        let stale = self.box == box ? Self.difference(marks, wanted) : [box]
        (self.box, marks) = (box, wanted)
        for part in stale {
            for y in part.y..<part.y + part.height {
                memset(line, 0, part.width * 4)
                overlay.draw(part.x, y, count: part.width, over: line, .xrgb8888)
                pixels.address(part.x - box.x, y - box.y).copyMemory(from: line, byteCount: part.width * 4)
            }
        }
        return stale.reduce(0) { $0 + $1.area }
    }

    /// Where two drawings differ.
    private static func difference(_ old: [Mark], _ new: [Mark]) -> [PixelRectangle] {
        let (before, after) = (Set(old.map(\.stamp)), Set(new.map(\.stamp)))
        let (kept, stays) = (old.filter { after.contains($0.stamp) }, new.filter { before.contains($0.stamp) })
        // What is the same lies in another order.
        if kept != stays { return OverlayBoxes.merged((old + new).map(\.place)) }
        let gone = old.filter { !after.contains($0.stamp) }
        let come = new.filter { !before.contains($0.stamp) }
        return OverlayBoxes.merged((gone + come).map(\.place))
    }
}
