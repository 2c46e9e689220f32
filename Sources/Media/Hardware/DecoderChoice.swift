import KioskVocabulary

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
struct DecoderChoice: Hashable {
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

    /// What has to be known of a track.
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

    /// Which device nodes there are.
    struct Nodes: Hashable {
        /// Of graphics processors, in the order of their numbers.
        var render: [String] = []
        /// Whether there is one of V4L2 (/dev/video*; a webcam has one, too).
        var hasVideo = false
        var isEmpty: Bool { render.isEmpty && !hasVideo }
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
                    : track.isInterlaced ? "it is interlaced" : "no device here is one for \(track.codec)"
            }
        }
    }
}
