import CKioskDRM
import CKioskFFmpeg

/// A YUV format that planes take and libavutil describes.
struct VideoFormat: Hashable, CustomStringConvertible {
    /// The kernel's code.
    let code: UInt32
    /// The same arrangement of bytes.
    let av: AVPixelFormat

    /// What it is called in a message: `NV12`.
    var description: String { Self.name(code) }

    /// A fourcc code in letters.
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

    /// The format of this layout; nil where no plane has it.
    init?(_ av: AVPixelFormat) {
        guard let format = Self.all.first(where: { $0.av == av }) else { return nil }
        self = format
    }

    /// The formats that a picture can be copied to with nothing lost, its own first: in the others the same samples lie otherwise.
    static func copies(of format: PictureFormat) -> [VideoFormat] {
        guard !format.isRGB, !format.isFlattened else { return [] }
        let own = VideoFormat(format.av).map { [$0] } ?? []
        switch format.av {
        case AV_PIX_FMT_YUV420P: return own + [nv12]
        case AV_PIX_FMT_YUV420P10LE: return [p010]
        default: return own
        }
    }

    /// The formats that a picture can be scaled to: 8 bits, as many chroma samples as it has. Semi-planar ones come second: more hardware has
    /// them, and libswscale writes them more slowly; NV16 it does not write at all.
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
    /// How many planes.
    var planeCount: Int { Int(av_pix_fmt_count_planes(av)) }

    /// Rows of a plane of a picture of this size, and bytes in a row.
    func extent(of plane: Int, width: Int, height: Int) -> (rows: Int, bytes: Int) {
        guard plane > 0, let description = av_pix_fmt_desc_get(av) else { return (height, width * sampleBytes) }
        let (across, down) = (Int(description.pointee.log2_chroma_w), Int(description.pointee.log2_chroma_h))
        // Of two planes the second holds both chroma samples.
        let samples = planeCount == 2 ? 2 : 1
        return ((height + (1 << down) - 1) >> down, ((width + (1 << across) - 1) >> across) * samples * sampleBytes)
    }

    /// Bytes from row to row of a plane, where those of luma are so far apart.
    fileprivate func pitch(of plane: Int, luma: Int) -> Int {
        guard plane > 0, let description = av_pix_fmt_desc_get(av) else { return luma }
        return (luma * (planeCount == 2 ? 2 : 1)) >> Int(description.pointee.log2_chroma_w)
    }
}

/// Where the planes of a picture are in one piece of memory: luma, then chroma, without gaps. A pure value.
///
/// It is made for the pitch that the driver gave its rows; the driver is asked for memory of ``rows`` rows of that pitch. Width and height are
/// even, as some drivers refuse others: of a picture with odd ones there is one more row or column, of which nothing is seen.
struct VideoLayout {
    let format: VideoFormat
    /// Pixels of the framebuffer.
    let width: Int, height: Int
    /// Bytes from one row to the next, and of the first row from the beginning, of each plane.
    let pitches: InlineArray<3, Int>, offsets: InlineArray<3, Int>
    /// All of it, in rows of luma.
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

    /// Bytes that a row of luma should have room for. Where libswscale writes there itself its vector code may write 16 pixels past the end; else
    /// rows are as far apart as decoders mostly have them, so that a plane is copied in one piece.
    static func rowBytes(_ format: VideoFormat, width: Int, forScaling: Bool) -> Int {
        forScaling
            ? (((width + 1) & ~1) * format.sampleBytes + 32 + 127) & ~127 : (((width + 1) & ~1) * format.sampleBytes + 63) & ~63
    }
}
