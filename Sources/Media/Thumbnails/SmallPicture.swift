import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// A picture in ordinary memory, as it is drawn.
package struct SmallPicture: Hashable, Sendable {
    /// Pixels across and down; at least 1.
    package let width: Int, height: Int
    /// Row by row without gaps, 0xFFRRGGBB.
    package let pixels: [UInt32]
}

extension VideoFrame {
    /// The picture upright, in its own shape, as large as fits into `width` x `height`; what is transparent is black. nil for a picture that
    /// libswscale cannot read. The corresponding C function is `sws_scale`.
    func fitted(into width: Int, _ height: Int) -> SmallPicture? {
        guard self.width > 0, self.height > 0, av.pointee.data.0 != nil, let format = ReadableFormat(av) else { return nil }
        let swaps = orientation.rotation.swapsAxes
        let (across, down) = (Double(self.width) * pixelAspectRatio, Double(self.height))
        let scale = swaps ? min(Double(width) / down, Double(height) / across) : min(Double(width) / across, Double(height) / down)
        // As stored, before orientation.
        let limit = swaps ? (height, width) : (width, height)
        let drawnWidth = min(max(Int(saturating: across * scale), 1), limit.0)
        let drawnHeight = min(max(Int(saturating: down * scale), 1), limit.1)

        // The vector code of libswscale wants aligned rows, and writes up to 16 pixels behind the end of one.
        let stride = (drawnWidth + 31) / 16 * 16
        let memory = UnsafeMutableRawPointer.allocate(byteCount: stride * drawnHeight * 4 + 64, alignment: 64)
        defer { memory.deallocate() }
        guard draw(format, to: memory, width: drawnWidth, height: drawnHeight, stride: stride) else { return nil }
        let drawn = memory.assumingMemoryBound(to: UInt32.self)

        let size = swaps ? (width: drawnHeight, height: drawnWidth) : (width: drawnWidth, height: drawnHeight)
        let pixels = [UInt32](unsafeUninitializedCapacity: size.width * size.height) { pixels, count in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let (column, row) = orientation.stored(x, y, width: drawnWidth, height: drawnHeight)
                    pixels[y * size.width + x] = Self.overBlack(drawn[row * stride + column])
                }
            }
            count = size.width * size.height
        }
        return SmallPicture(width: size.width, height: size.height, pixels: pixels)
    }

    /// Draws BGRA into `memory`, rows of `stride` pixels.
    private func draw(_ format: ReadableFormat, to memory: UnsafeMutableRawPointer, width: Int, height: Int, stride: Int) -> Bool {
        // Filters have a limit, which extreme reductions exceed; the nearest pixel is good enough for those.
        for flags in [SWS_AREA, SWS_POINT] {
            guard
                let context = sws_getContext(
                    av.pointee.width, av.pointee.height, format.av, Int32(width), Int32(height), AV_PIX_FMT_BGRA, Int32(flags), nil, nil,
                    nil)
            else { continue }
            defer { sws_freeContext(context) }
            if format.isYUV {
                let standard = sws_getCoefficients(SWS_CS_DEFAULT)
                sws_setColorspaceDetails(
                    context, sws_getCoefficients(format.matrix), format.isFullRange ? 1 : 0, standard, 1, 0, 1 << 16, 1 << 16)
            }
            let source = UnsafeRawPointer(av).advanced(by: MemoryLayout<AVFrame>.offset(of: \AVFrame.data)!)
                .assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
            let strides = UnsafeRawPointer(av).advanced(by: MemoryLayout<AVFrame>.offset(of: \AVFrame.linesize)!)
                .assumingMemoryBound(to: Int32.self)
            var target: UnsafeMutablePointer<UInt8>? = memory.assumingMemoryBound(to: UInt8.self)
            var targetStride = Int32(stride * 4)
            return sws_scale(context, source, strides, 0, av.pointee.height, &target, &targetStride) > 0
        }
        return false
    }

    /// A pixel of BGRA over black, opaque.
    private static func overBlack(_ pixel: UInt32) -> UInt32 {
        let alpha = pixel >> 24
        if alpha == 255 { return pixel }
        func part(_ shift: UInt32) -> UInt32 { ((pixel >> shift & 255) * alpha + 127) / 255 << shift }
        return 0xFF00_0000 | part(16) | part(8) | part(0)
    }
}

/// What libswscale has to be told of a frame's pixels.
private struct ReadableFormat {
    /// The format, the deprecated full-range names (yuvj420p) replaced by the plain ones.
    let av: AVPixelFormat
    /// Whether it has a matrix and a range.
    let isYUV: Bool
    /// One of libswscale's `SWS_CS_` values, which are those of AVColorSpace. BT.709 above 576 lines where the stream does not say, else
    /// BT.601.
    let matrix: Int32
    let isFullRange: Bool

    /// nil for what libswscale cannot read.
    init?(_ frame: UnsafeMutablePointer<AVFrame>) {
        let stored = AVPixelFormat(frame.pointee.format)
        guard sws_isSupportedInput(stored) != 0, let description = av_pix_fmt_desc_get(stored)?.pointee else { return nil }
        let plain = [
            AV_PIX_FMT_YUVJ420P.rawValue: AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ422P.rawValue: AV_PIX_FMT_YUV422P,
            AV_PIX_FMT_YUVJ444P.rawValue: AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ440P.rawValue: AV_PIX_FMT_YUV440P,
            AV_PIX_FMT_YUVJ411P.rawValue: AV_PIX_FMT_YUV411P,
        ][stored.rawValue]
        av = plain ?? stored
        isYUV = description.flags & UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) == 0 && description.nb_components > 2
        let said = frame.pointee.colorspace
        matrix = said != AVCOL_SPC_UNSPECIFIED ? Int32(said.rawValue) : frame.pointee.height > 576 ? SWS_CS_ITU709 : SWS_CS_ITU601
        isFullRange = plain != nil || frame.pointee.color_range == AVCOL_RANGE_JPEG
    }
}

extension Orientation {
    /// Where in a stored picture of `width` x `height` the pixel lies that stands at `x`, `y` when the picture is upright.
    fileprivate func stored(_ x: Int, _ y: Int, width: Int, height: Int) -> (x: Int, y: Int) {
        let (column, row) =
            switch rotation {
            case .none: (x, y)
            case .clockwise90: (y, height - 1 - x)
            case .clockwise180: (width - 1 - x, height - 1 - y)
            case .clockwise270: (width - 1 - y, x)
            }
        return (isMirrored ? width - 1 - column : column, row)
    }
}
