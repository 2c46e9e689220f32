import Glibc

// Times are `public`, although no product needs them to be: the compiler (Swift 6.3) inlines small public functions across modules in a
// release build, and calls `package` ones.

/// A media time, or a span of one, in whole nanoseconds.
///
/// Frame times that are not a whole number of nanoseconds (1001/30000 s) are rounded once, from the stream's time base, so errors do not
/// accumulate. An `Int64` of nanoseconds lasts 292 years. Arithmetic saturates there, so that no number from a file or a device can trap.
public struct MediaTime: Hashable, Comparable, Sendable, AdditiveArithmetic {
    /// The value in nanoseconds.
    public var nanoseconds: Int64

    /// A time of `nanoseconds`.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// A time of `seconds`, rounded to the nearest nanosecond and clamped to ±292 years; zero for NaN.
    public init(seconds: Double) { nanoseconds = Int64(saturating: seconds * 1e9) }

    /// The value in seconds.
    public var seconds: Double { Double(nanoseconds) / 1e9 }

    /// Zero seconds.
    public static let zero = MediaTime(nanoseconds: 0)

    /// A time of whole milliseconds.
    public static func milliseconds(_ value: Int64) -> MediaTime { MediaTime(nanoseconds: 1_000_000) * value }

    /// A time of `value` seconds.
    public static func seconds(_ value: Double) -> MediaTime { MediaTime(seconds: value) }

    /// Whether `a` is earlier or shorter.
    public static func < (a: MediaTime, b: MediaTime) -> Bool { a.nanoseconds < b.nanoseconds }
    /// The sum.
    public static func + (a: MediaTime, b: MediaTime) -> MediaTime { MediaTime(nanoseconds: a.nanoseconds.addingSaturating(b.nanoseconds)) }
    /// The difference.
    public static func - (a: MediaTime, b: MediaTime) -> MediaTime {
        MediaTime(nanoseconds: a.nanoseconds.subtractingSaturating(b.nanoseconds))
    }
    /// `a` multiplied by a count.
    public static func * (a: MediaTime, count: Int64) -> MediaTime {
        let (product, overflow) = a.nanoseconds.multipliedReportingOverflow(by: count)
        return MediaTime(nanoseconds: overflow ? ((a.nanoseconds < 0) == (count < 0) ? .max : .min) : product)
    }
    /// The span with the opposite sign.
    public static prefix func - (a: MediaTime) -> MediaTime { .zero - a }

    /// The span stretched by `factor`, rounded to the nearest nanosecond; zero for NaN.
    public func scaled(by factor: Double) -> MediaTime { MediaTime(nanoseconds: Int64(saturating: Double(nanoseconds) * factor)) }
}

extension FixedWidthInteger {
    /// `value` rounded to the nearest whole number and clamped to what the type holds; zero for NaN.
    public init(saturating value: Double) {
        let rounded = value.rounded()
        self = Self(exactly: rounded) ?? (rounded.isNaN ? 0 : rounded < 0 ? .min : .max)
    }
}

extension Int64 {
    fileprivate func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    fileprivate func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}

extension MediaTime: CustomStringConvertible {
    /// `1:02:03.4`, without hours below one hour.
    public var description: String {
        let tenths = (nanoseconds.magnitude + 50_000_000) / 100_000_000
        let (hours, minutes, seconds) = (tenths / 36_000, tenths / 600 % 60, tenths / 10 % 60)
        let clock = (hours > 0 ? "\(hours):\(minutes.padded(to: 2))" : "\(minutes)") + ":\(seconds.padded(to: 2))"
        return "\(nanoseconds < 0 ? "-" : "")\(clock).\(tenths % 10)"
    }
}

/// An instant of CLOCK_MONOTONIC, in nanoseconds: the clock of page-flip events, of ALSA's status timestamps (as configured), of
/// evdev events (as configured), and of every deadline in this program. Setting the date does not change it.
public struct HostTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's own epoch (boot).
    public var nanoseconds: Int64

    /// The instant `nanoseconds` after the epoch.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The current instant. The corresponding C function is `clock_gettime`.
    public static var now: HostTime {
        HostTime(nanoseconds: KioskPlatform.nanoseconds(of: CLOCK_MONOTONIC))
    }

    /// Whether `a` is earlier.
    public static func < (a: HostTime, b: HostTime) -> Bool { a.nanoseconds < b.nanoseconds }
    /// The span from `b` to `a`.
    public static func - (a: HostTime, b: HostTime) -> MediaTime {
        MediaTime(nanoseconds: a.nanoseconds.subtractingSaturating(b.nanoseconds))
    }
    /// The instant a span after `a`.
    public static func + (a: HostTime, b: MediaTime) -> HostTime {
        HostTime(nanoseconds: a.nanoseconds.addingSaturating(b.nanoseconds))
    }
    /// The instant a span before `a`.
    public static func - (a: HostTime, b: MediaTime) -> HostTime {
        HostTime(nanoseconds: a.nanoseconds.subtractingSaturating(b.nanoseconds))
    }
    /// Moves the instant later by a span.
    public static func += (a: inout HostTime, b: MediaTime) { a = a + b }

    /// The instant as a `timespec`, for the calls that take an absolute time.
    public var timespec: Glibc.timespec {
        Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

extension HostTime {
    package init(_ time: Glibc.timespec) { self.init(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)) }
    package init(_ time: timeval) { self.init(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_usec) &* 1000) }
}

/// Returns the time of a system clock, in nanoseconds. The corresponding C function is `clock_gettime`.
package func nanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return HostTime(time).nanoseconds
}
