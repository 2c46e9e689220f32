import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// Encodes pictures. It scales and converts them if the encoder takes another size or format. It keeps their times, which only have to
/// grow. Times are in ticks of the encoder's time base.
final class VideoEncoder: @unchecked Sendable {
    // Sendable because only the film writer that made it uses it, on one thread at a time.
    /// The time base of every encoder that takes it.
    static let timeBase = shim_rational(1, 90000)

    /// FFmpeg's name of the encoder in use.
    let name: String
    /// A note about the choice of encoder; nil for none.
    private(set) var note: String?
    /// The next packet, after ``receive()`` has returned true.
    let packet: UnsafeMutablePointer<AVPacket>
    /// The time base of the packets' times.
    let packetTimeBase: AVRational
    private let isVAAPI: Bool
    /// The encoder, for the header of the file, before the first picture.
    let context: UnsafeMutablePointer<AVCodecContext>
    private let path: String
    /// The error that the encoder failed with. It gets no calls afterwards, because libavcodec's VAAPI encoders would end the process.
    private var failure: FilmError?
    /// References a picture that needs no conversion.
    private let reference: UnsafeMutablePointer<AVFrame>
    /// A copied or converted picture.
    private let own: UnsafeMutablePointer<AVFrame>
    private var converter: OpaquePointer?
    private var converts: Conversion?
    private var lastTime: Int64?
    /// Whether a picture has gone in.
    private var hasBegun = false
    /// The durations of the pictures in the encoder, by their times.
    private var durations: [Int64: Int64] = [:]

    private struct Conversion: Equatable {
        var width: Int32, height: Int32, format: Int32, matrix: UInt32, isFullRange: Bool
    }

    /// Opens the first encoder of `video`'s codec that works.
    static func open(_ video: FilmFormat.Video, path: String) throws(FilmError) -> VideoEncoder {
        var tried: [String] = []
        for way in EncoderChoice.ways(video.codec, video.encoder) {
            do throws(SurfaceError) {
                guard let encoder = try open(way, video, path: path) else { continue }
                if video.encoder.setting == .hardware, !way.isHardware {
                    let reason = tried.isEmpty ? "the installed FFmpeg has no hardware encoder for it" : tried.joined(separator: "; ")
                    encoder.note = "its pictures were encoded in software: \(reason)"
                }
                return encoder
            } catch {
                tried.append("\(way.title): \(error.text)")
            }
        }
        throw FilmError(path, .noEncoder(codec: video.codec?.rawValue ?? "h264", tried: tried))
    }

    /// Opens one encoder; returns nil if the installed FFmpeg does not have it. Blocks.
    static func open(_ way: EncoderChoice.Way, _ video: FilmFormat.Video, path: String) throws(SurfaceError) -> VideoEncoder? {
        guard let codec = avcodec_find_encoder_by_name(way.encoder) else { return nil }
        let context =
            way.isVAAPI ? try SurfaceEncoder.open(codec, way, video) : avcodec_alloc_context3(codec)
        guard let context else { throw SurfaceError(text: averrorText(shim_averror(ENOMEM))) }
        if !way.isVAAPI { EncoderChoice.configure(context, codec, video, name: way.encoder) }
        let encoder = VideoEncoder(context, way, path: path)
        let status = way.isVAAPI ? 0 : avcodec_open2(context, codec, nil)
        guard status >= 0 else {
            // libavcodec has tried every device.
            let isNowhere = way.isV4L2 && status == shim_averror(EINVAL)
            throw SurfaceError(text: isNowhere ? "no device (/dev/video*) encodes this" : averrorText(status))
        }
        encoder.describe()
        return encoder
    }

    private init(_ context: UnsafeMutablePointer<AVCodecContext>, _ way: EncoderChoice.Way, path: String) {
        (name, self.path, self.context) = (way.encoder, path, context)
        isVAAPI = way.isVAAPI
        packetTimeBase = context.pointee.time_base
        packet = av_packet_alloc()
        reference = av_frame_alloc()
        own = av_frame_alloc()
    }

    /// Sets the picture format that the opened encoder takes.
    private func describe() {
        own.pointee.format = isVAAPI ? AV_PIX_FMT_NV12.rawValue : context.pointee.pix_fmt.rawValue
        own.pointee.width = context.pointee.width
        own.pointee.height = context.pointee.height
        own.pointee.colorspace = context.pointee.colorspace
        own.pointee.color_range = context.pointee.color_range
    }

    deinit {
        context.free()
        packet.free()
        reference.free()
        own.free()
        sws_freeContext(converter)
    }

    private func ticks(_ time: MediaTime) -> Int64 {
        av_rescale_q(time.nanoseconds, shim_rational(1, 1_000_000_000), packetTimeBase)
    }

    /// Sends a picture shown from `time`, for `duration` if that is known. Returns false if `time` is not later than the last one's, and
    /// then drops the picture.
    func send(_ frame: borrowing VideoFrame, at time: MediaTime, duration: MediaTime?) throws(FilmError) -> Bool {
        guard let ticks = accept(time, duration) else { return false }
        let av = frame.av
        let isRight =
            av.pointee.format == own.pointee.format && av.pointee.width == own.pointee.width && av.pointee.height == own.pointee.height
            && av.pointee.color_range != AVCOL_RANGE_JPEG && av.pointee.crop_left == 0 && av.pointee.crop_top == 0
        if isRight {
            guard av_frame_ref(reference, av) >= 0 else { throw FilmError(path, errno: ENOMEM) }
            defer { av_frame_unref(reference) }
            try send(reference, at: ticks)
        } else {
            try makeWritable()
            try convert(av)
            try send(own, at: ticks)
        }
        return true
    }

    private func accept(_ time: MediaTime, _ duration: MediaTime?) -> Int64? {
        let ticks = ticks(time)
        if let lastTime, ticks <= lastTime { return nil }
        lastTime = ticks
        if let duration { durations[ticks] = self.ticks(time + duration) - ticks }
        return ticks
    }

    private func makeWritable() throws(FilmError) {
        let status = own.pointee.buf.0 == nil ? av_frame_get_buffer(own, 64) : av_frame_make_writable(own)
        guard status >= 0 else { throw FilmError(path, errno: ENOMEM) }
    }

    /// Prepares the converter for pictures like `wanted`.
    private func prepareConverter(_ wanted: Conversion) throws(FilmError) {
        if wanted != converts {
            sws_freeContext(converter)
            converter = sws_getContext(
                wanted.width, wanted.height, AVPixelFormat(wanted.format), own.pointee.width, own.pointee.height,
                AVPixelFormat(own.pointee.format), SWS_BICUBIC, nil, nil, nil)
            converts = wanted
            if let converter {
                let known = wanted.matrix != AVCOL_SPC_UNSPECIFIED.rawValue && wanted.matrix != AVCOL_SPC_RGB.rawValue
                let from = known ? Int32(wanted.matrix) : wanted.height > 576 ? SWS_CS_ITU709 : SWS_CS_ITU601
                let to = own.pointee.colorspace == AVCOL_SPC_BT709 ? SWS_CS_ITU709 : SWS_CS_ITU601
                _ = sws_setColorspaceDetails(
                    converter, sws_getCoefficients(from), wanted.isFullRange ? 1 : 0, sws_getCoefficients(to), 0, 0, 1 << 16, 1 << 16)
            }
        }
        guard converter != nil else {
            let format = av_get_pix_fmt_name(AVPixelFormat(wanted.format)).map { String(cString: $0) } ?? "\(wanted.format)"
            throw FilmError(path, .unsupportedPicture("\(wanted.width)×\(wanted.height) of pixel format \(format)"))
        }
    }

    /// Draws `source` in the encoder's size and format. The corresponding C function is `sws_scale_frame`.
    private func convert(_ source: UnsafeMutablePointer<AVFrame>) throws(FilmError) {
        let wanted = Conversion(
            width: source.pointee.width, height: source.pointee.height, format: source.pointee.format,
            matrix: source.pointee.colorspace.rawValue, isFullRange: source.pointee.color_range == AVCOL_RANGE_JPEG)
        try prepareConverter(wanted)
        let drawn = sws_scale_frame(converter, own, source)
        if drawn < 0 { throw FilmError(path, .unsupportedPicture(averrorText(drawn))) }
    }

    private func send(_ frame: UnsafeMutablePointer<AVFrame>, at ticks: Int64) throws(FilmError) {
        frame.pointee.pts = ticks
        // The decoder's picture type would bind the encoder.
        frame.pointee.pict_type = AV_PICTURE_TYPE_NONE
        if let failure { throw failure }
        hasBegun = true
        try check(put(frame))
    }

    /// Sends a picture by reference or as a copy. The corresponding C function is `avcodec_send_frame`.
    private func put(_ frame: UnsafeMutablePointer<AVFrame>) -> Int32 {
        isVAAPI ? SurfaceEncoder.upload(frame, to: context) : avcodec_send_frame(context, frame)
    }

    /// Whether the encoder has failed and gets no more calls.
    var hasFailed: Bool { failure != nil }

    /// Marks the end of the pictures.
    func sendEnd() throws(FilmError) {
        if let failure { throw failure }
        // libavcodec's VAAPI encoders read through a null pointer if no picture came before the end.
        if !hasBegun { return }
        let status = avcodec_send_frame(context, nil)
        if status != kAVERROR_EOF { try check(status) }
    }

    /// Receives the next packet in ``packet``; returns false if the encoder needs a picture first, or after the last packet.
    func receive() throws(FilmError) -> Bool {
        if let failure { throw failure }
        let status = avcodec_receive_packet(context, packet)
        if status == kAVERROR_EAGAIN || status == kAVERROR_EOF { return false }
        try check(status)
        if let duration = durations.removeValue(forKey: packet.pointee.pts) { packet.pointee.duration = duration }
        return true
    }

    private func check(_ status: Int32) throws(FilmError) {
        guard status < 0 else { return }
        let error = FilmError(path, .encoderFailed("\(name): \(averrorText(status))"))
        failure = error
        throw error
    }
}
