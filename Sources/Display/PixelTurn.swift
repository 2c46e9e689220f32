import Glibc
import Media
import Vocabulary

/// Copies a picture mirrored and turned, in ordinary memory first: the source is read in tiles of 16 x 16 pixels (one cache line each
/// way) into a strip of 16 destination rows, and the strip is copied out row by row, so that the destination, which may be
/// write-combined, is written once, in order, and never read.
struct PixelTurn {
    private static let tile = 16

    /// Bytes of `strip` that ``copy(_:stride:width:height:turn:to:stride:strip:)`` needs for a destination of this width.
    static func stripBytes(width: Int, bytesPerPixel: Int) -> Int { tile * width * bytesPerPixel }

    /// Copies `width` x `height` pixels from `source` to `destination`, whose size is the turned one. Strides are in bytes.
    static func copy<Pixel: FixedWidthInteger>(
        _ source: UnsafePointer<Pixel>, stride sourceStride: Int, width: Int, height: Int, turn: Orientation,
        to destination: UnsafeMutableRawPointer, stride: Int, strip: UnsafeMutablePointer<Pixel>
    ) {
        let bytes = (turn.rotation.swapsAxes ? height : width) * MemoryLayout<Pixel>.stride
        turnRows(of: source, stride: sourceStride, width: width, height: height, turn: turn, strip: strip) { y, row in
            memcpy(destination + y * stride, row, bytes)
        }
    }

    /// The same, row by row of the turned picture: `write` gets each row's number and its pixels.
    static func turnRows<Pixel: FixedWidthInteger>(
        of source: UnsafePointer<Pixel>, stride sourceStride: Int, width: Int, height: Int, turn: Orientation,
        strip: UnsafeMutablePointer<Pixel>, write: (Int, UnsafeRawPointer) -> Void
    ) {
        let size = MemoryLayout<Pixel>.stride
        let row = sourceStride / size
        // The destination pixel (x, y) comes from source[origin + x * dx + y * dy].
        let (across, down): (Int, Int)
        var origin: Int
        switch turn.rotation {
        case .none: (origin, across, down) = (0, 1, row)
        case .clockwise90: (origin, across, down) = ((height - 1) * row, -row, 1)
        case .clockwise180: (origin, across, down) = ((height - 1) * row + width - 1, -1, -row)
        case .clockwise270: (origin, across, down) = (width - 1, row, -1)
        }
        // A mirrored source is read from the other end of its rows.
        var (dx, dy) = (across, down)
        if turn.isMirrored {
            switch turn.rotation {
            case .none: (origin, dx) = (width - 1, -1)
            case .clockwise90: (origin, dy) = ((height - 1) * row + width - 1, -1)
            case .clockwise180: (origin, dx) = ((height - 1) * row, 1)
            case .clockwise270: (origin, dy) = (0, 1)
            }
        }
        let (outWidth, outHeight) = turn.rotation.swapsAxes ? (height, width) : (width, height)

        if dx == 1 {
            for y in 0..<outHeight { write(y, UnsafeRawPointer(source + origin + y * dy)) }
            return
        }
        for top in Swift.stride(from: 0, to: outHeight, by: tile) {
            let rows = min(tile, outHeight - top)
            for left in Swift.stride(from: 0, to: outWidth, by: tile) {
                let columns = min(tile, outWidth - left)
                for y in 0..<rows {
                    var from = source + origin + left * dx + (top + y) * dy
                    let to = strip + y * outWidth + left
                    for x in 0..<columns {
                        to[x] = from.pointee
                        if x + 1 < columns { from += dx }
                    }
                }
            }
            for y in 0..<rows { write(top + y, UnsafeRawPointer(strip + y * outWidth)) }
        }
    }
}
