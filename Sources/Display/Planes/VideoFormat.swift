import CKioskDRM
import CKioskFFmpeg

/// A YUV format that planes support and libavutil describes.
struct VideoFormat: Hashable, CustomStringConvertible {
    /// The fourcc code.
    let code: UInt32
    /// The pixel format with the same layout.
    let av: AVPixelFormat

    /// The name in messages: `NV12`.
    var description: String { Self.name(code) }

    /// Returns a fourcc code in letters.
    static func name(_ code: UInt32) -> String {
        String(decoding: (0..<4).map { UInt8(truncatingIfNeeded: code >> (8 * UInt32($0))) }, as: UTF8.self)
    }

    init(_ name: String, _ av: AVPixelFormat) {
        code = name.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
        self.av = av
    }

    static let nv12 = VideoFormat("NV12", AV_PIX_FMT_NV12)
    static let yuv420 = VideoFormat("YU12", AV_PIX_FMT_YUV420P)
    static let p010 = VideoFormat("P010", AV_PIX_FMT_P010LE)
    static let all = [
        nv12, VideoFormat("NV21", AV_PIX_FMT_NV21), yuv420, p010, VideoFormat("NV16", AV_PIX_FMT_NV16),
        VideoFormat("NV24", AV_PIX_FMT_NV24),
        VideoFormat("YU16", AV_PIX_FMT_YUV422P), VideoFormat("YU24", AV_PIX_FMT_YUV444P),
    ]

    /// Creates the format of this layout; nil if no plane supports it.
    init?(_ av: AVPixelFormat) {
        guard let format = Self.all.first(where: { $0.av == av }) else { return nil }
        self = format
    }

    /// Returns the formats to which a picture can be copied without loss, its own first. The others have the same samples in another
    /// layout.
    static func copies(of format: PictureFormat) -> [VideoFormat] {
        guard !format.isRGB, !format.isFlattened else { return [] }
        let own = VideoFormat(format.av).map { [$0] } ?? []
        switch format.av {
        case AV_PIX_FMT_YUV420P: return own + [nv12]
        case AV_PIX_FMT_YUV420P10LE: return [p010]
        default: return own
        }
    }

    /// Returns the formats to which a picture can be scaled: 8 bits, with the picture's chroma sampling. Semi-planar ones come second: more
    /// hardware has them, but libswscale writes them more slowly, and cannot write NV16 at all.
    static func scaled(from format: PictureFormat) -> [VideoFormat] {
        switch format.intermediate {
        case AV_PIX_FMT_YUV420P: [yuv420, nv12]
        case AV_PIX_FMT_YUV422P: [VideoFormat("YU16", AV_PIX_FMT_YUV422P)]
        case AV_PIX_FMT_YUV444P: [VideoFormat("YU24", AV_PIX_FMT_YUV444P), VideoFormat("NV24", AV_PIX_FMT_NV24)]
        default: []
        }
    }

    /// Bytes of a sample.
    var sampleBytes: Int { av == AV_PIX_FMT_P010LE ? 2 : 1 }
    /// The number of planes.
    var planeCount: Int { Int(av_pix_fmt_count_planes(av)) }

    /// Returns the rows of a plane, and the bytes in a row, for a picture of this size.
    func extent(of plane: Int, width: Int, height: Int) -> (rows: Int, bytes: Int) {
        guard plane > 0, let description = av_pix_fmt_desc_get(av) else { return (height, width * sampleBytes) }
        let (across, down) = (Int(description.pointee.log2_chroma_w), Int(description.pointee.log2_chroma_h))
        // If there are two planes, the second holds both chroma samples.
        let samples = planeCount == 2 ? 2 : 1
        return ((height + (1 << down) - 1) >> down, ((width + (1 << across) - 1) >> across) * samples * sampleBytes)
    }

    /// Returns the pitch of a plane in bytes, for a luma pitch of `luma`.
    fileprivate func pitch(of plane: Int, luma: Int) -> Int {
        guard plane > 0, let description = av_pix_fmt_desc_get(av) else { return luma }
        return (luma * (planeCount == 2 ? 2 : 1)) >> Int(description.pointee.log2_chroma_w)
    }
}

/// The layout of a picture's planes in one piece of memory: luma, then chroma, without gaps. A pure value.
///
/// It uses the driver's pitch; the memory then has ``rows`` rows of that pitch. Width and height are rounded up to even, as some drivers
/// refuse odd ones. The added row or column is not visible.
struct VideoLayout {
    let format: VideoFormat
    /// Pixels of the framebuffer.
    let width: Int, height: Int
    /// The pitch of each plane, and the offset of its first row, in bytes.
    let pitches: InlineArray<3, Int>, offsets: InlineArray<3, Int>
    /// The total size, in rows of luma.
    let rows: Int

    init(_ format: VideoFormat, width: Int, height: Int, pitch: Int) {
        self.format = format
        (self.width, self.height) = ((width + 1) & ~1, (height + 1) & ~1)
        var (pitches, offsets): (InlineArray<3, Int>, InlineArray<3, Int>) = ([0, 0, 0], [0, 0, 0])
        var end = 0
        for plane in 0..<format.planeCount {
            pitches[plane] = format.pitch(of: plane, luma: pitch)
            offsets[plane] = end
            end += pitches[plane] * format.extent(of: plane, width: self.width, height: self.height).rows
        }
        (self.pitches, self.offsets) = (pitches, offsets)
        rows = (end + pitch - 1) / pitch
    }

    /// Returns the bytes to allocate for a row of luma. If libswscale writes there, its vector code may write 16 pixels past the end. Else
    /// rows have the usual pitch of decoders, so that a plane is copied in one piece.
    static func rowBytes(_ format: VideoFormat, width: Int, forScaling: Bool) -> Int {
        forScaling
            ? (((width + 1) & ~1) * format.sampleBytes + 32 + 127) & ~127 : (((width + 1) & ~1) * format.sampleBytes + 63) & ~63
    }
}
