import CKioskFFmpeg
import CKioskMedia
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// What a reader's pictures are to be decoded by.
package struct DecoderWish: Hashable, Sendable {
    /// The hardware or the processor.
    package var setting: DecoderSetting
    /// The node of the only device to be tried; nil is each of /dev/dri/renderD*.
    package var device: String?
    /// Bytes of packets that are kept for the case that the hardware fails.
    var keptBytes = KeptPackets.byteLimit
    /// How long a call of the hardware's driver may take in mid-item.
    var driverLimit = DriverCall.limit
    /// Whether pictures are made of the fields of interlaced frames.
    var makesPictures = true
    /// The devices of another process, which this one cannot use: it asks whether they would be tried (``MediaReader/wouldUseDevice``).
    package var elsewhere: DecoderChoice.Nodes?
    /// Why hardware is not tried for this source; nil where it is.
    package var failure: String?
    /// What they have shown not to decode (``MediaReader/shape``).
    package var refused: Set<String> = []

    /// A wish as kiosk.conf says it.
    package init(_ setting: DecoderSetting, device: String? = nil) { (self.setting, self.device) = (setting, device) }

    /// The processor: previews, checks, covers.
    package static let software = DecoderWish(.software)
}

/// How many pictures of a hardware decoder may be held at once. Its pool has a fixed number of them, and libavcodec does not wait for one
/// to come back: it fails.
package enum PicturePool {
    /// So many may wait to be composed.
    package static let mostQueued = 6
    /// And so many more may be held elsewhere: being composed, ready, on the screen and leaving it, not yet freed by the feeder, and
    /// decoded by opening or seeking.
    static let elsewhere = 8
    /// What a pool needs beyond the pictures that others are predicted from.
    static let extra = mostQueued + elsewhere
    /// What libavfilter asks for itself where it makes pictures of fields.
    static let ofFilter = 10
    /// Pictures that are asked of a V4L2 decoder: besides those a few for it to draw into.
    static let ofV4L2 = extra + 10
    /// What libavcodec's VAAPI decoders with the most references (H.264, HEVC) take for themselves.
    static let references = 21
}

/// Which hardware decoders are tried for a track, in order, before software: decided by what the track is, what libavcodec offers and which
/// device nodes there are. Whether a device takes a profile or a size only its driver knows: a way that fails at the first picture is
/// followed by the next.
package struct DecoderChoice: Hashable {
    /// An interface to hardware decoders.
    enum Method: String, Hashable {
        /// A graphics processor's driver in the process (libva).
        case vaapi
        /// A decoder of the kernel that is given the stream as it is (libavcodec's `h264_v4l2m2m`): H.264 on a Raspberry Pi 4.
        case v4l2
        /// A decoder of the kernel that is given headers and slices, as the FFmpeg of Raspberry Pi OS, LibreELEC and Armbian has it: HEVC
        /// on a Raspberry Pi, RK35xx, Allwinner.
        case v4l2Request = "v4l2-request"
    }

    /// A decoder to be tried.
    struct Way: Hashable {
        var method: Method
        /// libavcodec's name of the decoder.
        var decoder: String
        /// The device's node; nil where the decoder finds it by itself.
        var device: String?
        /// What answers its calls, or does not.
        var driver: String { device ?? decoder }
    }

    struct Track: Hashable {
        var codec: String
        /// Stored pixels across and down; 0 where the header does not tell.
        var width: Int, height: Int
        var isInterlaced = false
        /// Whether chroma has half the luma's resolution both ways, and each sample 8 or 10 bits: what these decoders give out.
        var isPlain420 = true
        var bitsPerSample = 8

        /// Bytes of all pictures of a VAAPI decoder.
        var poolBytes: Int {
            let ofFields = isInterlaced ? PicturePool.ofFilter + PicturePool.extra : 0
            return Int(Double(width) * Double(height) * 1.5 * (bitsPerSample > 8 ? 2 : 1))
                * (PicturePool.references + PicturePool.extra + ofFields)
        }
    }

    /// What libavcodec has for a track's codec: names of decoders.
    struct Offers: Hashable {
        /// Those that can work through VAAPI, and through the kernel's stateless decoders.
        var vaapi: String?, v4l2Request: String?
        /// Those that are a stateful decoder of the kernel.
        var v4l2: [String] = []
        var isEmpty: Bool { vaapi == nil && v4l2Request == nil && v4l2.isEmpty }
    }

    package struct Nodes: Hashable, Sendable {
        /// Of graphics processors, in the order of their numbers.
        package var render: [String] = []
        /// Whether there is one of V4L2 (/dev/video*; a webcam has one, too).
        package var hasVideo = false
        package var isEmpty: Bool { render.isEmpty && !hasVideo }

        package init(render: [String] = [], hasVideo: Bool = false) { (self.render, self.hasVideo) = (render, hasVideo) }
    }

    /// In order; software comes after the last.
    var ways: [Way] = []
    /// Why there is none; nil where there are some, and where nobody wants one.
    var obstacle: String?

    /// No hardware, and nothing to be said of it.
    static let software = DecoderChoice()

    /// None, for want of a wish or because of an obstacle.
    init(obstacle: String? = nil) { self.obstacle = obstacle }

    init(_ track: Track, setting: DecoderSetting, offers: Offers, nodes: Nodes, memory: Int) {
        if setting == .software { return }
        if nodes.isEmpty {
            obstacle = "there is no device for it (/dev/dri/renderD*, /dev/video*)"
        } else if offers.isEmpty {
            obstacle = "the installed FFmpeg has no hardware decoder for \(track.codec)"
        } else if !track.isPlain420 {
            obstacle = "its pixel format is not one of hardware decoders"
        } else {
            if let decoder = offers.vaapi, track.poolBytes <= memory {
                ways += nodes.render.map { Way(method: .vaapi, decoder: decoder, device: $0) }
            }
            // These do not say which frames consist of fields.
            if nodes.hasVideo, !track.isInterlaced {
                ways += offers.v4l2.map { Way(method: .v4l2, decoder: $0) }
                // Its pictures are shared by way of a graphics device; which one does not matter.
                if let decoder = offers.v4l2Request, let node = nodes.render.first {
                    ways.append(Way(method: .v4l2Request, decoder: decoder, device: node))
                }
            }
            if ways.isEmpty {
                let tooLarge = offers.vaapi != nil && !nodes.render.isEmpty
                obstacle =
                    tooLarge
                    ? "its pictures would take \(track.poolBytes >> 20) MB"
                    : track.isInterlaced ? "it is interlaced" : "no device here decodes \(track.codec)"
            }
        }
    }
}

// What there is to choose from: the side of DecoderChoice that looks at libavcodec and at /dev.

extension DecoderChoice.Offers {
    /// What libavcodec has for a codec. The corresponding C functions are `av_codec_iterate` and `avcodec_get_hw_config`.
    init(_ codec: AVCodecID) {
        for decoder in DecoderInventory.all where decoder.pointee.id == codec {
            let name = String(cString: decoder.pointee.name)
            if name.hasSuffix("_v4l2m2m") { v4l2.append(name) }
            if vaapi == nil, decoder.offers(AV_HWDEVICE_TYPE_VAAPI, AV_PIX_FMT_VAAPI) { vaapi = name }
            if v4l2Request == nil, decoder.offers(AV_HWDEVICE_TYPE_DRM, AV_PIX_FMT_DRM_PRIME) { v4l2Request = name }
        }
    }
}

extension UnsafePointer<AVCodec> {
    /// Whether it can decode into pictures of `format` where it is given a device of `type`.
    fileprivate func offers(_ type: AVHWDeviceType, _ format: AVPixelFormat) -> Bool {
        var index: Int32 = 0
        while let config = avcodec_get_hw_config(self, index) {
            let takesDevice = config.pointee.methods & Int32(AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) != 0
            if config.pointee.device_type == type, config.pointee.pix_fmt == format, takesDevice { return true }
            index += 1
        }
        return false
    }
}

extension DecoderChoice.Nodes {
    /// Those of this machine; of graphics processors only `device`, where one is given.
    package init(device: String?) {
        if let device {
            if access(device, F_OK) == 0 { render = [device] }
        } else {
            render = Folder.numbers(of: "renderD", in: "/dev/dri").map { "/dev/dri/renderD\($0)" }
        }
        hasVideo = !Folder.numbers(of: "video", in: "/dev").isEmpty
    }
}

extension DecoderChoice.Nodes {
    /// Those of this machine that may decode something: no driver of a graphics processor is asked, as it would be loaded into this process. None where the
    /// display cannot show what they give out. Blocks for devices of V4L2, each of which is asked once, and in a thread that may hang.
    package static func usable(device: String?) -> Self {
        if SurfaceUse.isPointless { return Self() }
        var nodes = Self(device: device)
        nodes.hasVideo = Folder.numbers(of: "video", in: "/dev").contains { converts("/dev/video\($0)") }
        return nodes
    }

    private static let answers = Mutex<[String: Bool]>([:])

    private static func converts(_ path: String) -> Bool {
        if let known = answers.withLock({ $0[path] }) { return known }
        let outcome = Mutex(false)
        _ = DriverCall.run(within: DriverCall.limit, { outcome.withLock { $0 = kiosk_video_device_converts(path) } }, late: {})
        let converts = outcome.withLock { $0 }
        answers.withLock { $0[path] = converts }
        return converts
    }
}

extension DecoderChoice {
    /// Whether devices that are elsewhere would be tried.
    static func wouldUseDevice(_ parameters: AVCodecParameters, _ wish: DecoderWish, memory: Int) -> Bool {
        let track = Track(parameters)
        guard let nodes = wish.elsewhere, !nodes.isEmpty, !wish.refused.contains(track.shape) else { return false }
        return !DecoderChoice(track, setting: .automatic, offers: Offers(parameters.codec_id), nodes: nodes, memory: memory).ways.isEmpty
    }
}

extension DecoderChoice.Track {
    /// What a device takes all of, or nothing: `h264 1920x1080 8`.
    var shape: String { "\(codec) \(width)x\(height) \(bitsPerSample)" }

    /// What a stream's header says of it.
    init(_ parameters: AVCodecParameters) {
        codec = String(cString: avcodec_get_name(parameters.codec_id))
        (width, height) = (Int(max(0, parameters.width)), Int(max(0, parameters.height)))
        isInterlaced = parameters.field_order.rawValue > AV_FIELD_PROGRESSIVE.rawValue
        if let format = av_pix_fmt_desc_get(AVPixelFormat(rawValue: parameters.format))?.pointee {
            bitsPerSample = Int(format.comp.0.depth)
            let others = UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL)
            isPlain420 =
                format.nb_components == 3 && format.log2_chroma_w == 1 && format.log2_chroma_h == 1 && format.flags & others == 0
                && [8, 10].contains(bitsPerSample)
        }
    }
}

/// What libavcodec can decode here, by the processor.
package enum DecoderInventory {
    /// Those of `codecs`, by FFmpeg's short names, that it cannot decode without hardware. The corresponding C functions are
    /// `avcodec_descriptor_get_by_name` and `av_codec_iterate`.
    package static func missing(of codecs: [String]) -> [String] {
        codecs.filter { codec in
            guard let descriptor = avcodec_descriptor_get_by_name(codec) else { return true }
            return !hasSoftwareDecoder(descriptor.pointee.id)
        }
    }

    private static func hasSoftwareDecoder(_ codec: AVCodecID) -> Bool {
        all.contains { decoder in
            guard decoder.pointee.id == codec, decoder.pointee.capabilities & Int32(AV_CODEC_CAP_HARDWARE) == 0 else { return false }
            // libavcodec's own decoder of AV1 parses only, and has hardware make the pictures.
            return codec != AV_CODEC_ID_AV1 || String(cString: decoder.pointee.name) != "av1"
        }
    }

    /// Those of the installed FFmpeg. The corresponding C function is `av_codec_iterate`.
    static var all: some Sequence<UnsafePointer<AVCodec>> {
        sequence(state: UnsafeMutableRawPointer?.none) { av_codec_iterate(&$0) }.lazy.filter { av_codec_is_decoder($0) != 0 }
    }
}
