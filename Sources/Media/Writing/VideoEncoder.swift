import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// Encodes pictures: brings them into the size and format that the encoder takes where they have another one, and keeps their times, which
/// may be any that grow. Times are in ticks of the encoder's time base.
final class VideoEncoder: @unchecked Sendable {
    // Sendable because only the film writer that has made it uses it, on one thread at a time.
    /// Of every encoder that takes it.
    static let timeBase = shim_rational(1, 90000)

    /// FFmpeg's name of the encoder in use.
    let name: String
    /// What is to be known of the choice; nil for nothing.
    private(set) var note: String?
    /// The next packet, after ``receive()`` has returned true.
    private(set) var packet: UnsafeMutablePointer<AVPacket>
    /// Of the packets' times.
    let packetTimeBase: AVRational
    private let isVAAPI: Bool
    private let calls: EncoderCalls
    private let path: String
    /// What it failed with. It is not called any more then: libavcodec's encoders of VAAPI end the process when they are.
    private var failure: FilmError?
    /// References a picture that is right as it is.
    private let reference: UnsafeMutablePointer<AVFrame>
    /// A picture that is copied or converted.
    private let own: UnsafeMutablePointer<AVFrame>
    private var converter: OpaquePointer?
    private var converts: Conversion?
    private var lastTime: Int64?
    /// Whether it has been given a picture.
    private var hasBegun = false
    /// How long pictures last that are in the encoder, by their times.
    private var durations: [Int64: Int64] = [:]

    private struct Conversion: Equatable {
        var width: Int32, height: Int32, format: Int32, matrix: UInt32, isFullRange: Bool
    }

    /// The first encoder of `video`'s codec that can be opened.
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

    /// Opens one of them; nil where the installed FFmpeg has it not. Blocks; where it is hardware, for a few seconds at most.
    static func open(_ way: EncoderChoice.Way, _ video: FilmFormat.Video, path: String) throws(SurfaceError) -> VideoEncoder? {
        guard let codec = avcodec_find_encoder_by_name(way.encoder) else { return nil }
        let context =
            way.isVAAPI ? try SurfaceEncoder.open(codec, way, video) : avcodec_alloc_context3(codec)
        guard let context else { throw SurfaceError(text: averrorText(shim_averror(ENOMEM))) }
        if !way.isVAAPI { EncoderChoice.configure(context, codec, video, name: way.encoder) }
        let encoder = VideoEncoder(context, way, isLive: video.isLive, path: path)
        let status = way.isVAAPI ? 0 : encoder.calls.open(codec)
        guard status >= 0 else {
            // libavcodec has looked at every one of them.
            let isNowhere = way.isV4L2 && status == shim_averror(EINVAL)
            throw SurfaceError(text: isNowhere ? "no device (/dev/video*) encodes this" : encoder.calls.reason(status))
        }
        encoder.describe()
        return encoder
    }

    private init(_ context: UnsafeMutablePointer<AVCodecContext>, _ way: EncoderChoice.Way, isLive: Bool, path: String) {
        (name, self.path) = (way.encoder, path)
        calls = EncoderCalls(context, driver: way.isHardware ? way.driver : nil, isLive: isLive)
        isVAAPI = way.isVAAPI
        packetTimeBase = context.pointee.time_base
        packet = av_packet_alloc()
        reference = av_frame_alloc()
        own = av_frame_alloc()
    }

    /// Notes what pictures it takes, once it is open.
    private func describe() {
        own.pointee.format = isVAAPI ? AV_PIX_FMT_NV12.rawValue : context.pointee.pix_fmt.rawValue
        own.pointee.width = context.pointee.width
        own.pointee.height = context.pointee.height
        own.pointee.colorspace = context.pointee.colorspace
        own.pointee.color_range = context.pointee.color_range
    }

    /// The encoder, for the header of the file: before a picture goes in.
    var context: UnsafeMutablePointer<AVCodecContext> { calls.context }

    deinit {
        packet.free()
        reference.free()
        own.free()
        sws_freeContext(converter)
    }

    private func ticks(_ time: MediaTime) -> Int64 {
        av_rescale_q(time.nanoseconds, shim_rational(1, 1_000_000_000), packetTimeBase)
    }

    /// Puts in a picture that is shown from `time` on, for `duration` where that is known; false where that is not later than the last one's:
    /// it is left out then.
    func send(_ frame: borrowing VideoFrame, at time: MediaTime, duration: MediaTime?) throws(FilmError) -> Bool {
        if frame.surface != nil {
            guard let plain = frame.downloaded() else {
                throw FilmError(path, .unsupportedPicture("the hardware decoder's driver does not let its pictures be read"))
            }
            return try send(plain, at: time, duration: duration)
        }
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

    /// The same with planes in memory, 8-bit 4:2:0 of the encoder's size: luma, then both chroma planes, each with the bytes from one row to the
    /// next.
    func send(
        planes: (UnsafePointer<UInt8>, UnsafePointer<UInt8>, UnsafePointer<UInt8>), strides: (Int, Int, Int), at time: MediaTime,
        duration: MediaTime?
    ) throws(FilmError) -> Bool {
        guard let ticks = accept(time, duration) else { return false }
        try makeWritable()
        let source = ScratchFrame()
        source.raw.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        (source.raw.pointee.width, source.raw.pointee.height) = (own.pointee.width, own.pointee.height)
        source.raw.pointee.colorspace = own.pointee.colorspace
        source.raw.pointee.data.0 = UnsafeMutablePointer(mutating: planes.0)
        source.raw.pointee.data.1 = UnsafeMutablePointer(mutating: planes.1)
        source.raw.pointee.data.2 = UnsafeMutablePointer(mutating: planes.2)
        source.raw.pointee.linesize.0 = Int32(strides.0)
        source.raw.pointee.linesize.1 = Int32(strides.1)
        source.raw.pointee.linesize.2 = Int32(strides.2)
        // Hardware encoders take NV12.
        if own.pointee.format == AV_PIX_FMT_YUV420P.rawValue { av_frame_copy(own, source.raw) } else { try convert(source.raw) }
        try send(own, at: ticks)
        return true
    }

    /// The same with XRGB8888 pixels in memory, of the encoder's size.
    func send(pixels: UnsafeRawPointer, stride: Int, at time: MediaTime, duration: MediaTime?) throws(FilmError) -> Bool {
        guard let ticks = accept(time, duration) else { return false }
        try makeWritable()
        try prepareConverter(
            Conversion(
                width: own.pointee.width, height: own.pointee.height, format: kAV_PIX_FMT_XRGB8888.rawValue,
                matrix: AVCOL_SPC_RGB.rawValue, isFullRange: true))
        var source: [UnsafePointer<UInt8>?] = [pixels.assumingMemoryBound(to: UInt8.self), nil, nil, nil]
        var strides: [Int32] = [Int32(stride), 0, 0, 0]
        let (data, linesizes) = (own.pointee.data, own.pointee.linesize)
        var planes: [UnsafeMutablePointer<UInt8>?] = [data.0, data.1, data.2, data.3]
        var lines: [Int32] = [linesizes.0, linesizes.1, linesizes.2, linesizes.3]
        let drawn = sws_scale(converter, &source, &strides, 0, own.pointee.height, &planes, &lines)
        if drawn < 0 { throw FilmError(path, .unsupportedPicture(averrorText(drawn))) }
        try send(own, at: ticks)
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

    /// Sets the converter up for pictures like `wanted`.
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

    /// Draws `source` into the encoder's size and format. The corresponding C function is `sws_scale`.
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
        // What the decoder says of it would bind the encoder.
        frame.pointee.pict_type = AV_PICTURE_TYPE_NONE
        if let failure { throw failure }
        hasBegun = true
        try check(calls.send(frame))
    }

    /// Whether it is not called any more.
    var hasFailed: Bool { failure != nil }

    /// After the last picture.
    func sendEnd() throws(FilmError) {
        if let failure { throw failure }
        // libavcodec's encoders of VAAPI read through a null pointer where there was none.
        if !hasBegun { return }
        let status = calls.send(nil)
        if status != kAVERROR_EOF { try check(status) }
    }

    /// Takes the next packet out, into ``packet``; false where there is none before the next picture goes in, or none any more.
    func receive() throws(FilmError) -> Bool {
        if let failure { throw failure }
        let status = calls.receive(&packet)
        if status == kAVERROR_EAGAIN || status == kAVERROR_EOF { return false }
        try check(status)
        if let duration = durations.removeValue(forKey: packet.pointee.pts) { packet.pointee.duration = duration }
        return true
    }

    private func check(_ status: Int32) throws(FilmError) {
        guard status < 0 else { return }
        let error = FilmError(path, .encoderFailed("\(name): \(calls.reason(status))"))
        failure = error
        throw error
    }
}
