import CFFmpeg
import Platform

/// One sound track's decoder: packets in, one unbroken run of samples out.
///
/// Samples are placed by their timestamps: what lies before the wanted beginning is cut off, holes become silence, overlaps are
/// dropped; jitter below ``tolerance`` is not a hole. libavcodec has taken encoder priming off by then, and padding where the container says how
/// much of it there is. MP4 says it in another way: its last packet lasts less long than what is decoded from it. That rest is ``padding``.
struct AudioDecoder: ~Copyable, Sendable {
    private let codec: CodecContext
    private let timeBase: AVRational
    private let scratch = ScratchFrame()
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
    /// Whether everything is in `samples` now.
    private(set) var hasEnded = false

    /// Timestamps of real files wander by a few packets' rounding; a hole worth hearing is longer than this.
    private static let tolerance = MediaTime.milliseconds(50)

    static func open(_ stream: UnsafeMutablePointer<AVStream>, source: String, output: AudioFormat) throws(MediaError) -> AudioDecoder {
        AudioDecoder(codec: try CodecContext.open(stream, source: source), timeBase: stream.pointee.time_base, output: output)
    }

    private init(codec: consuming CodecContext, timeBase: AVRational, output: AudioFormat) {
        self.codec = codec
        self.timeBase = timeBase
        self.output = output
    }

    /// Begins anew: the next sample given out is the one of container time `time`.
    mutating func restart(at time: MediaTime) {
        avcodec_flush_buffers(codec.raw)
        resampler = nil
        samples.removeAll(keepingCapacity: true)
        (head, silence, padding, resamplerPosition, hasEnded) = (0, 0, 0, nil, false)
        queuedEnd = frameNumber(time)
    }

    /// Frames that can be taken now.
    var availableFrames: Int { Int(min(silence, 1 << 30)) + max(0, (samples.count - head) / output.channelCount - Int(padding)) }

    /// Decodes a packet, nil for the end of the stream. A packet that cannot be decoded leaves a hole.
    mutating func decode(_ packet: borrowing Packet) {
        avcodec_send_packet(codec.raw, packet.raw)
        receiveAll()
    }

    /// Decodes what the decoder and the resampler still hold back.
    mutating func decodeEnd() {
        avcodec_send_packet(codec.raw, nil)
        receiveAll()
        drainResampler()
        samples.removeLast(min(samples.count - head, Int(padding) * output.channelCount))
        padding = 0
        hasEnded = true
    }

    /// The container time up to which there are samples.
    var end: MediaTime { MediaTime.frames(queuedEnd - padding, sampleRate: output.sampleRate) }

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
        if head == samples.count {
            samples.removeAll(keepingCapacity: true)
            head = 0
        }
        return quiet + count / output.channelCount
    }

    private mutating func receiveAll() {
        while avcodec_receive_frame(codec.raw, scratch.raw) == 0 {
            convert()
            av_frame_unref(scratch.raw)
        }
    }

    private mutating func convert() {
        let frame = scratch.raw
        if resampler?.accepts(frame) != true {
            drainResampler()
            resampler = Resampler(from: frame, to: output)
            resamplerPosition = nil
        }
        guard resampler != nil else { return }
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
        let position = resamplerPosition ?? queuedEnd
        let before = samples.count
        resampler?.convert(frame, into: &samples)
        resamplerPosition = place(samplesFrom: before, at: position)
        padding = self.padding(of: frame)
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

    deinit {
        var pointer: OpaquePointer? = context
        swr_free(&pointer)
    }

    /// A converter for sound like that in `frame`; nil when libswresample cannot do it.
    init?(from frame: UnsafeMutablePointer<AVFrame>, to output: AudioFormat) {
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
        av_opt_set_double(UnsafeMutableRawPointer(made), "rematrix_maxval", 1, 0)  // a downmix must not clip
        guard swr_init(made) >= 0 else {
            swr_free(&pointer)
            return nil
        }
        context = made
        self.output = output
        sampleRate = frame.pointee.sample_rate
        format = frame.pointee.format
        channelCount = frame.pointee.ch_layout.nb_channels
    }

    func accepts(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        frame.pointee.sample_rate == sampleRate && frame.pointee.format == format && frame.pointee.ch_layout.nb_channels == channelCount
    }

    /// Output frames it holds back.
    var delay: Int64 { swr_get_delay(context, Int64(output.sampleRate)) }

    mutating func convert(_ frame: UnsafeMutablePointer<AVFrame>, into samples: inout [Float]) {
        let planes = UnsafeRawPointer(frame.pointee.extended_data)?.assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
        run(planes, frame.pointee.nb_samples, into: &samples)
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
