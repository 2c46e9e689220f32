import CKioskFFmpeg
import Glibc
import KioskPlatform
import Synchronization

/// How the decoder of a track is opened, in software or as a hardware decoder; kept while the track is decoded, because hardware may fail
/// in mid-item. Owns a copy of the stream's parameters.
struct DecoderPlan: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    private let parameters: UnsafeMutablePointer<AVCodecParameters>
    let timeBase: AVRational
    let source: String
    let threads: Int
    /// How often both sides are halved by the decoder.
    let reduction: Int
    let maxPixels: Int
    let isPreview: Bool

    /// A plan for a stream; the corresponding C function is `avcodec_parameters_copy`.
    init(
        _ stream: UnsafeMutablePointer<AVStream>, source: String, threads: Int, reduction: Int, maxPixels: Int, isPreview: Bool
    ) {
        parameters = avcodec_parameters_alloc()
        avcodec_parameters_copy(parameters, stream.pointee.codecpar)
        timeBase = stream.pointee.time_base
        (self.source, self.threads, self.reduction) = (source, threads, reduction)
        (self.maxPixels, self.isPreview) = (maxPixels, isPreview)
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVCodecParameters>? = parameters
        avcodec_parameters_free(&pointer)
    }

    /// `h264 1920×1080`.
    var title: String {
        "\(String(cString: avcodec_get_name(parameters.pointee.codec_id))) \(parameters.pointee.width)×\(parameters.pointee.height)"
    }

    /// libavcodec's number of the codec.
    var codecID: AVCodecID { parameters.pointee.codec_id }
    /// FFmpeg's name of the codec.
    var codec: String { String(cString: avcodec_get_name(parameters.pointee.codec_id)) }

    /// Opens the decoder that uses the processor, with so many threads.
    func software(threads: Int) throws(MediaError) -> CodecContext {
        try CodecContext.open(parameters, timeBase: timeBase, source: source) { context in
            shim_codec_use_threads(context, Int32(threads))
            context.pointee.lowres = Int32(reduction)
            if isPreview {
                context.pointee.skip_frame = AVDISCARD_NONKEY
                context.pointee.skip_loop_filter = AVDISCARD_ALL
            }
            // For pictures that are larger than their header says. The decoder counts the pixels before it reduces them.
            context.pointee.max_pixels = Int64(maxPixels)
        }
    }

    /// A hardware decoder with a lease: the one on the shelf, else one that is opened. Blocks, at most for ``HardwareDevice/timeLimit`` and only
    /// until the device is known. Whether it takes the profile and the size shows at the first picture.
    func hardware(_ way: DecoderChoice.Way) throws(SurfaceError) -> CodecContext {
        let identity = DecoderShelf.Identity(parameters.pointee, way: way, maxPixels: maxPixels)
        if let kept = DecoderShelf.take(identity) {
            kept.raw.pointee.pkt_timebase = timeBase
            return kept
        }
        guard let decoder = avcodec_find_decoder_by_name(way.decoder), let context = avcodec_alloc_context3(decoder) else {
            throw SurfaceError(text: "no decoder \(way.decoder)")
        }
        var codec = CodecContext(raw: context)
        let status = avcodec_parameters_to_context(context, parameters)
        guard status >= 0 else { throw SurfaceError(text: describe(averror: status)) }
        context.pointee.pkt_timebase = timeBase
        context.pointee.max_pixels = Int64(maxPixels)
        // A picture that the device refuses is an error, instead of the picture before it once more.
        context.pointee.err_recognition |= AV_EF_EXPLODE
        context.pointee.thread_count = 1
        context.pointee.extra_hw_frames = Int32(PicturePool.extra)
        let isVAAPI = way.method == .vaapi
        context.chooseOnly(isVAAPI ? AV_PIX_FMT_VAAPI : AV_PIX_FMT_DRM_PRIME, orFirst: way.method == .v4l2)
        guard way.method != .v4l2, let node = way.device else {
            var opened = try Self.openBounded(codec, decoder, way.decoder)
            opened.lease = DecoderShelf.begin(identity, name: "v4l2 (\(way.decoder))")
            return opened
        }
        let device: HardwareDevice
        switch HardwareDevice.open(isVAAPI ? AV_HWDEVICE_TYPE_VAAPI : AV_HWDEVICE_TYPE_DRM, node: node) {
        case .open(let opened): device = opened
        case .refused(let reason): throw SurfaceError(text: "\(node): \(reason)")
        }
        context.pointee.hw_device_ctx = device.reference()
        let opened = avcodec_open2(context, decoder, nil)
        guard opened >= 0 else { throw SurfaceError(text: describe(averror: opened)) }
        codec.lease = DecoderShelf.begin(identity, name: "\(way.method.rawValue) (\(device.name))")
        return codec
    }

    /// Decoders of the kernel that this machine does not have, or that did not answer.
    private static let missing = Mutex<[String: String]>([:])

    /// Opens a decoder that looks for its device by itself, on a thread that is left behind where that takes too long. The corresponding C
    /// function is `avcodec_open2`.
    private static func openBounded(
        _ codec: consuming CodecContext, _ decoder: UnsafePointer<AVCodec>, _ name: String
    ) throws(SurfaceError) -> CodecContext {
        if let reason = missing.withLock({ $0[name] }) { throw SurfaceError(text: reason) }
        let work = OpeningWork(codec, decoder)
        Thread("driver") { work.run() }.detach()
        guard let status = work.status(until: .now + HardwareDevice.timeLimit) else {
            let reason = "did not answer for \(Int(saturating: HardwareDevice.timeLimit.seconds)) s"
            missing.withLock { $0[name] = reason }
            throw SurfaceError(text: reason)
        }
        guard status >= 0, let codec = work.takeCodec() else {
            let reason = describe(averror: status)
            if status == shim_averror(ENODEV) || status == shim_averror(EINVAL) { missing.withLock { $0[name] = reason } }
            throw SurfaceError(text: reason)
        }
        return codec
    }
}

/// A decoder that is being opened on a thread of its own, which it belongs to until it is taken.
private final class OpeningWork: @unchecked Sendable {
    // Sendable because `codec` is touched by the thread until `result` is set, then by who asks for it.
    private var codec: CodecContext?
    private let decoder: UnsafePointer<AVCodec>
    private let result = Monitor<Int32?>(nil)

    init(_ codec: consuming CodecContext, _ decoder: UnsafePointer<AVCodec>) {
        self.codec = consume codec
        self.decoder = decoder
    }

    func run() {
        let status: Int32 = if let raw = codec?.raw { avcodec_open2(raw, decoder, nil) } else { -1 }
        result.signal { $0 = status }
    }

    func status(until deadline: HostTime) -> Int32? { result.wait(until: deadline) { $0 } }

    func takeCodec() -> CodecContext? { codec.take() }
}

extension UnsafeMutablePointer<AVCodecContext> {
    /// Has libavcodec decode into pictures of `format` only: where a device does not take a stream, libavcodec would go on in software by
    /// itself, on one thread. `orFirst` takes whatever is offered first where `format` is not.
    fileprivate func chooseOnly(_ format: AVPixelFormat, orFirst: Bool) {
        pointee.opaque = UnsafeMutableRawPointer(bitPattern: Int(format.rawValue) << 1 | (orFirst ? 1 : 0))
        pointee.get_format = { context, formats in
            guard let context, let formats else { return AV_PIX_FMT_NONE }
            let wish = Int(bitPattern: context.pointee.opaque)
            var format = formats
            while format.pointee != AV_PIX_FMT_NONE {
                if Int(format.pointee.rawValue) == wish >> 1 { return format.pointee }
                format += 1
            }
            return wish & 1 == 1 ? formats.pointee : AV_PIX_FMT_NONE
        }
    }
}

extension CodecContext {
    /// Opens the software decoder for a stream's parameters. The corresponding C function is `avcodec_open2`.
    static func open(
        _ parameters: UnsafePointer<AVCodecParameters>, timeBase: AVRational, source: String,
        configure: (UnsafeMutablePointer<AVCodecContext>) -> Void = { _ in }
    ) throws(MediaError) -> CodecContext {
        let identifier = parameters.pointee.codec_id
        guard let decoder = avcodec_find_decoder(identifier), let context = avcodec_alloc_context3(decoder) else {
            throw MediaError(source, .unsupportedCodec(String(cString: avcodec_get_name(identifier))))
        }
        let codec = CodecContext(raw: context)
        var status = avcodec_parameters_to_context(context, parameters)
        context.pointee.pkt_timebase = timeBase  // without it priming and padding are not trimmed
        configure(context)
        if status >= 0 { status = avcodec_open2(context, decoder, nil) }
        guard status >= 0 else {
            throw MediaError(source, .failed("its decoder \(String(cString: avcodec_get_name(identifier))): \(describe(averror: status))"))
        }
        return codec
    }
}
