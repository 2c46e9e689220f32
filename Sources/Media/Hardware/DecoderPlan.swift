import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// A plan for opening a track's decoder, in software or in hardware. It lives as long as the track is decoded, because hardware may fail in
/// mid-item. Owns a copy of the stream's parameters.
struct DecoderPlan: ~Copyable, @unchecked Sendable {
    // Sendable because only its single owner uses the pointer.
    private let parameters: UnsafeMutablePointer<AVCodecParameters>
    let timeBase: AVRational
    let source: String
    let threads: Int
    /// The number of times that the decoder halves both sides.
    let reduction: Int
    let maxPixels: Int
    let isPreview: Bool
    /// Whether pictures are cropped: they are then decoded into ordinary memory.
    let isCropped: Bool
    /// Whether the decoder makes pictures from the fields of interlaced frames.
    let makesPictures: Bool

    /// Creates a plan for a stream. The corresponding C function is `avcodec_parameters_copy`.
    init(
        _ stream: UnsafeMutablePointer<AVStream>, source: String, threads: Int, reduction: Int, maxPixels: Int, isPreview: Bool,
        isCropped: Bool = false, makesPictures: Bool = true
    ) {
        parameters = avcodec_parameters_alloc()
        avcodec_parameters_copy(parameters, stream.pointee.codecpar)
        timeBase = stream.pointee.time_base
        (self.source, self.threads, self.reduction) = (source, threads, reduction)
        (self.maxPixels, self.isPreview, self.isCropped, self.makesPictures) = (maxPixels, isPreview, isCropped, makesPictures)
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
    var shape: String { DecoderChoice.Track(parameters.pointee).shape }
    /// FFmpeg's name of the codec.
    var codec: String { String(cString: avcodec_get_name(parameters.pointee.codec_id)) }

    /// Opens the software decoder with this number of threads.
    func software(threads: Int) throws(MediaError) -> CodecContext {
        var memory: DecoderMemory?
        var codec = try CodecContext.open(parameters, timeBase: timeBase, source: source) { context in
            shim_codec_use_threads(context, Int32(threads))
            context.pointee.lowres = Int32(reduction)
            if isPreview {
                context.pointee.skip_frame = AVDISCARD_NONKEY
                context.pointee.skip_loop_filter = AVDISCARD_ALL
            }
            // For pictures that are larger than the header says. The decoder counts the pixels before it reduces the picture.
            context.pointee.max_pixels = Int64(maxPixels)
            if !isPreview, !isCropped { memory = context.drawIntoPlanes() }
        }
        codec.memory = memory
        return codec
    }

    /// Returns a hardware decoder with a lease: the one on the shelf, or a new one. Blocks for at most ``HardwareDevice/timeLimit``, and
    /// only until the device is known. Only the first picture shows whether the decoder takes the profile and the size.
    func hardware(_ way: DecoderChoice.Way) throws(SurfaceError) -> CodecContext {
        let identity = DecoderShelf.Identity(parameters.pointee, way: way, maxPixels: maxPixels, makesPictures: makesPictures)
        if let kept = DecoderShelf.take(identity) {
            kept.raw.pointee.pkt_timebase = timeBase
            return kept
        }
        if DriverCall.hangs(way.driver) { throw SurfaceError(text: "its driver has not answered since it was called last") }
        guard let decoder = avcodec_find_decoder_by_name(way.decoder), let context = avcodec_alloc_context3(decoder) else {
            throw SurfaceError(text: "no decoder \(way.decoder)")
        }
        var codec = CodecContext(raw: context)
        let status = avcodec_parameters_to_context(context, parameters)
        guard status >= 0 else { throw SurfaceError(text: averrorText(status)) }
        context.pointee.pkt_timebase = timeBase
        context.pointee.max_pixels = Int64(maxPixels)
        // If the device refuses a picture, libavcodec returns an error and does not repeat the one before.
        context.pointee.err_recognition |= AV_EF_EXPLODE
        context.pointee.thread_count = 1
        context.pointee.extra_hw_frames = Int32(PicturePool.extra)
        let isVAAPI = way.method == .vaapi
        context.chooseOnly(isVAAPI ? AV_PIX_FMT_VAAPI : AV_PIX_FMT_DRM_PRIME, orFirst: way.method == .v4l2)
        guard way.method != .v4l2, let node = way.device else {
            // Until the decoder has started: see CodecContext.receive.
            context.pointee.pix_fmt = AV_PIX_FMT_NONE
            av_opt_set_int(context.pointee.priv_data, "num_capture_buffers", Int64(PicturePool.ofV4L2), 0)
            codec.lease = DecoderShelf.begin(identity, name: "v4l2 (\(way.decoder))", context)
            return try Self.openStateful(codec, decoder, way.decoder)
        }
        let device: HardwareDevice
        do throws(SurfaceError) {
            device = try HardwareDevice.open(isVAAPI ? AV_HWDEVICE_TYPE_VAAPI : AV_HWDEVICE_TYPE_DRM, node: node)
        } catch {
            throw SurfaceError(text: "\(node): \(error.text)")
        }
        if parameters.pointee.isInterlaced, makesPictures, !device.deinterlaces {
            throw SurfaceError(text: "it does not deinterlace, and the stream is interlaced")
        }
        context.pointee.hw_device_ctx = device.reference()
        codec.lease = DecoderShelf.begin(identity, name: "\(way.method.rawValue) (\(device.name))", context)
        // HEVC codes each field as a separate frame of half the height.
        codec.lease?.deinterlaces = makesPictures && device.deinterlaces && codecID != AV_CODEC_ID_HEVC
        let opened = codec.open(decoder)
        guard opened >= 0 else { throw SurfaceError(text: codec.reason(opened)) }
        return codec
    }

    /// The kernel decoders that this machine lacks, with the reasons.
    private static let missing = Mutex<[String: String]>([:])

    /// Forgets the missing decoders, so that kiosk tries them again.
    static func forgetMissing() { missing.withLock { $0 = [:] } }

    /// Sets the colours of a V4L2 decoder's picture from the stream, because libavcodec only guesses them from the driver.
    func describeColours(of frame: UnsafeMutablePointer<AVFrame>) {
        let said = parameters.pointee
        if said.color_range != AVCOL_RANGE_UNSPECIFIED { frame.pointee.color_range = said.color_range }
        if said.color_space != AVCOL_SPC_UNSPECIFIED { frame.pointee.colorspace = said.color_space }
        if said.color_primaries != AVCOL_PRI_UNSPECIFIED { frame.pointee.color_primaries = said.color_primaries }
        if said.color_trc != AVCOL_TRC_UNSPECIFIED { frame.pointee.color_trc = said.color_trc }
    }

    /// Opens a decoder that finds its device by itself. Remembers if it found none.
    private static func openStateful(
        _ codec: consuming CodecContext, _ decoder: UnsafePointer<AVCodec>, _ name: String
    ) throws(SurfaceError) -> CodecContext {
        if let reason = missing.withLock({ $0[name] }) { throw SurfaceError(text: reason) }
        let status = codec.open(decoder)
        guard status >= 0 else {
            let reason = codec.reason(status)
            if status == shim_averror(ENODEV) || status == shim_averror(EINVAL) { missing.withLock { $0[name] = reason } }
            throw SurfaceError(text: reason)
        }
        return codec
    }
}

extension UnsafeMutablePointer<AVCodecContext> {
    /// Restricts libavcodec to pictures of `format`. If a device does not take a stream, libavcodec would otherwise continue in software,
    /// on one thread. `orFirst` takes the first format offered if `format` is not among them.
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
        context.pointee.pkt_timebase = timeBase  // without this, FFmpeg does not trim priming and padding
        configure(context)
        if status >= 0 { status = avcodec_open2(context, decoder, nil) }
        guard status >= 0 else {
            throw MediaError(source, .failed("its decoder \(String(cString: avcodec_get_name(identifier))): \(averrorText(status))"))
        }
        return codec
    }
}

extension VideoDecoder {
    /// Opens the decoder of a stream within `memory` bytes of pictures. If they would take more, it uses fewer threads. Then it decodes at
    /// a half, a quarter or an eighth of the size, if the codec can (JPEG).
    ///
    /// - Parameters:
    ///   - wish: whether to try hardware first. Blocks for its devices, at most ``HardwareDevice/timeLimit`` for each.
    ///   - preview: the size of the drawn previews, for cheap pictures of key frames only. The decoder skips all other frames and the
    ///     deblocking filter. It decodes at the smallest size that is enough.
    /// - Throws: ``MediaError`` if the pictures do not fit even so, or libavcodec has no decoder.
    static func open(
        _ stream: UnsafeMutablePointer<AVStream>, of format: FormatContext, source: String, threads: Int, memory: Int,
        wish: DecoderWish = .software, preview: (width: Int, height: Int)? = nil
    ) throws(MediaError) -> VideoDecoder {
        let parameters = stream.pointee.codecpar.pointee
        let isStill = format.isStill
        // Each thread holds a picture, so a machine short of memory uses fewer threads.
        let threads = (1...max(1, threads)).last {
            PictureMemory(parameters, isStill: isStill, threads: $0).bytes(reducedBy: 0) <= memory
        }
        let picture = PictureMemory(parameters, isStill: isStill, threads: threads ?? 1)
        let reductions = avcodec_find_decoder(parameters.codec_id).map { Int($0.pointee.max_lowres) } ?? 0
        let least = preview.map { picture.reduction(to: $0, atMost: reductions) } ?? 0
        guard let reduction = (least...reductions).first(where: { picture.bytes(reducedBy: $0) <= memory }) else {
            let megabytes = (picture.bytes(reducedBy: reductions) - 1) >> 20 + 1
            throw MediaError(source, .pictureTooLarge(width: picture.width, height: picture.height, megabytes: megabytes))
        }
        let geometry = TrackGeometry(stream, of: format)
        let plan = DecoderPlan(
            stream, source: source, threads: threads ?? 1, reduction: reduction,
            maxPixels: picture.pixels(within: memory, reducedBy: reduction), isPreview: preview != nil, isCropped: geometry.crop != nil,
            makesPictures: wish.makesPictures)
        let isSoftware = isStill || format.isImage || preview != nil || geometry.crop != nil
        let choice = isSoftware ? DecoderChoice.software : DecoderChoice(parameters, wish, source: source, memory: memory)
        var rate = av_guess_frame_rate(format.raw, stream, nil)
        // For interlaced H.264 in a transport stream, libavformat reports the field rate as the frame rate.
        let average = stream.pointee.avg_frame_rate
        if parameters.isInterlaced, let frames = average.plausibleFrameRate, let guess = rate.plausibleFrameRate,
            abs(guess / frames - 2) < 0.01
        {
            rate = average
        }
        var decoder = try VideoDecoder(
            plan, geometry: geometry,
            nominalDuration: rate.frameDuration, choice: choice, wish: wish)
        decoder.wouldUseDevice = !isSoftware && DecoderChoice.wouldUseDevice(parameters, wish, memory: memory)
        return decoder
    }
}

extension DecoderChoice {
    /// Creates the choice for this machine.
    init(_ parameters: AVCodecParameters, _ wish: DecoderWish, source: String, memory: Int) {
        if wish.setting != .software, let failure = wish.failure ?? HardwareHistory.failure(source) {
            self.init(obstacle: failure)
            return
        }
        if wish.setting == .automatic, SurfaceUse.isPointless {
            self.init(obstacle: "the display cannot show the pictures of hardware decoders")
            return
        }
        self.init(
            Track(parameters), setting: wish.setting, offers: wish.setting == .software ? Offers() : Offers(parameters.codec_id),
            nodes: wish.setting == .software ? Nodes() : Nodes(device: wish.device), memory: memory)
    }
}
