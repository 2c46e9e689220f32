import KioskPlayback

/// Writes finished rows of a picture to scan-out memory, with an overlay over them. That memory may be write-combined: the writer writes it
/// once, in order, and never reads it. So it composes a row under the overlay in ordinary memory first.
struct ScanoutWriter {
    let target: PixelMemory
    /// nil if there is no overlay.
    let overlay: PlacedOverlay?
    /// Room for a row of the target.
    let line: UnsafeMutableRawPointer

    /// Writes `count` finished pixels to row `y` from `x` on. They are in ordinary memory, in the target's format.
    func write(_ pixels: UnsafeRawPointer, x: Int, y: Int, count: Int) {
        let bytes = count * target.format.bytesPerPixel
        guard let overlay, overlay.touches(x, y, count: count) else {
            target.address(x, y).copyMemory(from: pixels, byteCount: bytes)
            return
        }
        line.copyMemory(from: pixels, byteCount: bytes)
        overlay.draw(x, y, count: count, over: line, target.format)
        target.address(x, y).copyMemory(from: line, byteCount: bytes)
    }

    /// Fills a rectangle with a colour 0xRRGGBB.
    func fill(_ r: PixelRectangle, with rgb: UInt32) {
        guard let overlay, r.width > 0 else { return target.fill(r, with: rgb) }
        for y in r.y..<r.y + r.height {
            guard overlay.touches(r.x, y, count: r.width) else {
                target.fill(PixelRectangle(x: r.x, y: y, width: r.width, height: 1), with: rgb)
                continue
            }
            let row = PixelMemory(base: line, stride: 0, width: r.width, height: 1, format: target.format)
            row.fill(PixelRectangle(x: 0, y: 0, width: r.width, height: 1), with: rgb)
            overlay.draw(r.x, y, count: r.width, over: line, target.format)
            target.address(r.x, y).copyMemory(from: line, byteCount: r.width * target.format.bytesPerPixel)
        }
    }

    /// Fills everything except `r`.
    func fill(around r: PixelRectangle, with rgb: UInt32) { for part in target.parts(around: r) { fill(part, with: rgb) } }

    /// Fills everything.
    func fill(with rgb: UInt32) { fill(PixelRectangle(x: 0, y: 0, width: target.width, height: target.height), with: rgb) }
}
