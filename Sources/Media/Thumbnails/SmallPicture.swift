import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// A picture in ordinary memory, ready to draw.
package struct SmallPicture: Hashable, Sendable {
    /// Pixels across and down; at least 1.
    package let width: Int, height: Int
    /// The pixels, row by row without gaps: 0xFFRRGGBB, or premultiplied 0xAARRGGBB for a picture with alpha.
    package let pixels: [UInt32]

    /// Creates a picture of `width` × `height` pixels.
    package init(width: Int, height: Int, pixels: [UInt32]) { (self.width, self.height, self.pixels) = (width, height, pixels) }
}

extension VideoFrame {
    /// Returns the picture upright, in its own shape, as large as fits into `width` x `height`. Transparent parts become black. With
    /// `keepsAlpha` they stay transparent, and the picture is not enlarged. Returns nil if libswscale cannot read the picture. The
    /// corresponding C function is `sws_scale`.
    package func fitted(into width: Int, _ height: Int, keepsAlpha: Bool = false) -> SmallPicture? {
        guard self.width > 0, self.height > 0, av.pointee.data.0 != nil, let format = ReadableFormat(av) else { return nil }
        let swaps = orientation.rotation.swapsAxes
        let (across, down) = (Double(self.width) * pixelAspectRatio, Double(self.height))
        var scale = swaps ? min(Double(width) / down, Double(height) / across) : min(Double(width) / across, Double(height) / down)
        if keepsAlpha { scale = min(scale, 1) }
        // As stored, before orientation.
        let limit = swaps ? (height, width) : (width, height)
        let drawnWidth = min(max(Int(saturating: across * scale), 1), limit.0)
        let drawnHeight = min(max(Int(saturating: down * scale), 1), limit.1)

        // The vector code of libswscale needs aligned rows, and writes up to 16 pixels beyond the end of one.
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
                    let pixel = Self.overBlack(drawn[row * stride + column])
                    pixels[y * size.width + x] =
                        keepsAlpha ? pixel & 0xFF_FFFF | drawn[row * stride + column] & 0xFF00_0000 : pixel
                }
            }
            count = size.width * size.height
        }
        return SmallPicture(width: size.width, height: size.height, pixels: pixels)
    }

    /// Draws BGRA into `memory`, in rows of `stride` pixels.
    private func draw(_ format: ReadableFormat, to memory: UnsafeMutableRawPointer, width: Int, height: Int, stride: Int) -> Bool {
        // Filters have a limit that extreme reductions exceed; the nearest pixel is good enough for those.
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
            return scale(context, to: memory, stride: stride * 4)
        }
        return false
    }

    /// Draws by `context` into `memory`, in rows of `stride` bytes.
    private func scale(_ context: OpaquePointer, to memory: UnsafeMutableRawPointer, stride: Int) -> Bool {
        let source = UnsafeRawPointer(av).advanced(by: MemoryLayout<AVFrame>.offset(of: \AVFrame.data)!)
            .assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
        let strides = UnsafeRawPointer(av).advanced(by: MemoryLayout<AVFrame>.offset(of: \AVFrame.linesize)!)
            .assumingMemoryBound(to: Int32.self)
        var target: UnsafeMutablePointer<UInt8>? = memory.assumingMemoryBound(to: UInt8.self)
        var targetStride = Int32(stride)
        return sws_scale(context, source, strides, 0, av.pointee.height, &target, &targetStride) > 0
    }

    /// Returns a BGRA pixel over black, opaque.
    private static func overBlack(_ pixel: UInt32) -> UInt32 {
        let alpha = pixel >> 24
        if alpha == 255 { return pixel }
        func part(_ shift: UInt32) -> UInt32 { ((pixel >> shift & 255) * alpha + 127) / 255 << shift }
        return 0xFF00_0000 | part(16) | part(8) | part(0)
    }
}

/// The pixel properties of a frame for libswscale.
private struct ReadableFormat {
    /// The format, with plain names for the deprecated full-range ones (yuvj420p).
    let av: AVPixelFormat
    /// Whether it has a matrix and a range.
    let isYUV: Bool
    /// One of libswscale's `SWS_CS_` values, which equal those of AVColorSpace. If the stream does not say, BT.709 above 576 lines, and
    /// BT.601 otherwise.
    let matrix: Int32
    let isFullRange: Bool

    /// Creates the properties; nil if libswscale cannot read the format.
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
    /// Returns the position in a stored picture of `width` x `height` for the upright position `x`, `y`.
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

extension VideoFrame {
    /// Returns the luma of the brightest of 32x18 patches, 0 (black) to 255. It tells a black frame from a dark one with something in it.
    /// Returns nil if libswscale cannot read the picture. The corresponding C function is `sws_scale`.
    package func brightestPatch() -> Int? {
        let (width, height) = (32, 18)
        guard
            let context = sws_getContext(
                av.pointee.width, av.pointee.height, AVPixelFormat(rawValue: av.pointee.format), Int32(width), Int32(height),
                AV_PIX_FMT_GRAY8, Int32(SWS_AREA), nil, nil, nil)
        else { return nil }
        defer { sws_freeContext(context) }
        var patches = [UInt8](repeating: 0, count: width * height)
        guard patches.withUnsafeMutableBytes({ scale(context, to: $0.baseAddress!, stride: width) }) else { return nil }
        // Black of limited range is 16; libswscale keeps that by default.
        return patches.max().map { Int($0) }
    }
}

// Small pictures as JPEG, by libavcodec's own encoder and decoder: some ten kilobytes each.
extension SmallPicture {
    /// Returns the picture as a JPEG; nil if libavcodec lacks the encoder, or memory is short.
    package func jpeg() -> [UInt8]? {
        guard let encoder = avcodec_find_encoder(AV_CODEC_ID_MJPEG), let context = avcodec_alloc_context3(encoder) else { return nil }
        defer { context.free() }
        let packet = Packet()
        // libswscale needs aligned rows.
        guard let source = ScratchFrame(AV_PIX_FMT_BGRA, width: width, height: height),
            let frame = ScratchFrame(AV_PIX_FMT_YUVJ420P, width: width, height: height),
            let scale = sws_getContext(
                Int32(width), Int32(height), AV_PIX_FMT_BGRA, Int32(width), Int32(height), AV_PIX_FMT_YUVJ420P, Int32(SWS_BILINEAR), nil,
                nil, nil)
        else { return nil }
        defer { sws_freeContext(scale) }
        frame.raw.pointee.color_range = AVCOL_RANGE_JPEG
        frame.raw.pointee.quality = 4 * FF_QP2LAMBDA
        pixels.withUnsafeBytes { bytes in
            for y in 0..<height {
                UnsafeMutableRawPointer(source.raw.pointee.data.0! + y * Int(source.raw.pointee.linesize.0)).copyMemory(
                    from: bytes.baseAddress! + y * width * 4, byteCount: width * 4)
            }
        }
        guard sws_scale_frame(scale, frame.raw, source.raw) >= 0 else { return nil }
        (context.pointee.width, context.pointee.height) = (Int32(width), Int32(height))
        context.pointee.pix_fmt = AV_PIX_FMT_YUVJ420P
        context.pointee.color_range = AVCOL_RANGE_JPEG
        context.pointee.time_base = AVRational(num: 1, den: 25)
        context.pointee.thread_count = 1
        context.pointee.flags |= 1 << 1  // AV_CODEC_FLAG_QSCALE
        context.pointee.global_quality = 4 * FF_QP2LAMBDA
        guard avcodec_open2(context, encoder, nil) >= 0, avcodec_send_frame(context, frame.raw) >= 0,
            avcodec_receive_packet(context, packet.raw) >= 0
        else { return nil }
        return Array(UnsafeBufferPointer(start: packet.raw.pointee.data, count: Int(packet.raw.pointee.size)))
    }

    /// Decodes a picture from `jpeg`; nil if it is damaged, or a side is longer than 1024 pixels.
    package init?(jpeg: [UInt8]) {
        guard let decoder = avcodec_find_decoder(AV_CODEC_ID_MJPEG), let context = avcodec_alloc_context3(decoder) else { return nil }
        defer { context.free() }
        let packet = Packet()
        let whole = VideoFrame(adopting: av_frame_alloc())
        guard !jpeg.isEmpty, av_new_packet(packet.raw, Int32(clamping: jpeg.count)) >= 0 else { return nil }
        jpeg.withUnsafeBytes { packet.raw.pointee.data.update(from: $0.bindMemory(to: UInt8.self).baseAddress!, count: jpeg.count) }
        context.pointee.thread_count = 1
        context.pointee.max_pixels = 1024 * 1024
        guard avcodec_open2(context, decoder, nil) >= 0, avcodec_send_packet(context, packet.raw) >= 0,
            avcodec_receive_frame(context, whole.av) >= 0, 1...1024 ~= whole.width, 1...1024 ~= whole.height,
            let picture = whole.fitted(into: whole.width, whole.height)
        else { return nil }
        self = picture
    }
}
