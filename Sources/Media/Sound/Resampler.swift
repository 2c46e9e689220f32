import CKioskFFmpeg
import KioskPlatform

/// Converts decoded sound of one kind to the output format. The corresponding C library is libswresample.
struct Resampler: ~Copyable, @unchecked Sendable {
    // Sendable because only its single owner uses the pointer.
    private let context: OpaquePointer
    private let output: AudioFormat
    private let sampleRate: Int32
    private let format: Int32
    private let channelCount: Int32
    /// A message about lost sound; nil if nothing is lost.
    let limitation: String?
    /// Limits the level if channels are mixed down; nil otherwise.
    private var limiter: SoundLimiter?
    /// The samples added to each million.
    private var compensation: Int32 = 0

    deinit {
        var pointer: OpaquePointer? = context
        swr_free(&pointer)
    }

    /// Creates a converter for sound like that in `frame`; nil if libswresample cannot convert it. If libswresample cannot mix the channels
    /// down, takes the first two. They are the front pair in every layout that names its speakers. Ambisonics has no speakers. It is mixed
    /// as two microphones would hear it, one pointing to each side.
    init?(from frame: UnsafeMutablePointer<AVFrame>, to output: AudioFormat) {
        let count = frame.pointee.ch_layout.nb_channels
        let isAmbisonic = frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_AMBISONIC
        if !isAmbisonic, let context = Self.context(from: frame, to: output, matrix: nil) {
            self.context = context
            limitation = nil
        } else {
            var matrix = [Double](repeating: 0, count: Int(max(1, count)) * output.channelCount)
            // Channels beyond the front pair stay silent.
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

    /// Whether channels may be added: there are more than in the output, or some have no place of their own there.
    private static func mixesDown(_ frame: UnsafeMutablePointer<AVFrame>, to output: AudioFormat) -> Bool {
        let count = frame.pointee.ch_layout.nb_channels
        if count <= 2 || count > output.channelCount { return count > output.channelCount }
        guard frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_NATIVE else { return false }
        var target = AVChannelLayout()
        av_channel_layout_default(&target, Int32(output.channelCount))
        defer { av_channel_layout_uninit(&target) }
        return frame.pointee.ch_layout.u.mask & ~target.u.mask != 0
    }

    /// Creates a context that mixes by `matrix`, a row for each output channel. nil uses libswresample's own. Returns nil if that is not
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
        // A mix is as loud as libswresample's coefficients say. The limiter prevents clipping.
        av_opt_set_double(UnsafeMutableRawPointer(made), "rematrix_maxval", 1000, 0)
        guard swr_init(made) >= 0 else {
            swr_free(&pointer)
            return nil
        }
        return made
    }

    /// Whether `frame` has the sample rate, sample format and channel count of this converter.
    func accepts(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        frame.pointee.sample_rate == sampleRate && frame.pointee.format == format && frame.pointee.ch_layout.nb_channels == channelCount
    }

    /// Adds `rate` seconds of sound to each second, from now on. The corresponding C function is `swr_set_compensation`.
    mutating func compensate(by rate: Double) {
        let wanted = Int32(saturating: rate * 1e6)
        guard wanted != compensation, swr_set_compensation(context, wanted, 1_000_000) >= 0 else { return }
        compensation = wanted
    }

    /// The output frames still inside. The corresponding C function is `swr_get_delay`.
    var delay: Int64 { swr_get_delay(context, Int64(output.sampleRate)) + Int64(limiter?.heldFrames ?? 0) }

    /// Converts `count` of the frame's samples, from number `start` on, and appends them. The corresponding C function is `swr_convert`.
    mutating func convert(_ frame: UnsafeMutablePointer<AVFrame>, from start: Int32, count: Int32, into samples: inout [Float]) {
        let layout = AVSampleFormat(rawValue: frame.pointee.format)
        let isPlanar = av_sample_fmt_is_planar(layout) != 0
        let offset = Int(start) * Int(av_get_bytes_per_sample(layout)) * (isPlanar ? 1 : Int(channelCount))
        let planes = (0..<(isPlanar ? Int(channelCount) : 1)).map { frame.pointee.extended_data[$0].map { UnsafePointer($0 + offset) } }
        planes.withUnsafeBufferPointer { run($0.baseAddress, count, into: &samples) }
    }

    /// Appends the samples still inside.
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
