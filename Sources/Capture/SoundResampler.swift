import CKioskFFmpeg
import KioskMedia
import KioskPlatform
import KioskPlayback

/// Converts recorded sound to the film's: puts every sample at its place in the film, follows the card's pace, and measures the loudness.
/// The corresponding C functions are `swr_convert` and `swr_set_compensation`.
struct SoundResampler: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer has a single owner.
    private let context: OpaquePointer
    private let layout: CapturePCM.Layout
    private let format: AudioFormat
    private var clock: DeviceClock
    private var pacer: SoundPacer
    /// Samples still to drop, at the film's rate.
    private var excess = 0
    private var isInFilm = false
    /// The recent peak, 0…1; it falls slowly.
    private(set) var level: Float = 0

    /// The next piece to write.
    struct Piece {
        /// Samples of silence before it, for each channel.
        var silence: Int
        /// The interleaved samples.
        var samples: [Float]
    }

    /// Makes a resampler; nil if libswresample cannot convert the card's samples.
    init?(_ layout: CapturePCM.Layout, to format: AudioFormat) {
        var (source, target) = (AVChannelLayout(), AVChannelLayout())
        av_channel_layout_default(&source, Int32(layout.channelCount))
        av_channel_layout_default(&target, Int32(format.channelCount))
        let sample =
            switch layout.sample {
            case .s16: AV_SAMPLE_FMT_S16
            case .s32: AV_SAMPLE_FMT_S32
            case .float: AV_SAMPLE_FMT_FLT
            }
        var pointer: OpaquePointer?
        guard
            swr_alloc_set_opts2(
                &pointer, &target, AV_SAMPLE_FMT_FLT, Int32(format.sampleRate), &source, sample, Int32(layout.sampleRate), 0, nil) >= 0,
            let context = pointer
        else { return nil }
        // Forces resampling even if both rates are equal.
        av_opt_set_int(UnsafeMutableRawPointer(context), "flags", Int64(SWR_FLAG_RESAMPLE), 0)
        guard swr_init(context) >= 0 else {
            swr_free(&pointer)
            return nil
        }
        self.context = context
        (self.layout, self.format) = (layout, format)
        clock = DeviceClock(sampleRate: layout.sampleRate)
        pacer = SoundPacer(sampleRate: format.sampleRate)
    }

    deinit {
        var pointer: OpaquePointer? = context
        swr_free(&pointer)
    }

    /// By how many seconds the sound is behind in the film.
    var error: Double { pacer.error }

    /// Converts recorded sound; the film has been written up to sample `position`. `film` returns a time's place in the film, or nil
    /// outside it.
    mutating func add(_ sound: RecordedSound, position: Int, film: (HostTime) -> MediaTime?) -> Piece {
        if sound.isInterrupted {
            clock.restart()
            pacer.interrupt()
        }
        clock.report(frames: Double(sound.heard), at: sound.time)
        // The time at which its first frame reached the microphone.
        let behind = (clock.frames(at: sound.time) ?? Double(sound.heard)) - Double(sound.position)
        let begin = sound.time - .seconds(behind / Double(layout.sampleRate))
        guard let time = film(begin) else {
            note(convert(sound))
            if isInFilm { pacer.interrupt() }
            (isInFilm, excess) = (false, 0)
            return Piece(silence: 0, samples: [])
        }
        isInFilm = true
        let delay = Int(swr_get_delay(context, Int64(format.sampleRate)))
        let order = pacer.order(at: time, position: position + delay - excess)
        excess += order.skipped
        swr_set_compensation(context, Int32(order.correction), Int32(format.sampleRate))
        var samples = convert(sound)
        note(samples)
        let left = min(excess, samples.count / format.channelCount)
        samples.removeFirst(left * format.channelCount)
        excess -= left
        return Piece(silence: order.silence, samples: samples)
    }

    private mutating func convert(_ sound: RecordedSound) -> [Float] {
        let capacity = Int(swr_get_out_samples(context, Int32(clamping: sound.frameCount)))
        guard capacity > 0 else { return [] }
        let channels = format.channelCount
        return sound.bytes.withUnsafeBufferPointer { bytes in
            [Float](unsafeUninitializedCapacity: capacity * channels) { floats, filled in
                var plane = UnsafeMutableRawPointer(floats.baseAddress)?.assumingMemoryBound(to: UInt8.self)
                var source = bytes.baseAddress
                let made = swr_convert(context, &plane, Int32(clamping: capacity), &source, Int32(clamping: sound.frameCount))
                filled = Int(max(0, made)) * channels
            }
        }
    }

    private mutating func note(_ samples: [Float]) {
        let loudest = samples.reduce(0) { max($0, abs($1)) }
        // Falls by 20 dB in a second, independently of the length of a piece.
        let seconds = Float(samples.count / format.channelCount) / Float(format.sampleRate)
        level = max(min(loudest, 1), level * max(0, 1 - 2.3 * seconds))
    }

}
