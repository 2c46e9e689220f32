import CKioskFFmpeg
import KioskPlatform

/// The decoder of a sound stream: takes packets and returns one continuous run of samples in the output format (``SampleQueue``).
///
/// Timestamps set the place of samples. Jitter below ``tolerance`` is not a hole. Samples of a live stream follow their timestamps
/// (``SoundCompensation``). libavcodec has already removed the encoder priming, and the padding if the container gives its length. MP4
/// gives it indirectly: its last packet has a shorter duration than its decoded samples. The queue holds back that surplus until it is
/// known whether another packet follows. iTunes writes the length into a tag (``FormatContext/soundEnd(of:)``).
///
/// Memory and the time of a call have limits, whatever a header says. The decoder converts in pieces of ``pieceFrames``, each on demand. It
/// refuses implausible rates and channel counts.
struct AudioDecoder: ~Copyable, Sendable {
    private let codec: CodecContext
    private let timeBase: AVRational
    private let output: AudioFormat
    /// The decoded frame in conversion, and the number of its samples already converted.
    private let scratch = ScratchFrame()
    private var converted: Int32 = 0
    private var resampler: Resampler?
    /// The number of the resampler's next frame, from the container's time zero; nil until the first frame arrives.
    private var resamplerPosition: Int64?
    private var queue: SampleQueue
    private var isDraining = false
    /// Whether all samples are in the queue.
    private(set) var hasEnded = false
    /// Why not all of the sound can be heard; nil until that is known.
    private(set) var problem: String?
    /// Keeps the sound of a live stream on its timestamps; nil for other sources, which end before drift matters.
    private var compensation: SoundCompensation?
    /// The packets that did not decode, except those before the first good one: codecs need some to start.
    private(set) var damage = MediaDamage()
    private var hasBegun = false
    /// The number of packets in a row without sound.
    private var mutePackets = 0

    /// The number of packets in a row without sound that makes the decoder report a problem.
    private static let mostMutePackets = 100
    /// Timestamps of real files vary by the rounding of a few packets; an audible hole is longer than this.
    static let tolerance = MediaTime.milliseconds(50)
    /// The approximate number of output frames in a piece.
    private static let pieceFrames = 16_384
    /// The most samples for each channel in a packet: over a minute. With many channels, ``frameBytes`` is the limit.
    private static let frameSamples: Int64 = 1 << 22, frameBytes: Int64 = 64 << 20
    /// The accepted sample rates and channel counts: from telephones to studios.
    static let sampleRates = 4000...768_000, channelCounts = 1...64
    /// The number of errors in a row after which the decoder counts as empty.
    private static let errorLimit = 64

    /// Opens the decoder of a stream, and converts its sound to `output`. `isLive` is for a stream without an end.
    ///
    /// - Parameter end: the container time at which padding begins; nil if unknown.
    /// - Throws: ``MediaError`` if the codec is not supported, or the header's rate or channel count is implausible.
    static func open(
        _ stream: UnsafeMutablePointer<AVStream>, source: String, output: AudioFormat, isLive: Bool,
        end: MediaTime? = nil
    ) throws(MediaError) -> AudioDecoder {
        let parameters = stream.pointee.codecpar.pointee
        let (rate, channels) = (Int(parameters.sample_rate), Int(parameters.ch_layout.nb_channels))
        // Zero: the decoder finds it out.
        guard rate == 0 || sampleRates ~= rate, channels == 0 || channelCounts ~= channels else {
            throw MediaError(source, .soundOutOfRange(sampleRate: rate, channelCount: channels))
        }
        let codec = try CodecContext.open(stream.pointee.codecpar, timeBase: stream.pointee.time_base, source: source) { context in
            context.pointee.max_samples = min(frameSamples, frameBytes / Int64(8 * max(1, channels)))
        }
        return AudioDecoder(codec: codec, timeBase: stream.pointee.time_base, output: output, isLive: isLive, end: end)
    }

    private init(codec: consuming CodecContext, timeBase: AVRational, output: AudioFormat, isLive: Bool, end: MediaTime?) {
        self.codec = codec
        self.timeBase = timeBase
        self.output = output
        queue = SampleQueue(output)
        queue.limit = end.map { $0.frameNumber(sampleRate: output.sampleRate) }
        compensation = isLive ? SoundCompensation() : nil
    }

    /// Restarts the decoder: the next sample returned is the one at container time `time`.
    mutating func restart(at time: MediaTime) {
        avcodec_flush_buffers(codec.raw)
        av_frame_unref(scratch.raw)
        resampler = nil
        (converted, resamplerPosition, isDraining, hasEnded, hasBegun) = (0, nil, false, false, false)
        queue.restart(at: frameNumber(time))
    }

    /// The number of converted samples in memory.
    var sampleCount: Int { queue.samples.count }
    /// The number of frames that can be taken now.
    var availableFrames: Int { queue.availableFrames }
    /// The container time at which the converted samples end.
    var endTime: MediaTime { MediaTime.frames(queue.end, sampleRate: output.sampleRate) }

    /// Moves up to `destination.count` samples out (whole frames); returns the number of frames.
    mutating func take(into destination: UnsafeMutableBufferPointer<Float>) -> Int { queue.take(into: destination) }

    // MARK: Decoding

    /// Sends a packet, after ``decodeNext()`` needs one. A packet that does not decode leaves a hole. The corresponding C function is
    /// `avcodec_send_packet`.
    mutating func send(_ packet: borrowing Packet) {
        passOver(avcodec_send_packet(codec.raw, packet.raw))
        mutePackets += 1
        if mutePackets >= Self.mostMutePackets { problem = "plays without its sound: it cannot be decoded" }
    }

    private mutating func passOver(_ status: Int32) {
        if status < 0, status != kAVERROR_EAGAIN, status != kAVERROR_EOF, hasBegun { damage.addSound(at: endTime) }
    }

    /// Marks the end of the packets: ``decodeNext()`` then returns the samples that the decoder and the resampler still hold.
    mutating func sendEnd() {
        if isDraining { return }
        isDraining = true
        avcodec_send_packet(codec.raw, nil)
    }

    /// Decodes and converts one more piece; returns false if it needs a packet, or after the end.
    mutating func decodeNext() -> Bool {
        if hasEnded { return false }
        if converted < scratch.raw.pointee.nb_samples {
            convertPiece()
            return true
        }
        av_frame_unref(scratch.raw)
        converted = 0
        for _ in 0..<Self.errorLimit {
            let status = avcodec_receive_frame(codec.raw, scratch.raw)
            switch status {
            case 0:
                hasBegun = true
                beginFrame()
                return true
            case kAVERROR_EAGAIN: return false
            case kAVERROR_EOF: return end()
            default: passOver(status)  // leaves a hole
            }
        }
        return isDraining && end()
    }

    private mutating func end() -> Bool {
        drainResampler()
        queue.dropPadding()
        hasEnded = true
        return true
    }

    /// Adds `frames` frames of silence in place of missing packets, after the samples left in the resampler. Later samples go by their own
    /// timestamps.
    mutating func pass(frames: Int) {
        drainResampler()
        resampler = nil
        resamplerPosition = nil
        queue.dropPadding()
        queue.appendSilence(frames)
    }

    // MARK: Converting

    /// Finds the place and the resampler for the decoded frame.
    private mutating func beginFrame() {
        let frame = scratch.raw
        guard Self.sampleRates ~= Int(frame.pointee.sample_rate), Self.channelCounts ~= Int(frame.pointee.ch_layout.nb_channels) else {
            return av_frame_unref(frame)
        }
        mutePackets = 0
        if resampler?.accepts(frame) != true {
            drainResampler()
            resampler = Resampler(from: frame, to: output)
            resamplerPosition = nil
        }
        guard resampler != nil else {
            let (channels, rate) = (frame.pointee.ch_layout.nb_channels, frame.pointee.sample_rate)
            problem = "plays without its sound: \(channels) channels at \(rate) Hz cannot be converted"
            return av_frame_unref(frame)
        }
        if let limitation = resampler?.limitation { problem = limitation }
        queue.setPadding(0)
        if let time = MediaTime(ticks: frame.pointee.best_effort_timestamp, of: timeBase) { follow(frameNumber(time)) }
        if let compensation { resampler?.compensate(by: compensation.rate) }
    }

    /// Aligns the decoded frame to this frame number.
    private mutating func follow(_ begin: Int64) {
        let frame = scratch.raw
        let expected = resamplerPosition.map { $0 + (resampler?.delay ?? 0) }
        if let expected, abs(begin - expected) <= frameNumber(Self.tolerance) {
            compensation?.follow(
                distance: Double(begin - expected) / Double(output.sampleRate),
                elapsed: Double(frame.pointee.nb_samples) / Double(frame.pointee.sample_rate))
            return
        }
        if expected != nil {
            drainResampler()
            resampler = Resampler(from: frame, to: output)
        }
        resamplerPosition = begin
        compensation?.realigned()
    }

    private mutating func convertPiece() {
        let frame = scratch.raw
        let position = resamplerPosition ?? queue.endWithPadding
        let before = queue.samples.count
        let piece = max(64, Self.pieceFrames * Int(frame.pointee.sample_rate) / output.sampleRate)
        let count = Int32(min(Int(frame.pointee.nb_samples - converted), piece))
        resampler?.convert(frame, from: converted, count: count, into: &queue.samples)
        converted += count
        resamplerPosition = queue.place(from: before, at: position)
        if converted == frame.pointee.nb_samples { queue.setPadding(padding(of: frame)) }
    }

    /// The output frames of a decoded frame beyond its packet's duration. Only a time base about as fine as the samples shows them.
    private func padding(of frame: UnsafeMutablePointer<AVFrame>) -> Int64 {
        let duration = shim_frame_duration(frame), rate = Int64(frame.pointee.sample_rate)
        guard duration > 0, rate > 0, Int64(timeBase.den) * 2 >= rate * Int64(timeBase.num) else { return 0 }
        guard let listed = MediaTime(ticks: duration, of: timeBase) else { return 0 }
        let surplus = Int64(frame.pointee.nb_samples) - listed.frameNumber(sampleRate: Int(rate))
        return max(0, av_rescale(surplus, Int64(output.sampleRate), rate))
    }

    private mutating func drainResampler() {
        guard resampler != nil, let position = resamplerPosition else { return }
        let before = queue.samples.count
        resampler?.drain(into: &queue.samples)
        resamplerPosition = queue.place(from: before, at: position)
    }

    private func frameNumber(_ time: MediaTime) -> Int64 { time.frameNumber(sampleRate: output.sampleRate) }
}
