import CKioskFFmpeg
import KioskPlatform

/// Converts decoded sound of one kind to the output format. The corresponding C library is libswresample.
struct Resampler: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    private let context: OpaquePointer
    private let output: AudioFormat
    private let sampleRate: Int32
    private let format: Int32
    private let channelCount: Int32
    /// What is not heard of the sound, in words; nil where all of it is.
    let limitation: String?
    /// Where channels are mixed down.
    private var limiter: SoundLimiter?
    /// Samples made more of a million.
    private var compensation: Int32 = 0

    deinit {
        var pointer: OpaquePointer? = context
        swr_free(&pointer)
    }

    /// A converter for sound like that in `frame`; nil when libswresample cannot do it. Where libswresample does not know how to mix the
    /// channels down, the first two are taken: they are the front pair in every layout that names its speakers. Ambisonics, which has no
    /// speakers, is mixed to what two microphones would hear that point to both sides.
    init?(from frame: UnsafeMutablePointer<AVFrame>, to output: AudioFormat) {
        let count = frame.pointee.ch_layout.nb_channels
        let isAmbisonic = frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_AMBISONIC
        if !isAmbisonic, let context = Self.context(from: frame, to: output, matrix: nil) {
            self.context = context
            limitation = nil
        } else {
            var matrix = [Double](repeating: 0, count: Int(max(1, count)) * output.channelCount)
            // What is rendered beyond the front pair stays silent.
            for channel in 0..<min(2, output.channelCount) {
                let row = channel * Int(max(1, count))
                if isAmbisonic {
                    matrix[row] = 0.5
                    if count >= 4, output.channelCount > 1 { matrix[row + 1] = channel == 0 ? 0.5 : channel == 1 ? -0.5 : 0 }
                } else {
                    matrix[row + min(channel, max(0, Int(count) - 1))] = 1
                }
            }
            guard count > 0, let context = Self.context(from: frame, to: output, matrix: matrix) else { return nil }
            self.context = context
            limitation =
                isAmbisonic
                ? nil
                : "kiosk plays only the first two of its \(count) channels, as their arrangement is unknown: export its sound in stereo"
        }
        self.output = output
        sampleRate = frame.pointee.sample_rate
        format = frame.pointee.format
        channelCount = count
        limiter = Self.mixesDown(frame, to: output) ? SoundLimiter(channelCount: output.channelCount) : nil
    }

    /// Whether several channels may be added to one: there are more than in the output, or some without a place there of their own.
    private static func mixesDown(_ frame: UnsafeMutablePointer<AVFrame>, to output: AudioFormat) -> Bool {
        let count = frame.pointee.ch_layout.nb_channels
        if count <= 2 || count > output.channelCount { return count > output.channelCount }
        guard frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_NATIVE else { return false }
        var target = AVChannelLayout()
        av_channel_layout_default(&target, Int32(output.channelCount))
        defer { av_channel_layout_uninit(&target) }
        return frame.pointee.ch_layout.u.mask & ~target.u.mask != 0
    }

    /// A context that mixes by `matrix`, a row for each output channel, or by libswresample's own where it is nil; nil when that is not
    /// possible. The corresponding C functions are `swr_alloc_set_opts2` and `swr_init`.
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
        // A mix down is as loud as libswresample's coefficients say: what would clip, the limiter lowers.
        av_opt_set_double(UnsafeMutableRawPointer(made), "rematrix_maxval", 1000, 0)
        guard swr_init(made) >= 0 else {
            swr_free(&pointer)
            return nil
        }
        return made
    }

    /// Whether `frame` has the rate, sample format and channel count that this converts from.
    func accepts(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        frame.pointee.sample_rate == sampleRate && frame.pointee.format == format && frame.pointee.ch_layout.nb_channels == channelCount
    }

    /// Makes so many seconds of sound more of each second, from now on. The corresponding C function is `swr_set_compensation`.
    mutating func compensate(by rate: Double) {
        let wanted = Int32(saturating: rate * 1e6)
        guard wanted != compensation, swr_set_compensation(context, wanted, 1_000_000) >= 0 else { return }
        compensation = wanted
    }

    /// Output frames that it holds. The corresponding C function is `swr_get_delay`.
    var delay: Int64 { swr_get_delay(context, Int64(output.sampleRate)) + Int64(limiter?.heldFrames ?? 0) }

    /// Converts `count` of the frame's samples, from number `start` on, and appends them. The corresponding C function is `swr_convert`.
    mutating func convert(_ frame: UnsafeMutablePointer<AVFrame>, from start: Int32, count: Int32, into samples: inout [Float]) {
        let layout = AVSampleFormat(rawValue: frame.pointee.format)
        let isPlanar = av_sample_fmt_is_planar(layout) != 0
        let offset = Int(start) * Int(av_get_bytes_per_sample(layout)) * (isPlanar ? 1 : Int(channelCount))
        let planes = (0..<(isPlanar ? Int(channelCount) : 1)).map { frame.pointee.extended_data[$0].map { UnsafePointer($0 + offset) } }
        planes.withUnsafeBufferPointer { run($0.baseAddress, count, into: &samples) }
    }

    /// Appends what it still holds.
    mutating func drain(into samples: inout [Float]) {
        run(nil, 0, into: &samples)
        limiter?.drain(into: &samples)
    }

    private mutating func run(_ planes: UnsafePointer<UnsafePointer<UInt8>?>?, _ count: Int32, into samples: inout [Float]) {
        let capacity = Int(swr_get_out_samples(context, count))
        guard capacity > 0 else { return }
        let begin = samples.count
        samples.append(addingCapacity: capacity * output.channelCount) { space in
            space.withUnsafeMutableBufferPointer { floats, filled in
                var plane = UnsafeMutableRawPointer(floats.baseAddress)?.assumingMemoryBound(to: UInt8.self)
                let produced = swr_convert(context, &plane, Int32(capacity), UnsafeMutablePointer(mutating: planes), count)
                filled = Int(max(0, produced)) * output.channelCount
            }
        }
        limiter?.limit(&samples, from: begin)
    }
}
