import CKioskDisplay
import CKioskFFmpeg
import KioskMedia
import KioskPlayback

/// Up to four planes of a picture in memory, as libswscale takes them.
struct PicturePlanes {
    typealias Plane = UnsafeMutablePointer<UInt8>?
    var data: (Plane, Plane, Plane, Plane)
    var strides: (Int32, Int32, Int32, Int32)

    init(data: (Plane, Plane, Plane, Plane), strides: (Int32, Int32, Int32, Int32)) { (self.data, self.strides) = (data, strides) }

    /// Creates one plane of packed pixels.
    init(packed base: UnsafeMutableRawPointer, stride: Int) {
        data = (base.assumingMemoryBound(to: UInt8.self), nil, nil, nil)
        strides = (Int32(stride), 0, 0, 0)
    }

    /// Calls `body` with the planes and their strides as C takes them.
    func withPointers(_ body: (UnsafePointer<UnsafeMutablePointer<UInt8>?>, UnsafePointer<Int32>) -> Void) {
        withUnsafeBytes(of: data) { data in
            withUnsafeBytes(of: strides) { strides in
                body(data.assumingMemoryBound(to: Plane.self).baseAddress!, strides.assumingMemoryBound(to: Int32.self).baseAddress!)
            }
        }
    }

    /// Creates the planes of `frame` from pixel (`x`, `y`) on, which must lie on the format's chroma grid.
    init(_ frame: UnsafeMutablePointer<AVFrame>, x: Int = 0, y: Int = 0) {
        let av = frame.pointee
        data = (av.data.0, av.data.1, av.data.2, av.data.3)
        strides = (av.linesize.0, av.linesize.1, av.linesize.2, av.linesize.3)
        guard x != 0 || y != 0, let description = av_pix_fmt_desc_get(AVPixelFormat(av.format)) else { return }
        // The pixel step of each plane, and then the component of that step.
        var steps: InlineArray<8, Int32> = InlineArray(repeating: 0)
        withUnsafeMutableBytes(of: &steps) { steps in
            let steps = steps.assumingMemoryBound(to: Int32.self).baseAddress!
            av_image_fill_max_pixsteps(steps, steps + 4, description)
        }
        func offset(_ step: Int32, _ component: Int32, _ stride: Int32) -> Int {
            let chroma = component == 1 || component == 2
            let across = chroma ? x >> Int(description.pointee.log2_chroma_w) : x
            let down = chroma ? y >> Int(description.pointee.log2_chroma_h) : y
            return down * Int(stride) + across * Int(step)
        }
        data.0 = data.0.map { $0 + offset(steps[0], steps[4], strides.0) }
        data.1 = data.1.map { $0 + offset(steps[1], steps[5], strides.1) }
        data.2 = data.2.map { $0 + offset(steps[2], steps[6], strides.2) }
        data.3 = data.3.map { $0 + offset(steps[3], steps[7], strides.3) }
    }
}

extension VideoFrame {
    /// Returns an undrawn picture in ordinary memory; nil without memory or for an unknown format. With `hasRoom` libswscale may draw over
    /// it repeatedly: its vector code writes up to 16 pixels past the width.
    static func blank(_ format: AVPixelFormat, width: Int, height: Int, hasRoom: Bool = false) -> VideoFrame? {
        guard format != AV_PIX_FMT_NONE, let av = av_frame_alloc() else { return nil }
        let frame = VideoFrame(adopting: av)
        let (room, rows) = hasRoom ? ((width + 31) / 16 * 16, (height + 1) / 2 * 2) : (width, height)
        (av.pointee.format, av.pointee.width, av.pointee.height) = (format.rawValue, Int32(clamping: room), Int32(clamping: rows))
        guard av_frame_get_buffer(av, hasRoom ? 64 : 0) >= 0 else { return nil }
        (av.pointee.width, av.pointee.height) = (Int32(clamping: width), Int32(clamping: height))
        return frame
    }

    var planes: PicturePlanes { PicturePlanes(av) }
}

/// One conversion between two formats and sizes: a libswscale context, or kiosk's own function for plain halving.
struct ScaleContext: ~Copyable {
    private enum Way {
        case libswscale(OpaquePointer, sourceHeight: Int32)
        /// `kiosk_halve`, with the sizes of the target planes in bytes.
        case halving(luma: (width: Int32, height: Int32), chroma: (width: Int32, height: Int32))
    }
    private let way: Way

    /// Creates a conversion; nil if libswscale cannot do it. `colour` and `brightness` are for conversions to RGB; ``ConversionRounding``
    /// finds the brightness if none is given. `keepsRange` is for gray to YUV: libswscale would otherwise take the values for full range
    /// and compress them.
    static func make(
        from: (format: AVPixelFormat, width: Int, height: Int), to: (format: AVPixelFormat, width: Int, height: Int), flags: Int32,
        colour: ColourDescription? = nil, brightness: Int32? = nil, keepsRange: Bool = false
    ) -> ScaleContext? {
        if colour == nil, flags & SWS_AREA != 0, let way = halving(from: from, to: to) { return ScaleContext(way: way) }
        // Extreme reductions exceed a limit of filters; the nearest pixel is good enough for those.
        for flags in [flags, SWS_POINT] {
            guard
                let context = sws_getContext(
                    Int32(from.width), Int32(from.height), from.format, Int32(to.width), Int32(to.height), to.format, flags, nil, nil, nil)
            else { continue }
            let standard = sws_getCoefficients(SWS_CS_DEFAULT)
            // Refused for pairs of formats without anything to describe.
            if let colour {
                let brightness = brightness ?? ConversionRounding.brightness(from: from, to: to, flags: flags, colour: colour)
                _ = sws_setColorspaceDetails(
                    context, sws_getCoefficients(colour.matrix), colour.isFullRange ? 1 : 0, standard, 1, brightness, 1 << 16, 1 << 16)
            } else if keepsRange {
                _ = sws_setColorspaceDetails(context, standard, 1, standard, 1, 0, 1 << 16, 1 << 16)
            }
            return ScaleContext(way: .libswscale(context, sourceHeight: Int32(from.height)))
        }
        return nil
    }

    /// Returns the flags for scaling planes of luma and chroma. The bicubic filter keeps details sharp. In reductions to two thirds and
    /// less, each pixel is the average of the area that it covers. That takes a third to two thirds of the time, and fine patterns come out
    /// fainter instead of false.
    ///
    /// Without accurate rounding, each averaged row adds its error: too much in large reductions. From more than 8 bits (`isDeep`),
    /// accurate rounding is faster without scaling. It costs a tenth in reductions, and a quarter in enlargements.
    static func filter(from: (width: Int, height: Int), to: (width: Int, height: Int), isDeep: Bool = false) -> Int32 {
        let isReduction = from.width * 2 >= to.width * 3 && from.height * 2 >= to.height * 3
        let isAccurate = from.height > 3 * to.height || isDeep && from.height >= to.height
        return (isReduction ? SWS_AREA : SWS_BICUBIC) | (isAccurate ? SWS_ACCURATE_RND : 0)
    }

    /// Returns a halving of a planar 8-bit picture; nil for any other conversion.
    private static func halving(
        from: (format: AVPixelFormat, width: Int, height: Int), to: (format: AVPixelFormat, width: Int, height: Int)
    ) -> Way? {
        guard from.format == to.format, from.width == 2 * to.width, from.height == 2 * to.height else { return nil }
        let (across, down): (Int32, Int32)
        switch to.format {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: (across, down) = (1, 1)
        case AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUVJ422P: (across, down) = (1, 0)
        case AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P: (across, down) = (0, 0)
        default: return nil
        }
        let (width, height) = (Int32(to.width), Int32(to.height))
        // The area of a chroma sample on the edge would reach beyond it.
        guard width & across == 0, height & down == 0 else { return nil }
        return .halving(luma: (width, height), chroma: (width >> across, height >> down))
    }

    deinit { if case .libswscale(let context, _) = way { sws_freeContext(context) } }

    /// Converts one picture. The corresponding C function is `sws_scale`.
    func run(from source: PicturePlanes, to target: PicturePlanes) {
        switch way {
        case .halving(let luma, let chroma):
            let (from, to, steps, strides) = (source.data, target.data, source.strides, target.strides)
            kiosk_halve(from.0!, Int(steps.0), to.0!, Int(strides.0), luma.width, luma.height)
            kiosk_halve(from.1!, Int(steps.1), to.1!, Int(strides.1), chroma.width, chroma.height)
            kiosk_halve(from.2!, Int(steps.2), to.2!, Int(strides.2), chroma.width, chroma.height)
        case .libswscale(let context, let height):
            source.withPointers { data, strides in
                let data = UnsafeRawPointer(data).assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
                target.withPointers { _ = sws_scale(context, data, strides, 0, height, $0, $1) }
            }
        }
    }
}

/// The meaning of a frame's values as colours.
struct ColourDescription: Hashable {
    /// One of libswscale's `SWS_CS_` values.
    var matrix: Int32
    /// Whether luma spans 0…255 instead of 16…235.
    var isFullRange: Bool
}

extension ColourDescription {
    /// Reads the stream's description. Defaults are BT.709 above 576 lines, else BT.601; limited range, but full for gray and RGB.
    init(_ frame: UnsafeMutablePointer<AVFrame>, fullRangeByFormat: Bool) {
        let av = frame.pointee
        switch av.colorspace {
        case AVCOL_SPC_BT709: matrix = SWS_CS_ITU709
        case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M: matrix = SWS_CS_ITU601
        case AVCOL_SPC_SMPTE240M: matrix = SWS_CS_SMPTE240M
        case AVCOL_SPC_FCC: matrix = SWS_CS_FCC
        case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: matrix = SWS_CS_BT2020
        default: matrix = av.height > 576 ? SWS_CS_ITU709 : SWS_CS_ITU601
        }
        switch av.color_range {
        case AVCOL_RANGE_JPEG: isFullRange = true
        case AVCOL_RANGE_MPEG: isFullRange = false
        default: isFullRange = fullRangeByFormat
        }
    }
}
