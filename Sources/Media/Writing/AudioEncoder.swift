import CKioskFFmpeg
import Glibc

/// Encodes sound as AAC: collects interleaved samples until they fill a frame of the encoder. The time of a sample is its number from the
/// beginning.
final class AudioEncoder: @unchecked Sendable {
    // Sendable because only the film writer that made it uses it, on one thread at a time.
    let context: UnsafeMutablePointer<AVCodecContext>
    /// The next packet, after ``receive()`` has returned true.
    let packet: UnsafeMutablePointer<AVPacket>
    private let path: String
    private let frame: UnsafeMutablePointer<AVFrame>
    private let channelCount: Int
    private let frameSize: Int
    /// The samples received for each channel, and the number of them in `frame`.
    private(set) var position = 0
    private var filled = 0

    static func open(_ audio: FilmFormat.Audio, path: String) throws(FilmError) -> AudioEncoder {
        guard let codec = avcodec_find_encoder_by_name("aac") else { throw FilmError(path, .noEncoder(codec: "AAC", tried: [])) }
        guard let context = avcodec_alloc_context3(codec) else { throw FilmError(path, errno: ENOMEM) }
        context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
        context.pointee.sample_rate = Int32(min(max(audio.samples.sampleRate, 1), 1_000_000))
        context.pointee.time_base = shim_rational(1, context.pointee.sample_rate)
        context.pointee.bit_rate = Int64(min(max(audio.bitRate, 16_000), 1_000_000))
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        av_channel_layout_default(&context.pointee.ch_layout, Int32(min(max(audio.samples.channelCount, 1), 64)))
        let status = avcodec_open2(context, codec, nil)
        guard status >= 0 else {
            context.free()
            throw FilmError(path, .noEncoder(codec: "AAC", tried: ["aac: \(averrorText(status))"]))
        }
        let encoder = AudioEncoder(context, channelCount: audio.samples.channelCount, path: path)
        guard encoder.makeRoom() >= 0 else { throw FilmError(path, errno: ENOMEM) }
        return encoder
    }

    private init(_ context: UnsafeMutablePointer<AVCodecContext>, channelCount: Int, path: String) {
        (self.context, self.channelCount, self.path) = (context, channelCount, path)
        frameSize = context.pointee.frame_size > 0 ? Int(context.pointee.frame_size) : 1024
        packet = av_packet_alloc()
        frame = av_frame_alloc()
        frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        frame.pointee.sample_rate = context.pointee.sample_rate
        av_channel_layout_copy(&frame.pointee.ch_layout, &context.pointee.ch_layout)
    }

    deinit {
        context.free()
        packet.free()
        frame.free()
    }

    private func makeRoom() -> Int32 {
        frame.pointee.nb_samples = Int32(frameSize)
        return frame.pointee.buf.0 == nil ? av_frame_get_buffer(frame, 0) : av_frame_make_writable(frame)
    }

    /// Adds interleaved `samples` from sample number `start` of each channel on, as far as there is room. nil is silence of `count`
    /// samples. Returns the number added. If ``isFull`` is true, call ``send()`` first.
    func fill(_ samples: UnsafePointer<Float>?, from start: Int, count: Int) -> Int {
        let taken = min(count - start, frameSize - filled)
        for channel in 0..<channelCount {
            guard let plane = frame.pointee.extended_data[channel] else { continue }
            let target = UnsafeMutableRawPointer(plane).assumingMemoryBound(to: Float.self) + filled
            if let samples {
                for index in 0..<taken { target[index] = samples[(start + index) * channelCount + channel] }
            } else {
                target.update(repeating: 0, count: taken)
            }
        }
        filled += taken
        position += taken
        return taken
    }

    /// Whether the samples fill a frame of the encoder.
    var isFull: Bool { filled == frameSize }

    /// Sends the collected samples to the encoder.
    func send() throws(FilmError) {
        guard filled > 0 else { return }
        frame.pointee.nb_samples = Int32(filled)
        frame.pointee.pts = Int64(position - filled)
        try check(avcodec_send_frame(context, frame))
        filled = 0
        guard makeRoom() >= 0 else { throw FilmError(path, errno: ENOMEM) }
    }

    /// Marks the end of the samples.
    func sendEnd() throws(FilmError) {
        let status = avcodec_send_frame(context, nil)
        if status != kAVERROR_EOF { try check(status) }
    }

    /// Receives the next packet in ``packet``; returns false if the encoder needs samples first, or after the last packet.
    func receive() throws(FilmError) -> Bool {
        let status = avcodec_receive_packet(context, packet)
        if status == kAVERROR_EAGAIN || status == kAVERROR_EOF { return false }
        try check(status)
        return true
    }

    private func check(_ status: Int32) throws(FilmError) {
        if status < 0 { throw FilmError(path, .encoderFailed("aac: \(averrorText(status))")) }
    }
}
