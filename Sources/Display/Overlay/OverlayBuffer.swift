import Glibc
import KioskPlayback

/// Memory that an overlay plane scans out: premultiplied ARGB. It is write-only, in rows and in order: changes are composed in a row of
/// ordinary memory first. The buffer remembers its last drawing, and writes only rectangles that change.
///
/// The compositor thread draws into it while no plane shows it.
final class OverlayBuffer: @unchecked Sendable {
    // Sendable: only the compositor thread touches the variables, and only while it owns the buffer (BufferPool).

    let pixels: PixelMemory
    let framebuffer: FramebufferID
    /// The rectangle of the screen that is drawn at the buffer's upper left corner, in scan-out pixels; nil before the first drawing.
    private(set) var box: PixelRectangle?
    private var marks: [Mark] = []
    private let owner: AnyObject

    /// A drawn picture and its place.
    private struct Mark: Equatable {
        var stamp: UInt64
        var place: PixelRectangle

        static func all(of overlay: PlacedOverlay, in box: PixelRectangle) -> [Mark] {
            overlay.pictures.compactMap { picture in picture.place.intersection(box).map { Mark(stamp: picture.stamp, place: $0) } }
        }
    }

    /// Creates a buffer on memory that `owner` keeps.
    init(pixels: PixelMemory, framebuffer: FramebufferID, owner: AnyObject) {
        (self.pixels, self.framebuffer, self.owner) = (pixels, framebuffer, owner)
    }

    /// The size in bytes.
    var byteCount: Int { pixels.stride * pixels.height }

    /// Whether the buffer contains the part of `overlay` in `box`.
    func shows(_ overlay: PlacedOverlay, in box: PixelRectangle) -> Bool { self.box == box && marks == Mark.all(of: overlay, in: box) }

    /// Draws the part of `overlay` in `box`, which is no larger than the buffer. `line` has room for a row of it. Returns the number of
    /// pixels written.
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

    /// Returns the rectangles in which two drawings differ.
    private static func difference(_ old: [Mark], _ new: [Mark]) -> [PixelRectangle] {
        let (before, after) = (Set(old.map(\.stamp)), Set(new.map(\.stamp)))
        let (kept, stays) = (old.filter { after.contains($0.stamp) }, new.filter { before.contains($0.stamp) })
        // The common pictures are in another order.
        if kept != stays { return OverlayBoxes.merged((old + new).map(\.place)) }
        let gone = old.filter { !after.contains($0.stamp) }
        let come = new.filter { !before.contains($0.stamp) }
        return OverlayBoxes.merged((gone + come).map(\.place))
    }
}
