import CKioskFFmpeg
import CKioskMedia
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// The decoder that a reader wants for its pictures.
package struct DecoderWish: Hashable, Sendable {
    /// The hardware or the processor.
    package var setting: DecoderSetting
    /// The node of the only device to try; nil tries each of /dev/dri/renderD*.
    package var device: String?
    /// The bytes of packets to keep in case the hardware fails.
    var keptBytes = KeptPackets.byteLimit
    /// The time limit of a driver call in mid-item.
    var driverLimit = DriverCall.limit
    /// Whether the decoder makes pictures from the fields of interlaced frames.
    var makesPictures = true
    /// The devices of another process, which this process cannot use. The reader reports whether the choice would try them
    /// (``MediaReader/wouldUseDevice``).
    package var elsewhere: DecoderChoice.Nodes?
    /// The reason not to try hardware for this source; nil if there is none.
    package var failure: String?
    /// The shapes of tracks that the devices have failed to decode (``MediaReader/shape``).
    package var refused: Set<String> = []

    /// Creates a wish from the values of kiosk.conf.
    package init(_ setting: DecoderSetting, device: String? = nil) { (self.setting, self.device) = (setting, device) }

    /// The processor: for previews, checks and covers.
    package static let software = DecoderWish(.software)
}

/// The number of pictures of a hardware decoder that kiosk can hold at once. The decoder's pool has a fixed size. If it is empty,
/// libavcodec fails; it does not wait for a picture to come back.
package enum PicturePool {
    /// The most pictures that wait for composition.
    package static let mostQueued = 6
    /// The most pictures held elsewhere: in composition, ready, on the screen, leaving it, waiting for the feeder, or decoded by opening or
    /// seeking.
    static let elsewhere = 8
    /// The pictures that a pool needs in addition to the reference pictures.
    static let extra = mostQueued + elsewhere
    /// The pictures that libavfilter requests for itself when it makes pictures from fields.
    static let ofFilter = 10
    /// The pictures requested from a V4L2 decoder: ``extra``, and a few for the decoder to draw into.
    static let ofV4L2 = extra + 10
    /// The pictures that libavcodec's VAAPI decoders with the most references (H.264, HEVC) take for themselves.
    static let references = 21
}

/// The hardware decoders to try for a track, in order, before software. The choice depends on the track, on libavcodec's decoders and on
/// the device nodes. Only the driver knows whether its device takes a profile or a size. If a way fails at the first picture, kiosk tries
/// the next.
package struct DecoderChoice: Hashable {
    /// An interface to hardware decoders.
    enum Method: String, Hashable {
        /// A graphics driver in this process (libva).
        case vaapi
        /// A stateful kernel decoder, which takes the stream unchanged (libavcodec's `h264_v4l2m2m`): H.264 on a Raspberry Pi 4.
        case v4l2
        /// A stateless kernel decoder, which takes headers and slices: HEVC on a Raspberry Pi, RK35xx, Allwinner. The FFmpeg of Raspberry
        /// Pi OS, LibreELEC and Armbian has it.
        case v4l2Request = "v4l2-request"
    }

    /// A decoder to try.
    struct Way: Hashable {
        var method: Method
        /// libavcodec's name for the decoder.
        var decoder: String
        /// The device's node; nil if the decoder finds it by itself.
        var device: String?
        /// The key for calls that hang (``DriverCall``): the node, or the decoder's name.
        var driver: String { device ?? decoder }
    }

    struct Track: Hashable {
        var codec: String
        /// Stored pixels across and down; 0 if the header does not say.
        var width: Int, height: Int
        var isInterlaced = false
        /// Whether chroma has half the luma's resolution in both directions, and each sample has 8 or 10 bits: the output of these
        /// decoders.
        var isPlain420 = true
        var bitsPerSample = 8

        /// The bytes of all pictures of a VAAPI decoder.
        var poolBytes: Int {
            let ofFields = isInterlaced ? PicturePool.ofFilter + PicturePool.extra : 0
            return Int(Double(width) * Double(height) * 1.5 * (bitsPerSample > 8 ? 2 : 1))
                * (PicturePool.references + PicturePool.extra + ofFields)
        }
    }

    /// The names of libavcodec's decoders for a track's codec.
    struct Offers: Hashable {
        /// The decoders that can work through VAAPI, and through the kernel's stateless decoders.
        var vaapi: String?, v4l2Request: String?
        /// The decoders that wrap a stateful kernel decoder.
        var v4l2: [String] = []
        var isEmpty: Bool { vaapi == nil && v4l2Request == nil && v4l2.isEmpty }
    }

    package struct Nodes: Hashable, Sendable {
        /// The nodes of graphics processors, in the order of their numbers.
        package var render: [String] = []
        /// Whether there is a V4L2 node (/dev/video*; a webcam has one, too).
        package var hasVideo = false
        package var isEmpty: Bool { render.isEmpty && !hasVideo }

        package init(render: [String] = [], hasVideo: Bool = false) { (self.render, self.hasVideo) = (render, hasVideo) }
    }

    /// The decoders in order; software comes after the last.
    var ways: [Way] = []
    /// The reason for an empty list; nil if ``ways`` is not empty or the wish is for software.
    var obstacle: String?

    /// No hardware, and no reason to report.
    static let software = DecoderChoice()

    /// Creates a choice without hardware, with the obstacle if there is one.
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
            // These do not report which frames consist of fields.
            if nodes.hasVideo, !track.isInterlaced {
                ways += offers.v4l2.map { Way(method: .v4l2, decoder: $0) }
                // It shares its pictures through a graphics device; any will do.
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

// The part of DecoderChoice that looks at libavcodec and at /dev.

extension DecoderChoice.Offers {
    /// Finds libavcodec's decoders for a codec. The corresponding C functions are `av_codec_iterate` and `avcodec_get_hw_config`.
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
    /// Whether the decoder can decode into pictures of `format` with a device of `type`.
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
    /// Finds the nodes of this machine. If `device` is given, it is the only graphics node.
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
    /// Returns the nodes of this machine that may decode; none if the display cannot show their output. Calls no graphics driver, because
    /// libva would load it into this process. Blocks for V4L2 devices: queries each once, on a thread that may hang.
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
    /// Returns whether the choice would try the devices of another process.
    static func wouldUseDevice(_ parameters: AVCodecParameters, _ wish: DecoderWish, memory: Int) -> Bool {
        let track = Track(parameters)
        guard let nodes = wish.elsewhere, !nodes.isEmpty, !wish.refused.contains(track.shape) else { return false }
        return !DecoderChoice(track, setting: .automatic, offers: Offers(parameters.codec_id), nodes: nodes, memory: memory).ways.isEmpty
    }
}

extension DecoderChoice.Track {
    /// The key for refusals, because a device takes all tracks of a shape or none: `h264 1920x1080 8`.
    var shape: String { "\(codec) \(width)x\(height) \(bitsPerSample)" }

    /// Creates a track from a stream's header.
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

/// The software decoders of libavcodec on this machine.
package enum DecoderInventory {
    /// The name of Debian's package with the libavcodec that this program was built for.
    package static let library = "libavcodec\(LIBAVCODEC_VERSION_MAJOR)"

    /// Returns the codecs (FFmpeg's short names) that libavcodec cannot decode without hardware. The corresponding C functions are
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
            // libavcodec's own AV1 decoder only parses; the hardware makes the pictures.
            return codec != AV_CODEC_ID_AV1 || String(cString: decoder.pointee.name) != "av1"
        }
    }

    /// The decoders of the installed FFmpeg. The corresponding C function is `av_codec_iterate`.
    static var all: some Sequence<UnsafePointer<AVCodec>> {
        sequence(state: UnsafeMutableRawPointer?.none) { av_codec_iterate(&$0) }.lazy.filter { av_codec_is_decoder($0) != 0 }
    }
}
