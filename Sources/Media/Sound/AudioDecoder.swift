import CKioskFFmpeg
import KioskPlatform

/// The decoder of a sound stream: packets in, one unbroken run of samples in the output format out (``SampleQueue``).
///
/// Samples are placed by their timestamps; jitter below ``tolerance`` is not a hole, and those of a live stream follow their timestamps
/// (``SoundCompensation``). libavcodec has taken encoder priming off by then, and padding where the container says how much of it there is.
/// MP4 says it in another way: its last packet lasts less long than what is decoded from it. The queue holds that rest back until it is known
/// whether another packet follows. iTunes says it in a tag (``FormatContext/soundEnd(of:)``).
///
/// Memory and the time of a call are bounded whatever a header says: what has been decoded is converted in pieces of ``pieceFrames``, each
/// when it is asked for, and rates and channel counts that no sound has are refused.
struct AudioDecoder: ~Copyable, Sendable {
    private let codec: CodecContext
    private let timeBase: AVRational
    private let output: AudioFormat
    /// The decoded frame that is being converted, and how many of its samples have been.
    private let scratch = ScratchFrame()
    private var converted: Int32 = 0
    private var resampler: Resampler?
    /// Number of the frame, from the container's time zero, that the resampler puts out next; nil until the first arrives.
    private var resamplerPosition: Int64?
    private var queue: SampleQueue
    private var isDraining = false
    /// Whether everything is in the queue now.
    private(set) var hasEnded = false
    /// Why not all of the sound is heard, once that has shown.
    private(set) var problem: String?
    /// Keeps the sound of a live stream with its timestamps; nil of anything that ends, as it does so before that matters.
    private var compensation: SoundCompensation?
    /// Packets that could not be decoded, but for those before the first that could: codecs need some to begin.
    private(set) var damage = MediaDamage()
    private var hasBegun = false
    /// Packets in a row that gave no sound.
    private var mutePackets = 0

    /// After so many packets in a row without sound it is reported that it cannot be decoded.
    private static let mostMutePackets = 100
    /// Timestamps of real files vary by the rounding of a few packets; a hole that can be heard is longer than this.
    static let tolerance = MediaTime.milliseconds(50)
    /// Output frames made in one go, about.
    private static let pieceFrames = 16_384
    /// Samples for each channel that a packet may hold, less where many channels make that more than ``frameBytes``: a minute and more.
    private static let frameSamples: Int64 = 1 << 22, frameBytes: Int64 = 64 << 20
    /// What is taken for sound: from telephones to studios.
    static let sampleRates = 4000...768_000, channelCounts = 1...64
    /// Errors in a row that a decoder may return before it is taken to have nothing more.
    private static let errorLimit = 64

    /// Opens the decoder of a stream whose sound is converted to `output`. `isLive` says that it has no end.
    ///
    /// - Parameter end: container time from which on there is only padding; nil where nobody says.
    /// - Throws: ``MediaError`` where the codec is not supported, or the header's rate or channel count is none that sound has.
    static func open(
        _ stream: UnsafeMutablePointer<AVStream>, source: String, output: AudioFormat, isLive: Bool,
        end: MediaTime? = nil
    ) throws(MediaError) -> AudioDecoder {
        let parameters = stream.pointee.codecpar.pointee
        let (rate, channels) = (Int(parameters.sample_rate), Int(parameters.ch_layout.nb_channels))
        // Zero is for the decoder to find out.
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

    /// Begins anew: the next sample given out is the one of container time `time`.
    mutating func restart(at time: MediaTime) {
        avcodec_flush_buffers(codec.raw)
        av_frame_unref(scratch.raw)
        resampler = nil
        (converted, resamplerPosition, isDraining, hasEnded, hasBegun) = (0, nil, false, false, false)
        queue.restart(at: frameNumber(time))
    }

    /// Converted samples in memory.
    var sampleCount: Int { queue.samples.count }
    /// Frames that can be taken now.
    var availableFrames: Int { queue.availableFrames }
    /// The container time up to which there are samples.
    var endTime: MediaTime { MediaTime.frames(queue.end, sampleRate: output.sampleRate) }

    /// Moves up to `destination.count` samples out (whole frames); returns the frames moved.
    mutating func take(into destination: UnsafeMutableBufferPointer<Float>) -> Int { queue.take(into: destination) }

    // MARK: Decoding

    /// Hands over a packet, once ``decodeNext()`` asks for one. One that cannot be decoded leaves a hole. The corresponding C function is
    /// `avcodec_send_packet`.
    mutating func send(_ packet: borrowing Packet) {
        passOver(avcodec_send_packet(codec.raw, packet.raw))
        mutePackets += 1
        if mutePackets >= Self.mostMutePackets { problem = "plays without its sound: it cannot be decoded" }
    }

    private mutating func passOver(_ status: Int32) {
        if status < 0, status != kAVERROR_EAGAIN, status != kAVERROR_EOF, hasBegun { damage.addSound(at: endTime) }
    }

    /// Says that no packet follows: ``decodeNext()`` gives out what the decoder and the resampler still hold back.
    mutating func sendEnd() {
        if isDraining { return }
        isDraining = true
        avcodec_send_packet(codec.raw, nil)
    }

    /// Goes on decoding and converting by one piece; false where a packet is needed for that, or everything has come.
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
            default: passOver(status)  // what could not be decoded leaves a hole
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

    /// Goes on with `frames` frames of silence where no packet has come, after what the resampler still holds back. What comes later is
    /// placed by its own time.
    mutating func pass(frames: Int) {
        drainResampler()
        resampler = nil
        resamplerPosition = nil
        queue.dropPadding()
        queue.appendSilence(frames)
    }

    // MARK: Converting

    /// Finds the place of the frame that has been decoded, and what converts it.
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

    /// The frame that has been decoded is to begin at this number.
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

    /// Output frames of a decoded frame beyond the time its packet lasts. Only a time base about as fine as the samples can tell.
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
