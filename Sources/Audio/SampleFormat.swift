import CKioskALSA

/// A sample format of a card that this module can convert floats to; little-endian, like all supported machines.
enum SampleFormat: CaseIterable, Sendable {
    // In the order of preference: every HDMI display accepts 16 bits, and most files have them.
    case s16
    case s32
    case s24Packed
    case s24
    case float

    /// The kernel's name, for log lines and listings. The corresponding C function is `snd_pcm_format_name`.
    var name: String { String(cString: snd_pcm_format_name(alsa)) }

    var alsa: snd_pcm_format_t {
        switch self {
        case .s16: SND_PCM_FORMAT_S16_LE
        case .s32: SND_PCM_FORMAT_S32_LE
        case .s24Packed: SND_PCM_FORMAT_S24_3LE
        case .s24: SND_PCM_FORMAT_S24_LE
        case .float: SND_PCM_FORMAT_FLOAT_LE
        }
    }

    /// The corresponding C function is `snd_pcm_format_physical_width`.
    var bytesPerSample: Int { Int(snd_pcm_format_physical_width(alsa)) / 8 }
}

/// The layout of a card's frames in memory: interleaved, with the card's number of channels.
struct FrameLayout: Hashable, Sendable {
    var sample: SampleFormat
    /// The loudspeaker of each channel; nil for a channel that stays silent.
    var speakers: [Speaker?]

    var channelCount: Int { speakers.count }
    var bytesPerFrame: Int { sample.bytesPerSample * channelCount }

    init(sample: SampleFormat, speakers: [Speaker?]) { (self.sample, self.speakers) = (sample, speakers) }

    /// Creates a layout with this number of channels in ALSA's order.
    init(sample: SampleFormat, channelCount: Int) { self.init(sample: sample, speakers: Speaker.standard(channelCount)) }

    /// Returns the mix from this number of rendered channels. Returns nil for two rendered channels if they are the card's first two, or if
    /// the card has one channel. ``convert(_:into:)`` then converts them.
    func mix(from renderedCount: Int) -> ChannelMix? {
        let isPlain = renderedCount == 2 && (channelCount == 1 || speakers.starts(with: [.frontLeft, .frontRight]))
        return isPlain ? nil : ChannelMix(from: renderedCount, to: speakers)
    }

    /// The name of the channels: `5.1` for six channels with their six loudspeakers, and similar names.
    var channelName: String {
        let present = Set(speakers.compactMap(\.self))
        let hasBase = present.isSuperset(of: [.frontLeft, .frontRight, .frontCentre, .lowFrequency])
        let (hasBack, hasSides) = (present.isSuperset(of: [.backLeft, .backRight]), present.isSuperset(of: [.sideLeft, .sideRight]))
        return switch channelCount {
        case 1: "mono"
        case 2: "stereo"
        case 6 where hasBase && (hasBack || hasSides): "5.1"
        case 8 where hasBase && hasBack && hasSides: "7.1"
        default: "\(channelCount) channels"
        }
    }

    /// Converts stereo floats to this layout. A single channel gets the mean of left and right; channels after the second are silent.
    ///
    /// Full scale is 2^(bits−1), so samples decoded from integers of the same width stay unchanged. Values outside −1…1 are clamped, and
    /// NaN becomes silence. `bytes` must hold as many frames as `stereo`.
    func convert(_ stereo: UnsafeBufferPointer<Float>, into bytes: UnsafeMutableRawBufferPointer) {
        precondition(bytes.count >= stereo.count / 2 * bytesPerFrame)
        switch sample {
        case .s16: write(stereo, bytes) { Int16(truncatingIfNeeded: Self.quantise($0, 32_768)) }
        case .s32: write(stereo, bytes) { Int32(truncatingIfNeeded: Self.quantise($0, 2_147_483_648)) }
        case .s24: write(stereo, bytes) { Int32(truncatingIfNeeded: Self.quantise($0, 8_388_608)) }
        case .s24Packed: write(stereo, bytes) { Packed24(Self.quantise($0, 8_388_608)) }
        case .float: write(stereo, bytes) { Float(Self.clamp($0)) }
        }
    }

    /// Converts frames with `mix`, clamped as above; stereo if it is nil.
    func convert(_ samples: UnsafeBufferPointer<Float>, by mix: ChannelMix?, into bytes: UnsafeMutableRawBufferPointer) {
        guard let mix else { return convert(samples, into: bytes) }
        precondition(bytes.count >= samples.count / mix.renderedCount * bytesPerFrame && mix.sources.count == channelCount)
        switch sample {
        case .s16: write(samples, mix, bytes) { Int16(truncatingIfNeeded: Self.quantise($0, 32_768)) }
        case .s32: write(samples, mix, bytes) { Int32(truncatingIfNeeded: Self.quantise($0, 2_147_483_648)) }
        case .s24: write(samples, mix, bytes) { Int32(truncatingIfNeeded: Self.quantise($0, 8_388_608)) }
        case .s24Packed: write(samples, mix, bytes) { Packed24(Self.quantise($0, 8_388_608)) }
        case .float: write(samples, mix, bytes) { Float(Self.clamp($0)) }
        }
    }

    /// Channel by channel: all frames are in the processor's cache.
    @inline(__always)
    private func write<Sample: BitwiseCopyable>(
        _ samples: UnsafeBufferPointer<Float>, _ mix: ChannelMix, _ bytes: UnsafeMutableRawBufferPointer, _ convert: (Double) -> Sample
    ) {
        let (size, stride, frames) = (sample.bytesPerSample, bytesPerFrame, samples.count / mix.renderedCount)
        for (channel, sources) in mix.sources.enumerated() {
            var offset = channel * size
            if sources.count == 1, sources[0].gain == 1 {
                var index = sources[0].channel
                for _ in 0..<frames {
                    bytes.storeBytes(of: convert(Double(samples[index])), toByteOffset: offset, as: Sample.self)
                    (index, offset) = (index + mix.renderedCount, offset + stride)
                }
                continue
            }
            for frame in 0..<frames {
                var sum = 0.0
                for source in sources { sum += Double(samples[frame * mix.renderedCount + source.channel]) * source.gain }
                bytes.storeBytes(of: convert(sum), toByteOffset: offset, as: Sample.self)
                offset += stride
            }
        }
    }

    @inline(__always)
    private func write<Sample: BitwiseCopyable>(
        _ stereo: UnsafeBufferPointer<Float>, _ bytes: UnsafeMutableRawBufferPointer, _ convert: (Double) -> Sample
    ) {
        let size = sample.bytesPerSample
        let silence = convert(0)
        let channelCount = channelCount
        var offset = 0
        for frame in 0..<stereo.count / 2 {
            let (left, right) = (Double(stereo[2 * frame]), Double(stereo[2 * frame + 1]))
            if channelCount == 1 {
                bytes.storeBytes(of: convert((left + right) / 2), toByteOffset: offset, as: Sample.self)
                offset += size
                continue
            }
            bytes.storeBytes(of: convert(left), toByteOffset: offset, as: Sample.self)
            bytes.storeBytes(of: convert(right), toByteOffset: offset + size, as: Sample.self)
            offset += 2 * size
            for _ in 2..<channelCount {
                bytes.storeBytes(of: silence, toByteOffset: offset, as: Sample.self)
                offset += size
            }
        }
    }

    @inline(__always)
    private static func quantise(_ value: Double, _ fullScale: Double) -> Int64 {
        value.isNaN ? 0 : Int64(min(max((value * fullScale).rounded(.toNearestOrEven), -fullScale), fullScale - 1))
    }

    @inline(__always)
    private static func clamp(_ value: Double) -> Double { value.isNaN ? 0 : min(max(value, -1), 1) }
}

/// Three bytes, least significant first.
private struct Packed24: BitwiseCopyable {
    var low: UInt8, middle: UInt8, high: UInt8

    @inline(__always)
    init(_ value: Int64) {
        low = UInt8(truncatingIfNeeded: value)
        middle = UInt8(truncatingIfNeeded: value >> 8)
        high = UInt8(truncatingIfNeeded: value >> 16)
    }
}
