import CKioskDisplay
import KioskMedia
import KioskVocabulary

/// Copies a picture mirrored and turned, by the vectors of Sources/CDisplay/turn.c. Strides are in bytes; pixels have 1, 2 or 4.
struct PixelTurn {
    /// Rows of a strip: a cache line of pixels of 4 bytes.
    private static let tile = 16

    /// Where the turned picture's pixels lie in the source: its (x, y) is `origin + x * across + y * down` bytes from the source's start.
    private struct Walk {
        var origin: Int, across: Int, down: Int
        /// Pixels of the turned picture.
        var width: Int, height: Int

        init(stride row: Int, width: Int, height: Int, bytesPerPixel size: Int, turn: Orientation) {
            let (right, bottom) = ((width - 1) * size, (height - 1) * row)
            // A mirrored source is read from the other end of its rows.
            (origin, across, down) =
                switch (turn.rotation, turn.isMirrored) {
                case (.none, false): (0, size, row)
                case (.none, true): (right, -size, row)
                case (.clockwise90, false): (bottom, -row, size)
                case (.clockwise90, true): (bottom + right, -row, -size)
                case (.clockwise180, false): (bottom + right, -size, -row)
                case (.clockwise180, true): (bottom, size, -row)
                case (.clockwise270, false): (right, row, -size)
                case (.clockwise270, true): (0, row, size)
                }
            (self.width, self.height) = turn.rotation.swapsAxes ? (height, width) : (width, height)
        }
    }

    /// Copies `width` x `height` pixels from `source` to ordinary memory, where they have the turned size.
    static func copy(
        _ source: UnsafeRawPointer, stride: Int, width: Int, height: Int, bytesPerPixel: Int, turn: Orientation,
        to destination: UnsafeMutableRawPointer, stride destinationStride: Int
    ) {
        let walk = Walk(stride: stride, width: width, height: height, bytesPerPixel: bytesPerPixel, turn: turn)
        kiosk_copy_turned(
            destination, destinationStride, Int32(walk.width), Int32(walk.height), source + walk.origin, walk.across, walk.down,
            Int32(bytesPerPixel))
    }

    /// Bytes of `strip` that ``turnRows(of:stride:width:height:bytesPerPixel:turn:strip:write:)`` needs for a turned picture of this width.
    static func stripBytes(width: Int, bytesPerPixel: Int) -> Int { tile * width * bytesPerPixel }

    /// The same row by row, from the top, for memory that may be write-combined: `write` gets each row's number and its pixels, which lie in
    /// ordinary memory.
    static func turnRows(
        of source: UnsafeRawPointer, stride: Int, width: Int, height: Int, bytesPerPixel: Int, turn: Orientation,
        strip: UnsafeMutableRawPointer, write: (Int, UnsafeRawPointer) -> Void
    ) {
        let walk = Walk(stride: stride, width: width, height: height, bytesPerPixel: bytesPerPixel, turn: turn)
        let first = source + walk.origin
        if walk.across == bytesPerPixel {
            for y in 0..<walk.height { write(y, first + y * walk.down) }
            return
        }
        let row = walk.width * bytesPerPixel
        for top in Swift.stride(from: 0, to: walk.height, by: tile) {
            let rows = min(tile, walk.height - top)
            kiosk_copy_turned(
                strip, row, Int32(walk.width), Int32(rows), first + top * walk.down, walk.across, walk.down, Int32(bytesPerPixel))
            for y in 0..<rows { write(top + y, UnsafeRawPointer(strip + y * row)) }
        }
    }
}
