import CKioskFFmpeg

/// The extents of a picture's planes in ordinary memory, by its pixel format and size: for checks that the planes fit their memory.
package struct PlaneExtents: Hashable, Sendable {
    /// At most 4; a palette is one.
    package let planeCount: Int
    /// Bytes per row, and rows, of each plane; 0 for missing planes.
    package let rowBytes: SIMD4<Int>, rows: SIMD4<Int>
    /// The bytes of the whole picture without gaps.
    package let byteCount: Int

    private static let paletteBytes = 1024

    /// Creates the extents; nil for a format that does not lie in ordinary memory, or that libswscale does not read. The corresponding C
    /// functions are `av_pix_fmt_desc_get` and `av_image_fill_linesizes`.
    ///
    /// - Parameters:
    ///   - format: an AVPixelFormat, or any other number.
    ///   - width: pixels, from 1 to 65,535.
    ///   - height: pixels, from 1 to 65,535.
    package init?(format: Int32, width: Int, height: Int) {
        let pixelFormat = AVPixelFormat(rawValue: format), sides = 1...65535
        guard sides ~= width, sides ~= height, let description = av_pix_fmt_desc_get(pixelFormat)?.pointee,
            description.flags & UInt64(AV_PIX_FMT_FLAG_HWACCEL) == 0, sws_isSupportedInput(pixelFormat) != 0
        else { return nil }
        var rowBytes = SIMD4<Int>(), rows = SIMD4<Int>(), sizes: [Int32] = [0, 0, 0, 0]
        var planeCount = Int(av_pix_fmt_count_planes(pixelFormat))
        guard 1...4 ~= planeCount, av_image_fill_linesizes(&sizes, pixelFormat, Int32(width)) >= 0 else { return nil }
        for plane in 0..<planeCount {
            // The second and third planes have chroma; a fourth has alpha.
            let shift = plane == 1 || plane == 2 ? Int(description.log2_chroma_h) : 0
            (rowBytes[plane], rows[plane]) = (Int(sizes[plane]), (height + (1 << shift) - 1) >> shift)
            if sizes[plane] <= 0 { return nil }
        }
        if description.flags & UInt64(AV_PIX_FMT_FLAG_PAL) != 0 {
            (planeCount, rowBytes[1], rows[1]) = (2, Self.paletteBytes, 1)
        }
        (self.planeCount, self.rowBytes, self.rows) = (planeCount, rowBytes, rows)
        byteCount = (rowBytes &* rows).wrappedSum()
    }
}
