import CKioskFFmpeg
import KioskMedia
import KioskPlatform
import KioskPlayback

/// Makes film sound of what a card has recorded: converts, puts every sample where it belongs in the film, follows the card's pace, and measures how loud it
/// is. The corresponding C functions are `swr_convert` and `swr_set_compensation`.
struct SoundResampler: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    private let context: OpaquePointer
    private let layout: CapturePCM.Layout
    private let format: AudioFormat
    private var clock: DeviceClock
    private var pacer: SoundPacer
    /// Samples of the film's rate that are still to be left out.
    private var excess = 0
    private var isInFilm = false
    /// The loudest sample of late, 0…1; falls slowly.
    private(set) var level: Float = 0

    /// What is to be written next.
    struct Piece {
        /// Samples of each channel of silence before.
        var silence: Int
        /// Interleaved.
        var samples: [Float]
    }

    /// nil where libswresample cannot convert the card's samples.
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
        // It has to resample where both rates are the same, too.
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

    /// Sound in the film is behind by so many seconds.
    var error: Double { pacer.error }

    /// Takes in what the card has recorded, while the film has been written up to sample `position`. `film` is nil where nothing of it belongs to the film.
    mutating func add(_ sound: RecordedSound, position: Int, film: (HostTime) -> MediaTime?) -> Piece {
        if sound.isInterrupted {
            clock.restart()
            pacer.interrupt()
        }
        clock.report(frames: Double(sound.heard), at: sound.time)
        // When its first frame was at the microphone.
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
        // Down by 20 dB in a second, whatever the length of a piece.
        let seconds = Float(samples.count / format.channelCount) / Float(format.sampleRate)
        level = max(min(loudest, 1), level * max(0, 1 - 2.3 * seconds))
    }

}
