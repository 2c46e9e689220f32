import CKioskFFmpeg
import KioskPlayback
import KioskVocabulary

/// The pixel formats of converted pictures: all primary planes and framebuffer devices take one of them.
enum ScanoutFormat: Hashable {
    /// 32 bits: blue, green, red, unused.
    case xrgb8888
    /// 32 bits: red, green, blue, unused. Framebuffer devices only.
    case xbgr8888
    /// 16 bits: 5 red, 6 green, 5 blue, little-endian.
    case rgb565

    var bytesPerPixel: Int { self == .rgb565 ? 2 : 4 }
    var av: AVPixelFormat {
        switch self {
        case .xrgb8888: kAV_PIX_FMT_XRGB8888
        case .xbgr8888: kAV_PIX_FMT_XBGR8888
        case .rgb565: kAV_PIX_FMT_RGB565
        }
    }

    /// Returns a colour 0xRRGGBB in this format.
    func pixel(_ rgb: UInt32) -> UInt32 {
        switch self {
        case .xrgb8888: rgb | 0xff00_0000
        case .xbgr8888: Self.exchanged(rgb) | 0xff00_0000
        case .rgb565: (rgb >> 8 & 0xf800) | (rgb >> 5 & 0x07e0) | (rgb >> 3 & 0x001f)
        }
    }
}

extension ScanoutFormat {
    /// Returns 0xRRGGBB as 0xBBGGRR, and back.
    static func exchanged(_ rgb: UInt32) -> UInt32 { (rgb & 255) << 16 | rgb & 0xff00 | rgb >> 16 & 255 }

    /// Returns 0xRRGGBB of a ``rgb565`` pixel.
    static func rgb(of565 pixel: UInt16) -> UInt32 {
        let (red, green, blue) = (UInt32(pixel >> 11), UInt32(pixel >> 5 & 63), UInt32(pixel & 31))
        return (red << 3 | red >> 2) << 16 | (green << 2 | green >> 4) << 8 | (blue << 3 | blue >> 2)
    }
}

extension Color {
    /// 0xRRGGBB.
    var rgb: UInt32 { UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue) }
}

/// Memory that is or will be scanned out.
struct PixelMemory {
    var base: UnsafeMutableRawPointer
    /// Bytes from one row to the next.
    var stride: Int
    var width: Int
    var height: Int
    var format: ScanoutFormat

    /// Returns the address of the pixel at (`x`, `y`).
    func address(_ x: Int, _ y: Int) -> UnsafeMutableRawPointer { base + y * stride + x * format.bytesPerPixel }

    /// Whether size and format are equal.
    func hasShape(of other: PixelMemory) -> Bool { (width, height, format) == (other.width, other.height, other.format) }

    /// Copies a picture of the same shape, row by row.
    func copyRows(of other: PixelMemory) {
        for y in 0..<height { address(0, y).copyMemory(from: other.address(0, y), byteCount: width * format.bytesPerPixel) }
    }

    /// Fills a rectangle, row by row. Never reads the memory, as it may be write-combined.
    func fill(_ r: PixelRectangle, with rgb: UInt32) {
        guard r.width > 0 else { return }
        let pixel = format.pixel(rgb)
        for y in r.y..<(r.y + r.height) {
            switch format {
            case .xrgb8888, .xbgr8888: address(r.x, y).assumingMemoryBound(to: UInt32.self).update(repeating: pixel, count: r.width)
            case .rgb565:
                address(r.x, y).assumingMemoryBound(to: UInt16.self).update(repeating: UInt16(truncatingIfNeeded: pixel), count: r.width)
            }
        }
    }

    /// Fills everything except `r`.
    func fill(around r: PixelRectangle, with rgb: UInt32) { for part in parts(around: r) { fill(part, with: rgb) } }

    /// Returns everything except `r`: above, left of, right of and below it.
    func parts(around r: PixelRectangle) -> [PixelRectangle] {
        [
            PixelRectangle(x: 0, y: 0, width: width, height: r.y),
            PixelRectangle(x: 0, y: r.y, width: r.x, height: r.height),
            PixelRectangle(x: r.x + r.width, y: r.y, width: width - r.x - r.width, height: r.height),
            PixelRectangle(x: 0, y: r.y + r.height, width: width, height: height - r.y - r.height),
        ]
    }
}

/// One of a screen's buffers. It keeps the owner of its memory. A painter holds a reference, so that the memory outlives a screen that goes
/// away meanwhile.
class ScanoutBuffer: @unchecked Sendable {
    // Sendable: BufferPool gives a buffer to one painter at a time, and only that painter touches `layout` and writes pixels.

    let pixels: PixelMemory
    /// The place of the last drawn picture, to draw bars only when they move; nil if nothing was drawn.
    var layout: PixelRectangle?
    /// The colour beside the picture.
    private var colour: UInt32?
    private let owner: AnyObject?

    init(pixels: PixelMemory, owner: AnyObject? = nil) { (self.pixels, self.owner) = (pixels, owner) }

    /// Draws only the background.
    func clear(to rgb: UInt32) {
        let nothing = PixelRectangle(x: 0, y: 0, width: 0, height: 0)
        if layout != nothing || colour != rgb {
            pixels.fill(PixelRectangle(x: 0, y: 0, width: pixels.width, height: pixels.height), with: rgb)
        }
        (layout, colour) = (nothing, rgb)
    }

    /// Draws the bars around a picture at `r`.
    func frame(_ r: PixelRectangle, with rgb: UInt32) {
        if layout != r || colour != rgb { pixels.fill(around: r, with: rgb) }
        (layout, colour) = (r, rgb)
    }
}

/// A buffer in ordinary memory.
final class MemoryBuffer: ScanoutBuffer, @unchecked Sendable {
    // Sendable for ScanoutBuffer's reason; it adds nothing.
    init(width: Int, height: Int, format: ScanoutFormat) {
        let stride = (width * format.bytesPerPixel + 63) / 64 * 64
        let base = UnsafeMutableRawPointer.allocate(byteCount: stride * height, alignment: 64)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: stride * height)
        super.init(pixels: PixelMemory(base: base, stride: stride, width: width, height: height, format: format))
    }

    deinit { pixels.base.deallocate() }
}
