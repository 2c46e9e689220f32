import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// The encoder that a film wants for its pictures.
package struct EncoderWish: Hashable, Sendable {
    /// The hardware or the processor.
    package var setting: EncoderSetting
    /// The node of the only device to try; nil tries each of /dev/dri/renderD*.
    package var device: String?

    /// Creates a wish from the values of kiosk.conf.
    package init(_ setting: EncoderSetting, device: String? = nil) { (self.setting, self.device) = (setting, device) }
}

/// The choice and the setup of a picture encoder.
///
/// x264 and x265 come first: their pictures are the best for their size, and they run everywhere. V4L2 encoders take pictures from ordinary
/// memory, VAAPI encoders from surfaces (``SurfaceEncoder``). MPEG-4 part 2 comes last if no codec is named: every FFmpeg can encode it,
/// and few browsers play it.
package enum EncoderChoice {
    /// An encoder to try.
    struct Way: Hashable {
        /// FFmpeg's name.
        var encoder: String
        /// The node of the device for VAAPI; nil if there is none.
        var device: String?

        var isVAAPI: Bool { encoder.hasSuffix("_vaapi") }
        var isV4L2: Bool { encoder.hasSuffix("_v4l2m2m") }
        var isHardware: Bool { isVAAPI || isV4L2 }
        var title: String { device.map { "\(encoder) (\($0))" } ?? encoder }
    }

    /// Returns the encoders of `codec`, the best first; nil is for the first of H.264 and MPEG-4. `nodes` are those of graphics processors.
    static func ways(_ codec: FilmFormat.VideoCodec?, _ setting: EncoderSetting, nodes: [String]) -> [Way] {
        let (software, v4l2, vaapi) = names(codec ?? .h264)
        let (processor, kernel) = (software.map { Way(encoder: $0) }, v4l2.map { Way(encoder: $0) })
        let surfaces = vaapi.flatMap { name in nodes.isEmpty ? [Way(encoder: name)] : nodes.map { Way(encoder: name, device: $0) } }
        let last = codec == nil ? names(.mpeg4).software.map { Way(encoder: $0) } : []
        return switch setting {
        case .automatic: processor + kernel + surfaces + last
        case .hardware: surfaces + kernel + processor + last
        case .software: processor + last
        }
    }

    /// Returns the encoders for the devices of this machine, or for the one that `wish` names.
    static func ways(_ codec: FilmFormat.VideoCodec?, _ wish: EncoderWish) -> [Way] {
        if wish.setting == .software { return ways(codec, .software, nodes: []) }
        return ways(codec, wish.setting, nodes: wish.device.map { [$0] } ?? DecoderChoice.Nodes(device: nil).render)
    }

    private static func names(_ codec: FilmFormat.VideoCodec) -> (software: [String], v4l2: [String], vaapi: [String]) {
        switch codec {
        case .h264: (["libx264", "libopenh264"], ["h264_v4l2m2m"], ["h264_vaapi"])
        case .hevc: (["libx265"], ["hevc_v4l2m2m"], ["hevc_vaapi"])
        case .mpeg4: (["mpeg4"], [], [])
        }
    }

    /// Returns a bit rate for encoders without a constant rate factor. It is x264's for a busy film, halved for each 6 of the factor.
    package static func bitRate(_ video: FilmFormat.Video) -> Int {
        let pixels = Double(video.width * video.height) * min(video.frameRate, 240)
        var bits = pixels * 0.12
        for _ in 0..<abs(video.quality - 20) / 6 { bits = video.quality > 20 ? bits / 2 : bits * 2 }
        return min(max(Int(bits), 100_000), 200_000_000)
    }

    /// Sets up an unopened `context`. `quantiser` sets a quality for VAAPI encoders, as most drivers take it; otherwise they get a bit
    /// rate.
    static func configure(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ codec: UnsafePointer<AVCodec>, _ video: FilmFormat.Video, name: String,
        quantiser: Bool = true
    ) {
        context.pointee.width = Int32(video.width)
        context.pointee.height = Int32(video.height)
        context.pointee.pix_fmt = pixelFormat(codec)
        context.pointee.sample_aspect_ratio = shim_rational(1, 1)
        context.pointee.framerate = av_d2q(video.frameRate, 1001 * 240)
        // MPEG-4 counts in sixteen bits.
        context.pointee.time_base = name == "mpeg4" ? shim_rational(1, 60000) : VideoEncoder.timeBase
        let frames = video.keyFrameInterval.seconds * video.frameRate
        context.pointee.gop_size = Int32(min(max(frames.rounded(), 1), 1000))
        (context.pointee.colorspace, context.pointee.color_primaries, context.pointee.color_trc) =
            video.colour == .bt709
            ? (AVCOL_SPC_BT709, AVCOL_PRI_BT709, AVCOL_TRC_BT709) : (AVCOL_SPC_SMPTE170M, AVCOL_PRI_SMPTE170M, AVCOL_TRC_SMPTE170M)
        context.pointee.color_range = AVCOL_RANGE_MPEG
        context.pointee.chroma_sample_location = AVCHROMA_LOC_LEFT
        // MP4 has the codec's headers in its index.
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        context.pointee.thread_count = Int32(min(max(video.threads, 0), 64))
        func set(_ option: String, _ value: String) { _ = av_opt_set(context, option, value, AV_OPT_SEARCH_CHILDREN) }
        let quality = min(max(video.quality, 0), 51)
        switch name {
        case "libx264", "libx265":
            set("preset", video.isLive ? "superfast" : "medium")
            if video.isLive { set("tune", "zerolatency") }
            if name == "libx265" { set("x265-params", "log-level=none") }
            if video.bitRate == nil { set("crf", "\(quality)") }
        case "mpeg4":
            if video.bitRate == nil {
                context.pointee.flags |= AV_CODEC_FLAG_QSCALE
                context.pointee.global_quality = Int32(min(max((quality - 8) / 4, 1), 31)) * FF_QP2LAMBDA
            }
        case "h264_vaapi", "hevc_vaapi":
            // Pictures that wait for later ones add delay. So does a second one in the device.
            context.pointee.max_b_frames = video.isLive ? 0 : 2
            set("async_depth", video.isLive ? "1" : "2")
            if video.bitRate == nil {
                // libavcodec takes 0 as unset.
                if quantiser { set("qp", "\(max(quality, 1))") } else { context.pointee.bit_rate = Int64(bitRate(video)) }
            }
        default: context.pointee.bit_rate = Int64(bitRate(video))
        }
        if let bits = video.bitRate { context.pointee.bit_rate = Int64(min(max(bits, 10_000), 500_000_000)) }
        if let limit = video.bitRateLimit { setLimit(limit, of: context, name) }
    }

    /// Limits the bits a second. x264 and x265 keep their quality below it; for other encoders the limit replaces a higher bit rate.
    private static func setLimit(_ limit: Int, of context: UnsafeMutablePointer<AVCodecContext>, _ name: String) {
        let limit = Int64(min(max(limit, 10_000), 500_000_000))
        if name == "libx264" || name == "libx265" {
            context.pointee.rc_max_rate = limit
            context.pointee.rc_buffer_size = Int32(clamping: limit)
        } else if context.pointee.bit_rate == 0 || context.pointee.bit_rate > limit {
            // A quantiser has no bit rate.
            _ = av_opt_set(context, "qp", "0", AV_OPT_SEARCH_CHILDREN)
            context.pointee.flags &= ~AV_CODEC_FLAG_QSCALE
            context.pointee.bit_rate = limit
        }
    }

    /// Returns planar 4:2:0 if the encoder takes it, and otherwise its first format.
    private static func pixelFormat(_ codec: UnsafePointer<AVCodec>) -> AVPixelFormat {
        guard let formats = shim_codec_pixel_formats(codec) else { return AV_PIX_FMT_YUV420P }
        var index = 0
        while formats[index] != AV_PIX_FMT_NONE {
            if formats[index] == AV_PIX_FMT_YUV420P { return AV_PIX_FMT_YUV420P }
            index += 1
        }
        return index > 0 ? formats[0] : AV_PIX_FMT_YUV420P
    }
}

/// The film encoders of this machine, for `kiosk devices`.
package struct EncoderInventory {
    /// An encoder of the installed FFmpeg.
    package struct Entry: Hashable, Sendable {
        /// FFmpeg's short name of the codec.
        package var codec: String
        /// FFmpeg's name of the encoder, with the node of its device if it has one.
        package var title: String
        /// Why the encoder does not open; nil if it does.
        package var problem: String?
    }

    /// Opens each encoder once, for pictures of 1280×720, in the order that a film tries them. Blocks for a moment; a device that hangs
    /// while it opens adds ``HardwareDevice/timeLimit``. `device` is the node of the only device to try; nil tries each of
    /// /dev/dri/renderD*.
    package static func entries(device: String? = nil) -> [Entry] {
        [FilmFormat.VideoCodec.h264, .hevc].flatMap { codec in
            EncoderChoice.ways(codec, EncoderWish(.automatic, device: device)).compactMap { way in
                var video = FilmFormat.Video(width: 1280, height: 720, frameRate: 30)
                (video.codec, video.isLive, video.threads) = (codec, true, 1)
                var entry = Entry(codec: codec.rawValue, title: way.title)
                do throws(SurfaceError) {
                    if try VideoEncoder.open(way, video, path: "") == nil { return nil }
                } catch {
                    entry.problem = error.text
                }
                return entry
            }
        }
    }
}
