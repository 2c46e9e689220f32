import CFFmpeg
import Platform

/// The decoder of a picture stream: packets in, frames in presentation order out, with times of the container.
struct VideoDecoder: ~Copyable, Sendable {
    private let codec: CodecContext
    private let timeBase: AVRational
    private let trackOrientation: Orientation
    /// How long a frame lasts at the average rate, where the container tells one.
    let nominalDuration: MediaTime?
    private var lastTime: MediaTime?
    private var lastDuration: MediaTime

    /// Errors in a row that a decoder may return before it is taken to have nothing more.
    private static let errorLimit = 64

    /// Opens the decoder of a stream whose pictures may take `memory` bytes. Where they would take more, fewer threads are used, then they
    /// are decoded at a half, a quarter or an eighth of their size by a codec that can (JPEG).
    ///
    /// - Parameter preview: the size that its pictures will be drawn at, where only key frames are wanted and cheapness comes before quality:
    ///   it leaves out all other frames and the deblocking filter, and decodes at the smallest size that is enough.
    /// - Throws: ``MediaError`` where that is not enough, or libavcodec has no such decoder.
    static func open(
        _ stream: UnsafeMutablePointer<AVStream>, of format: borrowing FormatContext, source: String, threads: Int, memory: Int,
        preview: (width: Int, height: Int)? = nil
    ) throws(MediaError) -> VideoDecoder {
        let parameters = stream.pointee.codecpar.pointee
        let isStill = format.isStill
        // Each thread holds a picture of its own: a machine that is short of memory decodes with fewer.
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
        let codec = try CodecContext.open(stream, source: source) { context in
            shim_codec_use_threads(context, Int32(threads ?? 1))
            context.pointee.lowres = Int32(reduction)
            if preview != nil {
                context.pointee.skip_frame = AVDISCARD_NONKEY
                context.pointee.skip_loop_filter = AVDISCARD_ALL
            }
            // For pictures that are larger than their header says. The decoder counts the pixels before it reduces them.
            context.pointee.max_pixels = Int64(picture.pixels(within: memory, reducedBy: reduction))
        }
        var rate = av_guess_frame_rate(format.raw, stream, nil)
        // Of interlaced H.264 in a transport stream libavformat takes the rate of the fields for that of the frames.
        let average = stream.pointee.avg_frame_rate
        if parameters.isInterlaced, let frames = average.plausibleFrameRate, let guess = rate.plausibleFrameRate,
            abs(guess / frames - 2) < 0.01
        {
            rate = average
        }
        let nominal = rate.frameDuration
        return VideoDecoder(
            codec: codec, timeBase: stream.pointee.time_base,
            trackOrientation: shim_stream_display_matrix(stream).map(Orientation.init(displayMatrix:)) ?? .up,
            nominalDuration: nominal, lastTime: nil, lastDuration: nominal ?? .milliseconds(40))
    }

    /// Hands over a packet. One that the decoder cannot use is left out. The corresponding C function is `avcodec_send_packet`.
    mutating func send(_ packet: borrowing Packet) { avcodec_send_packet(codec.raw, packet.raw) }

    /// Says that no packet follows: the decoder gives out the frames that it still holds.
    mutating func sendEnd() { avcodec_send_packet(codec.raw, nil) }

    /// Leaves out frames that no other depends on, on the way to a seek target.
    mutating func setDecodesOnlyReferences(_ value: Bool) {
        codec.raw.pointee.skip_frame = value ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
    }

    /// Whether a packet is presented more than a second before container time `time`.
    func isWellBefore(_ time: MediaTime, _ packet: borrowing Packet) -> Bool {
        guard let presentation = MediaTime(ticks: packet.raw.pointee.pts, of: timeBase) else { return false }
        return presentation < time - .seconds(1)
    }

    /// Drops all it holds, after a seek. The corresponding C function is `avcodec_flush_buffers`.
    mutating func flush() {
        avcodec_flush_buffers(codec.raw)
        lastTime = nil
    }

    enum Output: ~Copyable {
        case frame(TimedFrame)
        case needsPacket
        case end
    }

    /// The next frame, if one is ready. Times never go back: a frame without a usable time follows the one before it. The corresponding C
    /// function is `avcodec_receive_frame`.
    mutating func receive() -> Output {
        let frame = av_frame_alloc()!
        // Errors are passed over: the frames of other threads may still come behind them.
        var status = avcodec_receive_frame(codec.raw, frame)
        for _ in 0..<Self.errorLimit where status != 0 && status != kAVERROR_EOF && status != kAVERROR_EAGAIN {
            status = avcodec_receive_frame(codec.raw, frame)
        }
        guard status == 0 else {
            var pointer: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&pointer)
            return status == kAVERROR_EOF ? .end : .needsPacket
        }
        var duration = MediaTime(ticks: shim_frame_duration(frame), of: timeBase) ?? .zero
        if duration <= .zero { duration = nominalDuration ?? lastDuration }
        var start = MediaTime(ticks: frame.pointee.best_effort_timestamp, of: timeBase)
        if let lastTime, start.map({ $0 <= lastTime }) ?? true { start = lastTime + lastDuration }
        let begin = start ?? .zero
        (lastTime, lastDuration) = (begin, duration)
        let orientation = shim_frame_display_matrix(frame).map(Orientation.init(displayMatrix:)) ?? trackOrientation
        if frame.pointee.sample_aspect_ratio.num == 0 { frame.pointee.sample_aspect_ratio = codec.raw.pointee.sample_aspect_ratio }
        return .frame(TimedFrame(frame: VideoFrame(adopting: frame, orientation: orientation), time: begin, duration: duration))
    }
}

extension CodecContext {
    /// Opens the decoder for a stream. The corresponding C function is `avcodec_open2`.
    static func open(
        _ stream: UnsafeMutablePointer<AVStream>, source: String, configure: (UnsafeMutablePointer<AVCodecContext>) -> Void = { _ in }
    ) throws(MediaError) -> CodecContext {
        let identifier = stream.pointee.codecpar.pointee.codec_id
        guard let decoder = avcodec_find_decoder(identifier), let context = avcodec_alloc_context3(decoder) else {
            throw MediaError(source, .unsupportedCodec(String(cString: avcodec_get_name(identifier))))
        }
        let codec = CodecContext(raw: context)
        var status = avcodec_parameters_to_context(context, stream.pointee.codecpar)
        context.pointee.pkt_timebase = stream.pointee.time_base  // without it priming and padding are not trimmed
        configure(context)
        if status >= 0 { status = avcodec_open2(context, decoder, nil) }
        guard status >= 0 else {
            throw MediaError(source, .failed("its decoder \(String(cString: avcodec_get_name(identifier))): \(describe(averror: status))"))
        }
        return codec
    }
}
