import CKioskFFmpeg
import Glibc
import KioskPlatform

/// The VAAPI encoders: libavcodec's `h264_vaapi` and `hevc_vaapi`. They take pictures in surfaces of their device, so kiosk copies each
/// picture into one, as NV12.
///
/// A driver shows its limits late: some open an encoder and fail at the first picture. So kiosk first opens an encoder for a gray picture.
/// It opens one for the film only if that worked.
enum SurfaceEncoder {
    /// The surfaces of an encoder. Two pictures wait for their reference, two are in the device, and one is being filled. libavcodec may
    /// hold the rest on the way.
    static let poolSize = 8

    /// Opens `codec`, the encoder of `way`, on its device. Blocks.
    static func open(
        _ codec: UnsafePointer<AVCodec>, _ way: EncoderChoice.Way, _ video: FilmFormat.Video
    ) throws(SurfaceError) -> UnsafeMutablePointer<AVCodecContext> {
        guard let node = way.device, access(node, F_OK) == 0 else {
            throw SurfaceError(text: "there is no \(way.device ?? "device for it (/dev/dri/renderD*)")")
        }
        let device = try HardwareDevice.open(AV_HWDEVICE_TYPE_VAAPI, node: node)
        let opening = Opening()
        opening.open(codec, device, video)
        guard let context = opening.context else { throw SurfaceError(text: opening.reason) }
        return context
    }

    /// Copies a picture into a surface and sends it. The corresponding C functions are `av_hwframe_get_buffer`, `av_hwframe_transfer_data`
    /// and `avcodec_send_frame`.
    static func upload(_ frame: UnsafeMutablePointer<AVFrame>, to context: UnsafeMutablePointer<AVCodecContext>) -> Int32 {
        let surface = ScratchFrame()
        var status = av_hwframe_get_buffer(context.pointee.hw_frames_ctx, surface.raw, 0)
        if status >= 0 { status = av_hwframe_transfer_data(surface.raw, frame, 0) }
        guard status >= 0 else { return status }
        surface.raw.pointee.pts = frame.pointee.pts
        return avcodec_send_frame(context, surface.raw)
    }

    /// The result of opening an encoder.
    private final class Opening {
        var context: UnsafeMutablePointer<AVCodecContext>?
        var reason = ""

        /// Tries the profiles, entry points and rate controls beyond libavcodec's choice, if the driver does not take that.
        func open(_ codec: UnsafePointer<AVCodec>, _ device: HardwareDevice, _ video: FilmFormat.Video) {
            var (settings, last) = (Settings(), Int32(0))
            while true {
                var (tried, status) = make(codec, device, video, settings)
                if let context = tried.take() {
                    let hasHeaders = context.pointee.extradata_size > 0
                    if hasHeaders { status = Self.encodeGray(context) }
                    context.free()
                    // The MP4 index needs them.
                    guard hasHeaders else { return reason = "its driver takes no headers for an MP4 file" }
                }
                if status >= 0 { break }
                // A missing profile or rate control says less than the error before or after it.
                if reason.isEmpty || last == shim_averror(ENOSYS) { reason = Self.text(status) }
                last = status
                guard let next = settings.next(after: status, codec.pointee.id) else { return }
                settings = next
            }
            let (made, status) = make(codec, device, video, settings)
            context = made
            if made == nil { reason = Self.text(status) }
        }

        private func make(
            _ codec: UnsafePointer<AVCodec>, _ device: HardwareDevice, _ video: FilmFormat.Video, _ settings: Settings
        ) -> (UnsafeMutablePointer<AVCodecContext>?, Int32) {
            guard let context = avcodec_alloc_context3(codec) else { return (nil, shim_averror(ENOMEM)) }
            EncoderChoice.configure(
                context, codec, video, name: String(cString: codec.pointee.name), quantiser: settings.quantiser)
            if settings.isLowPower { _ = av_opt_set(context, "low_power", "1", AV_OPT_SEARCH_CHILDREN) }
            if let profile = settings.profile { context.pointee.profile = profile }
            context.pointee.hw_frames_ctx = Self.pool(device, width: context.pointee.width, height: context.pointee.height)
            var status = context.pointee.hw_frames_ctx == nil ? shim_averror(ENOMEM) : 0
            if status >= 0 { status = av_hwframe_ctx_init(context.pointee.hw_frames_ctx) }
            if status >= 0 { status = avcodec_open2(context, codec, nil) }
            if status >= 0 { return (context, 0) }
            context.free()
            return (nil, status)
        }

        private static func pool(_ device: HardwareDevice, width: Int32, height: Int32) -> UnsafeMutablePointer<AVBufferRef>? {
            var reference = device.reference()
            defer { av_buffer_unref(&reference) }
            guard let reference, let frames = av_hwframe_ctx_alloc(reference) else { return nil }
            let description = UnsafeMutableRawPointer(frames.pointee.data).assumingMemoryBound(to: AVHWFramesContext.self)
            (description.pointee.format, description.pointee.sw_format) = (AV_PIX_FMT_VAAPI, AV_PIX_FMT_NV12)
            (description.pointee.width, description.pointee.height) = (width, height)
            description.pointee.initial_pool_size = Int32(SurfaceEncoder.poolSize)
            return frames
        }

        /// Encodes one picture with an encoder that gets no other.
        private static func encodeGray(_ context: UnsafeMutablePointer<AVCodecContext>) -> Int32 {
            let packet = Packet()
            guard let frame = ScratchFrame(AV_PIX_FMT_NV12, width: Int(context.pointee.width), height: Int(context.pointee.height)) else {
                return shim_averror(ENOMEM)
            }
            frame.raw.pointee.pts = 0
            memset(frame.raw.pointee.data.0!, 128, Int(frame.raw.pointee.linesize.0 * context.pointee.height))
            memset(frame.raw.pointee.data.1!, 128, Int(frame.raw.pointee.linesize.1 * (context.pointee.height / 2)))
            var status = SurfaceEncoder.upload(frame.raw, to: context)
            if status >= 0 { status = avcodec_send_frame(context, nil) }
            if status >= 0 { status = avcodec_receive_packet(context, packet.raw) }
            return status >= 0 && packet.raw.pointee.size == 0 ? kAVERROR_INVALIDDATA : status
        }

        private static func text(_ status: Int32) -> String {
            status == shim_averror(ENOSYS) ? "its driver does not encode this" : averrorText(status)
        }
    }

    /// The profile and rate settings for libavcodec. It queries the driver, and refuses unsupported ones.
    private struct Settings {
        /// The profile; nil for the highest that the driver knows, though it may only decode it.
        var profile: Int32?
        /// Whether to use the fixed-function encoder of a device with two. Debian's driver for newer Intel devices has only that.
        var isLowPower = false
        var quantiser = true

        /// Returns the settings to try after `status`; nil for none.
        func next(after status: Int32, _ codec: AVCodecID) -> Settings? {
            var next = self
            if status == shim_averror(ENOSYS), profile == nil, codec == AV_CODEC_ID_H264 {
                next.profile = FF_PROFILE_H264_CONSTRAINED_BASELINE
            } else if status == shim_averror(ENOSYS), !isLowPower {
                (next.profile, next.isLowPower) = (nil, true)
            } else if status == shim_averror(EINVAL), quantiser {
                next.quantiser = false
            } else {
                return nil
            }
            return next
        }
    }
}
