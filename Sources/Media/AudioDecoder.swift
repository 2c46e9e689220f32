import CFFmpeg
import Platform

/// One sound track's decoder: packets in, one unbroken run of samples out.
///
/// Samples are placed by their timestamps: what lies before the wanted beginning is cut off, holes become silence, overlaps are
/// dropped; jitter below ``tolerance`` is not a hole. libavcodec has taken encoder priming off by then, and padding where the container says how
/// much of it there is. MP4 says it in another way: its last packet lasts less long than what is decoded from it. That rest is ``padding``.
///
/// Memory and the time of a call are bounded whatever a header says: what has been decoded is converted in pieces of ``pieceFrames``, each when it is
/// asked for, and rates and channel counts that no sound has are refused.
struct AudioDecoder: ~Copyable, Sendable {
    private let codec: CodecContext
    private let timeBase: AVRational
    /// The decoded frame that is being converted, and how many of its samples have been.
    private let scratch = ScratchFrame()
    private var converted: Int32 = 0
    private let output: AudioFormat
    private var resampler: Resampler?
    /// Converted samples not taken yet, from `head` on.
    private var samples: [Float] = []
    private var head = 0
    /// Frames at the end of `samples` that the packet they come from does not account for: dropped when it was the last, given out when another follows.
    private var padding: Int64 = 0
    /// Frames of silence that come before `samples`.
    private var silence: Int64 = 0
    /// Frame number, from the container's time zero, of the next frame the resampler will put out; nil until the first arrives.
    private var resamplerPosition: Int64?
    /// Frame number of the end of what was queued in `silence` and `samples`.
    private var queuedEnd: Int64 = 0
    private var isDraining = false
    /// Whether everything is in `samples` now.
    private(set) var hasEnded = false
    /// Why not all of the sound is heard, once that has shown.
    private(set) var problem: String?
    /// Packets in a row that gave no sound.
    private var mutePackets = 0
    /// What so many give is nothing: they cannot be decoded.
    private static let mostMutePackets = 100

    /// Timestamps of real files wander by a few packets' rounding; a hole worth hearing is longer than this.
    private static let tolerance = MediaTime.milliseconds(50)

    /// Output frames made in one go, about.
    private static let pieceFrames = 16_384
    /// Samples for each channel that a packet may hold, less where many channels make that more than ``frameBytes``: a minute and more.
    private static let frameSamples: Int64 = 1 << 22, frameBytes: Int64 = 64 << 20
    /// What is called sound: from telephones to studios.
    static let sampleRates = 4000...768_000, channelCounts = 1...64
    /// Errors in a row that a decoder may tell before it is taken to have nothing more.
    private static let errorLimit = 64

    static func open(_ stream: UnsafeMutablePointer<AVStream>, source: String, output: AudioFormat) throws(MediaError) -> AudioDecoder {
        let parameters = stream.pointee.codecpar.pointee
        let (rate, channels) = (Int(parameters.sample_rate), Int(parameters.ch_layout.nb_channels))
        // Zero is for the decoder to find out.
        guard rate == 0 || sampleRates ~= rate, channels == 0 || channelCounts ~= channels else {
            throw MediaError(source, .soundOutOfRange(sampleRate: rate, channelCount: channels))
        }
        let codec = try CodecContext.open(stream, source: source) { context in
            context.pointee.max_samples = min(frameSamples, frameBytes / Int64(8 * max(1, channels)))
        }
        return AudioDecoder(codec: codec, timeBase: stream.pointee.time_base, output: output)
    }

    private init(codec: consuming CodecContext, timeBase: AVRational, output: AudioFormat) {
        self.codec = codec
        self.timeBase = timeBase
        self.output = output
    }

    /// Begins anew: the next sample given out is the one of container time `time`.
    mutating func restart(at time: MediaTime) {
        avcodec_flush_buffers(codec.raw)
        av_frame_unref(scratch.raw)
        resampler = nil
        samples.removeAll(keepingCapacity: true)
        (head, silence, padding, converted, resamplerPosition, isDraining, hasEnded) = (0, 0, 0, 0, nil, false, false)
        queuedEnd = frameNumber(time)
    }

    /// Converted samples in memory.
    var sampleCount: Int { samples.count }

    /// Frames that can be taken now.
    var availableFrames: Int { Int(min(silence, 1 << 30)) + max(0, (samples.count - head) / output.channelCount - Int(padding)) }

    /// Hands over a packet, once ``decodeNext()`` asks for one. One that cannot be decoded leaves a hole.
    mutating func send(_ packet: borrowing Packet) {
        avcodec_send_packet(codec.raw, packet.raw)
        mutePackets += 1
        if mutePackets >= Self.mostMutePackets { problem = "plays without its sound: it cannot be decoded" }
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
            switch avcodec_receive_frame(codec.raw, scratch.raw) {
            case 0:
                beginFrame()
                return true
            case kAVERROR_EAGAIN: return false
            case kAVERROR_EOF: return end()
            default: break  // what could not be decoded leaves a hole
            }
        }
        return isDraining && end()
    }

    private mutating func end() -> Bool {
        drainResampler()
        samples.removeLast(min(samples.count - head, Int(padding) * output.channelCount))
        padding = 0
        hasEnded = true
        return true
    }

    /// The container time up to which there are samples.
    var endTime: MediaTime { MediaTime.frames(queuedEnd - padding, sampleRate: output.sampleRate) }

    /// Goes on with silence where no packet has come: `frames` of it, after what the resampler still holds back. What comes later has its own place.
    mutating func pass(frames: Int) {
        drainResampler()
        resampler = nil
        resamplerPosition = nil
        samples.removeLast(min(samples.count - head, Int(padding) * output.channelCount))
        (queuedEnd, padding) = (queuedEnd - padding, 0)
        guard availableFrames == 0 else { return }
        silence += Int64(frames)
        queuedEnd += Int64(frames)
    }

    /// Moves up to `destination.count` samples out (whole frames); returns the frames moved.
    mutating func take(into destination: UnsafeMutableBufferPointer<Float>) -> Int {
        let wanted = destination.count / output.channelCount
        let quiet = Int(min(silence, Int64(wanted)))
        if quiet > 0 { destination[0..<(quiet * output.channelCount)].update(repeating: 0) }
        silence -= Int64(quiet)
        let count = max(0, min(samples.count - head - Int(padding) * output.channelCount, (wanted - quiet) * output.channelCount))
        if count > 0 {
            _ = samples.withUnsafeBufferPointer { source in
                UnsafeMutableBufferPointer(rebasing: destination[(quiet * output.channelCount)...])
                    .update(fromContentsOf: source[head..<(head + count)])
            }
            head += count
        }
        // Padding may always be left behind `head`, so that it never meets the end.
        if head >= samples.count - head {
            samples.removeSubrange(..<head)
            head = 0
        }
        return quiet + count / output.channelCount
    }

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
            problem =
                "plays without its sound: \(frame.pointee.ch_layout.nb_channels) channels at \(frame.pointee.sample_rate) Hz cannot be converted"
            return av_frame_unref(frame)
        }
        if let limitation = resampler?.limitation { problem = limitation }
        padding = 0
        if let time = MediaTime(ticks: frame.pointee.best_effort_timestamp, of: timeBase) {
            let begin = frameNumber(time)
            if let position = resamplerPosition {
                let expected = position + (resampler?.delay ?? 0)
                if abs(begin - expected) > frameNumber(Self.tolerance) {
                    drainResampler()
                    resampler = Resampler(from: frame, to: output)
                    resamplerPosition = begin
                }
            } else {
                resamplerPosition = begin
            }
        }
    }

    private mutating func convertPiece() {
        let frame = scratch.raw
        let position = resamplerPosition ?? queuedEnd
        let before = samples.count
        let piece = max(64, Self.pieceFrames * Int(frame.pointee.sample_rate) / output.sampleRate)
        let count = Int32(min(Int(frame.pointee.nb_samples - converted), piece))
        resampler?.convert(frame, from: converted, count: count, into: &samples)
        converted += count
        resamplerPosition = place(samplesFrom: before, at: position)
        if converted == frame.pointee.nb_samples { padding = self.padding(of: frame) }
    }

    /// Output frames of a decoded frame beyond the time its packet lasts. Only a time base about as fine as the samples can tell.
    private func padding(of frame: UnsafeMutablePointer<AVFrame>) -> Int64 {
        let duration = shim_frame_duration(frame), rate = Int64(frame.pointee.sample_rate)
        guard duration > 0, rate > 0, Int64(timeBase.den) * 2 >= rate * Int64(timeBase.num) else { return 0 }
        guard let told = MediaTime(ticks: duration, of: timeBase) else { return 0 }
        let surplus = Int64(frame.pointee.nb_samples) - told.frameNumber(sampleRate: Int(rate))
        return max(0, av_rescale(surplus, Int64(output.sampleRate), rate))
    }

    private mutating func drainResampler() {
        guard resampler != nil, let position = resamplerPosition else { return }
        let before = samples.count
        resampler?.drain(into: &samples)
        resamplerPosition = place(samplesFrom: before, at: position)
    }

    /// Fits the samples appended since index `begin`, whose first frame is number `position`, to the end of the queue; returns the
    /// frame number after them.
    private mutating func place(samplesFrom begin: Int, at position: Int64) -> Int64 {
        let channels = output.channelCount
        let count = Int64((samples.count - begin) / channels)
        if position < queuedEnd {
            let surplus = Int(min(count, queuedEnd - position))
            samples.removeSubrange(begin..<(begin + surplus * channels))
        } else if position > queuedEnd, count > 0 {
            let hole = position - queuedEnd
            if begin == head {
                silence += hole  // nothing before it: silence may be as long as it likes
            } else {
                let bounded = Int(min(hole, Int64(60 * output.sampleRate)))  // a hole in mid-stream is held in memory
                samples.insert(contentsOf: repeatElement(0, count: bounded * channels), at: begin)
            }
        }
        if count > 0 { queuedEnd = max(queuedEnd, position + count) }
        return position + count
    }

    private func frameNumber(_ time: MediaTime) -> Int64 { time.frameNumber(sampleRate: output.sampleRate) }
}

/// Converts decoded sound of one kind to the output format. The corresponding C library is libswresample.
struct Resampler: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    private let context: OpaquePointer
    private let output: AudioFormat
    private let sampleRate: Int32
    private let format: Int32
    private let channelCount: Int32
    /// What of the sound is not heard; nil where all of it is.
    let limitation: String?

    deinit {
        var pointer: OpaquePointer? = context
        swr_free(&pointer)
    }

    /// A converter for sound like that in `frame`; nil when libswresample cannot do it. Where it only does not know how to mix so many channels, the first two are
    /// taken, which are the front pair in every arrangement that names its speakers; of ambisonics, which has none, what two microphones would hear
    /// that point to both sides.
    init?(from frame: UnsafeMutablePointer<AVFrame>, to output: AudioFormat) {
        let count = frame.pointee.ch_layout.nb_channels
        let isAmbisonic = frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_AMBISONIC
        if !isAmbisonic, let context = Self.context(from: frame, to: output, matrix: nil) {
            self.context = context
            limitation = nil
        } else {
            var matrix = [Double](repeating: 0, count: Int(max(1, count)) * output.channelCount)
            for channel in 0..<output.channelCount {
                let row = channel * Int(max(1, count))
                if isAmbisonic {
                    matrix[row] = 0.5
                    if count >= 4, output.channelCount > 1 { matrix[row + 1] = channel == 0 ? 0.5 : channel == 1 ? -0.5 : 0 }
                } else {
                    matrix[row + min(channel, 1, Int(count) - 1)] = 1
                }
            }
            guard count > 0, let context = Self.context(from: frame, to: output, matrix: matrix) else { return nil }
            self.context = context
            limitation =
                isAmbisonic
                ? nil : "only the first two of its \(count) channels are heard, as their arrangement is unknown: export its sound in stereo"
        }
        self.output = output
        sampleRate = frame.pointee.sample_rate
        format = frame.pointee.format
        channelCount = count
    }

    /// A context that mixes by `matrix`, a row for each channel that is put out, or as libswresample knows; nil when it cannot.
    private static func context(from frame: UnsafeMutablePointer<AVFrame>, to output: AudioFormat, matrix: [Double]?) -> OpaquePointer? {
        var source = AVChannelLayout()
        var target = AVChannelLayout()
        av_channel_layout_default(&target, Int32(output.channelCount))
        if frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC || frame.pointee.ch_layout.nb_channels == 0 {
            av_channel_layout_default(&source, max(1, frame.pointee.ch_layout.nb_channels))
        } else {
            av_channel_layout_copy(&source, &frame.pointee.ch_layout)
        }
        defer {
            av_channel_layout_uninit(&source)
            av_channel_layout_uninit(&target)
        }
        var pointer: OpaquePointer?
        guard
            swr_alloc_set_opts2(
                &pointer, &target, AV_SAMPLE_FMT_FLT, Int32(output.sampleRate), &source,
                AVSampleFormat(rawValue: frame.pointee.format), frame.pointee.sample_rate, 0, nil) >= 0, let made = pointer
        else { return nil }
        if let matrix, swr_set_matrix(made, matrix, frame.pointee.ch_layout.nb_channels) < 0 {
            swr_free(&pointer)
            return nil
        }
        av_opt_set_double(UnsafeMutableRawPointer(made), "rematrix_maxval", 1, 0)  // a downmix must not clip
        guard swr_init(made) >= 0 else {
            swr_free(&pointer)
            return nil
        }
        return made
    }

    func accepts(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        frame.pointee.sample_rate == sampleRate && frame.pointee.format == format && frame.pointee.ch_layout.nb_channels == channelCount
    }

    /// Output frames it holds back.
    var delay: Int64 { swr_get_delay(context, Int64(output.sampleRate)) }

    /// Converts `count` of the frame's samples, from number `start` on.
    mutating func convert(_ frame: UnsafeMutablePointer<AVFrame>, from start: Int32, count: Int32, into samples: inout [Float]) {
        let layout = AVSampleFormat(rawValue: frame.pointee.format)
        let isPlanar = av_sample_fmt_is_planar(layout) != 0
        let offset = Int(start) * Int(av_get_bytes_per_sample(layout)) * (isPlanar ? 1 : Int(channelCount))
        let planes = (0..<(isPlanar ? Int(channelCount) : 1)).map { frame.pointee.extended_data[$0].map { UnsafePointer($0 + offset) } }
        planes.withUnsafeBufferPointer { run($0.baseAddress, count, into: &samples) }
    }

    mutating func drain(into samples: inout [Float]) { run(nil, 0, into: &samples) }

    private func run(_ planes: UnsafePointer<UnsafePointer<UInt8>?>?, _ count: Int32, into samples: inout [Float]) {
        let capacity = Int(swr_get_out_samples(context, count))
        guard capacity > 0 else { return }
        samples.append(addingCapacity: capacity * output.channelCount) { space in
            space.withUnsafeMutableBufferPointer { floats, filled in
                var plane = UnsafeMutableRawPointer(floats.baseAddress)?.assumingMemoryBound(to: UInt8.self)
                let produced = swr_convert(context, &plane, Int32(capacity), UnsafeMutablePointer(mutating: planes), count)
                filled = Int(max(0, produced)) * output.channelCount
            }
        }
    }
}
