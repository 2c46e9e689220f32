import CKioskFFmpeg
import KioskPlatform

// Converts FFmpeg's times, rates and sample numbers. A file can put any 64 bits into a timestamp and any 32 into either half of a time base
// or a frame rate. libavutil returns AV_NOPTS_VALUE if a conversion overflows. An implausible time becomes nil here, so the rest of the
// program never sees one.

extension MediaTime {
    /// The longest plausible timestamp or duration: a hundred years. Longer ones are damage. Sums of a few of them are exact in an `Int64`
    /// of nanoseconds.
    package static let longestPlausible = MediaTime(nanoseconds: 100 * 31_557_600 * 1_000_000_000)

    /// Converts `ticks` of a stream's time base; nil for AV_NOPTS_VALUE, a time base that is not positive, and beyond ``longestPlausible``.
    /// The corresponding C function is `av_rescale_q`.
    init?(ticks: Int64, of base: AVRational) {
        guard ticks != kAV_NOPTS_VALUE, base.num > 0, base.den > 0 else { return nil }
        let nanoseconds = av_rescale_q(ticks, base, shim_rational(1, 1_000_000_000))
        // On overflow the result is Int64.min, which is beyond the limit, too.
        guard -Self.longestPlausible.nanoseconds...Self.longestPlausible.nanoseconds ~= nanoseconds else { return nil }
        self.init(nanoseconds: nanoseconds)
    }

    /// Returns this time in ticks of a stream's time base, clamped to 64 bits; never AV_NOPTS_VALUE.
    func ticks(of base: AVRational) -> Int64 {
        guard base.num > 0, base.den > 0 else { return 0 }
        let ticks = av_rescale_q(nanoseconds, shim_rational(1, 1_000_000_000), base)
        return ticks != .min ? ticks : nanoseconds < 0 ? .min + 1 : .max
    }

    /// Returns the time of frame number `count` at `sampleRate` a second, clamped to ±292 years.
    static func frames(_ count: Int64, sampleRate: Int) -> MediaTime {
        let nanoseconds = av_rescale(count, 1_000_000_000, Int64(sampleRate))
        return MediaTime(nanoseconds: nanoseconds != .min ? nanoseconds : count < 0 ? .min : .max)
    }

    /// Returns the number of the sound frame at this time, at `sampleRate` a second, clamped.
    func frameNumber(sampleRate: Int) -> Int64 { ticks(of: shim_rational(1, Int32(sampleRate))) }
}

extension AVRational {
    /// The frame rate in frames a second; nil if implausible: below one a day, or above a hundred thousand a second.
    var plausibleFrameRate: Double? {
        guard num > 0, den > 0 else { return nil }
        let rate = Double(num) / Double(den)
        return 1.0 / 86_400...100_000 ~= rate ? rate : nil
    }

    /// The duration of a frame at this rate; nil if ``plausibleFrameRate`` is nil.
    var frameDuration: MediaTime? { plausibleFrameRate == nil ? nil : MediaTime(ticks: 1, of: shim_rational(den, num)) }
}

extension UnsafeMutablePointer<AVStream> {
    /// Converts a value of the stream's time base to a time; nil if unknown.
    func time(_ value: Int64) -> MediaTime? { MediaTime(ticks: value, of: pointee.time_base) }
}
