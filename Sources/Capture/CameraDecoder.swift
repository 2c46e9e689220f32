import CKioskFFmpeg
import KioskMedia

/// Decodes a camera's JPEG, H.264 or H.265, picture by picture. The corresponding C library is libavcodec.
final class CameraDecoder {
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>

    /// Makes a decoder; nil if FFmpeg has none for the codec.
    init?(_ codec: AVCodecID) {
        guard let decoder = avcodec_find_decoder(codec), let context = avcodec_alloc_context3(decoder) else { return nil }
        // Frame threads would delay the pictures.
        context.pointee.thread_count = codec == AV_CODEC_ID_MJPEG ? 1 : 0
        context.pointee.thread_type = FF_THREAD_SLICE
        context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        guard avcodec_open2(context, decoder, nil) >= 0 else {
            var pointer: UnsafeMutablePointer<AVCodecContext>? = context
            avcodec_free_context(&pointer)
            return nil
        }
        self.context = context
        packet = av_packet_alloc()
    }

    deinit {
        var (context, packet): (UnsafeMutablePointer<AVCodecContext>?, UnsafeMutablePointer<AVPacket>?) = (context, packet)
        avcodec_free_context(&context)
        av_packet_free(&packet)
    }

    /// Decodes a copy of `bytes`; nil for a missing or damaged picture. With a bad cable, cameras send half of a picture.
    func decode(_ bytes: UnsafeRawBufferPointer) -> VideoFrame? {
        guard let base = bytes.baseAddress, bytes.count > 0, av_new_packet(packet, Int32(clamping: bytes.count)) >= 0 else { return nil }
        defer { av_packet_unref(packet) }
        packet.pointee.data.update(from: base.assumingMemoryBound(to: UInt8.self), count: Int(packet.pointee.size))
        guard avcodec_send_packet(context, packet) >= 0, let frame = av_frame_alloc() else { return nil }
        guard avcodec_receive_frame(context, frame) >= 0 else {
            var pointer: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&pointer)
            return nil
        }
        let picture = VideoFrame(adopting: frame)
        if picture.isDamaged { return nil }
        return picture
    }
}
