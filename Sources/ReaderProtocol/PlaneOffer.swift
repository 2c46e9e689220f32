import CKioskFFmpeg
import KioskMedia

/// Display memory that pictures of one format and size may be drawn into (``PlanePool``). The reader requests each of its buffers.
package struct PlaneOffer: Hashable, Sendable {
    /// AVPixelFormat, with 8 bits and a plane for each component.
    package var format: Int32
    package var width: Int, height: Int
    package var byteCount: Int, planeCount: Int
    /// Bytes from row to row of each plane, and the offset of each plane.
    package var strides: [Int], offsets: [Int]

    /// A display has two sizes at a time, and a machine may have several displays.
    package static let most = 16

    private init() { (format, width, height, byteCount, planeCount, strides, offsets) = (0, 0, 0, 0, 0, [], []) }

    package init(_ pool: PlanePool) {
        (format, width, height) = (pool.format.rawValue, pool.width, pool.height)
        (byteCount, planeCount) = (pool.layout.byteCount, pool.layout.planeCount)
        (strides, offsets) = ((0..<3).map { pool.layout.strides[$0] }, (0..<3).map { pool.layout.offsets[$0] })
    }

    /// The layout of a buffer; nil if it is invalid.
    package var layout: PictureLayout? {
        guard strides.count == 3, offsets.count == 3, 1...3 ~= planeCount else { return nil }
        return PictureLayout(
            byteCount: byteCount, planeCount: planeCount, strides: [strides[0], strides[1], strides[2]],
            offsets: [offsets[0], offsets[1], offsets[2]])
    }

    /// Whether it is the offer of a pool.
    package func isOffer(of pool: PlanePool) -> Bool { self == PlaneOffer(pool) }
}

extension PlaneOffer: WireRecord {
    package static var blank: PlaneOffer { PlaneOffer() }
    package static let fields: [WireField<Self>] = [
        .value(\.format), .number(\.width, 1...PictureRules.longestSide), .number(\.height, 1...PictureRules.longestSide),
        .number(\.byteCount, 1...1 << 31), .number(\.planeCount, 1...3), .list(\.strides, atMost: 3), .list(\.offsets, atMost: 3),
    ]
}
