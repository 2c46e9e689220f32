import CKioskDisplay
import KioskMedia
import KioskVocabulary

/// Copies a picture mirrored and rotated, with the vector code of Sources/CDisplay/rotate.c. Strides are in bytes; pixels have 1, 2 or 4.
struct PixelRotation {
    /// The rows of a strip: a cache line of 4-byte pixels.
    private static let tile = 16

    /// The position of the rotated picture's pixels in the source: (x, y) is `origin + x * across + y * down` bytes from the source's
    /// start.
    private struct Walk {
        var origin: Int, across: Int, down: Int
        /// The size of the rotated picture in pixels.
        var width: Int, height: Int

        init(stride row: Int, width: Int, height: Int, bytesPerPixel size: Int, orientation: Orientation) {
            let (right, bottom) = ((width - 1) * size, (height - 1) * row)
            // A mirrored source is read from the other end of its rows.
            (origin, across, down) =
                switch (orientation.rotation, orientation.isMirrored) {
                case (.none, false): (0, size, row)
                case (.none, true): (right, -size, row)
                case (.clockwise90, false): (bottom, -row, size)
                case (.clockwise90, true): (bottom + right, -row, -size)
                case (.clockwise180, false): (bottom + right, -size, -row)
                case (.clockwise180, true): (bottom, size, -row)
                case (.clockwise270, false): (right, row, -size)
                case (.clockwise270, true): (0, row, size)
                }
            (self.width, self.height) = orientation.rotation.swapsAxes ? (height, width) : (width, height)
        }
    }

    /// Copies `width` x `height` pixels from `source`, rotated, to ordinary memory.
    static func copy(
        _ source: UnsafeRawPointer, stride: Int, width: Int, height: Int, bytesPerPixel: Int, orientation: Orientation,
        to destination: UnsafeMutableRawPointer, stride destinationStride: Int
    ) {
        let walk = Walk(stride: stride, width: width, height: height, bytesPerPixel: bytesPerPixel, orientation: orientation)
        kiosk_copy_rotated(
            destination, destinationStride, Int32(walk.width), Int32(walk.height), source + walk.origin, walk.across, walk.down,
            Int32(bytesPerPixel))
    }

    /// Returns the bytes of `strip` that ``rotateRows(of:stride:width:height:bytesPerPixel:orientation:strip:write:)`` needs for a rotated
    /// picture of this width.
    static func stripBytes(width: Int, bytesPerPixel: Int) -> Int { tile * width * bytesPerPixel }

    /// Rotates row by row, from the top, for memory that may be write-combined. `write` gets each row's number and its pixels in ordinary
    /// memory.
    static func rotateRows(
        of source: UnsafeRawPointer, stride: Int, width: Int, height: Int, bytesPerPixel: Int, orientation: Orientation,
        strip: UnsafeMutableRawPointer, write: (Int, UnsafeRawPointer) -> Void
    ) {
        let walk = Walk(stride: stride, width: width, height: height, bytesPerPixel: bytesPerPixel, orientation: orientation)
        let first = source + walk.origin
        if walk.across == bytesPerPixel {
            for y in 0..<walk.height { write(y, first + y * walk.down) }
            return
        }
        let row = walk.width * bytesPerPixel
        for top in Swift.stride(from: 0, to: walk.height, by: tile) {
            let rows = min(tile, walk.height - top)
            kiosk_copy_rotated(
                strip, row, Int32(walk.width), Int32(rows), first + top * walk.down, walk.across, walk.down, Int32(bytesPerPixel))
            for y in 0..<rows { write(top + y, UnsafeRawPointer(strip + y * row)) }
        }
    }
}
