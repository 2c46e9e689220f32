import Glibc

/// A media time, or a span of one, in whole nanoseconds.
///
/// Frame times that are not a whole number of nanoseconds (1001/30000 s) are rounded once, from the stream's own time base, so
/// nothing accumulates. An `Int64` of nanoseconds lasts 292 years.
public struct MediaTime: Hashable, Comparable, Sendable, AdditiveArithmetic {
    /// The value in nanoseconds.
    public var nanoseconds: Int64

    /// A time of `nanoseconds`.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// A time of `seconds`, rounded to the nearest nanosecond; `seconds` must be finite and within ±292 years.
    public init(seconds: Double) { nanoseconds = Int64((seconds * 1e9).rounded()) }

    /// The value in seconds.
    public var seconds: Double { Double(nanoseconds) / 1e9 }

    /// No time at all.
    public static let zero = MediaTime(nanoseconds: 0)

    /// A time of whole milliseconds.
    public static func milliseconds(_ value: Int64) -> MediaTime { MediaTime(nanoseconds: value * 1_000_000) }

    /// A time of `value` seconds.
    public static func seconds(_ value: Double) -> MediaTime { MediaTime(seconds: value) }

    /// Whether `a` is earlier or shorter.
    public static func < (a: MediaTime, b: MediaTime) -> Bool { a.nanoseconds < b.nanoseconds }
    /// The sum.
    public static func + (a: MediaTime, b: MediaTime) -> MediaTime { MediaTime(nanoseconds: a.nanoseconds + b.nanoseconds) }
    /// The difference.
    public static func - (a: MediaTime, b: MediaTime) -> MediaTime { MediaTime(nanoseconds: a.nanoseconds - b.nanoseconds) }
    /// `a` multiplied by a count.
    public static func * (a: MediaTime, count: Int64) -> MediaTime { MediaTime(nanoseconds: a.nanoseconds * count) }
    /// The span with the opposite sign.
    public static prefix func - (a: MediaTime) -> MediaTime { MediaTime(nanoseconds: -a.nanoseconds) }

    /// The span stretched by `factor`, rounded to the nearest nanosecond.
    public func scaled(by factor: Double) -> MediaTime {
        MediaTime(nanoseconds: Int64((Double(nanoseconds) * factor).rounded()))
    }
}

extension MediaTime: CustomStringConvertible {
    /// `1:02:03.4`, hours only where there are any.
    public var description: String {
        let tenths = (abs(nanoseconds) + 50_000_000) / 100_000_000
        let (hours, minutes, seconds) = (tenths / 36_000, tenths / 600 % 60, tenths / 10 % 60)
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let clock = hours > 0 ? "\(hours):\(two(minutes)):\(two(seconds))" : "\(minutes):\(two(seconds))"
        return "\(nanoseconds < 0 ? "-" : "")\(clock).\(tenths % 10)"
    }
}

/// An instant of CLOCK_MONOTONIC, in nanoseconds: the clock of page-flip events, of ALSA status timestamps as we ask for them,
/// and of every deadline in this program. Setting the wall clock does not touch it.
public struct HostTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's own epoch (boot).
    public var nanoseconds: Int64

    /// The instant `nanoseconds` after the epoch.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The present instant. The corresponding C function is `clock_gettime`.
    public static var now: HostTime {
        var time = Glibc.timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return HostTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Whether `a` is earlier.
    public static func < (a: HostTime, b: HostTime) -> Bool { a.nanoseconds < b.nanoseconds }
    /// The span from `b` to `a`.
    public static func - (a: HostTime, b: HostTime) -> MediaTime { MediaTime(nanoseconds: a.nanoseconds - b.nanoseconds) }
    /// The instant a span after `a`.
    public static func + (a: HostTime, b: MediaTime) -> HostTime { HostTime(nanoseconds: a.nanoseconds + b.nanoseconds) }
    /// The instant a span before `a`.
    public static func - (a: HostTime, b: MediaTime) -> HostTime { HostTime(nanoseconds: a.nanoseconds - b.nanoseconds) }
    /// Moves the instant later by a span.
    public static func += (a: inout HostTime, b: MediaTime) { a = a + b }

    /// The instant as a `timespec`, for the calls that take an absolute time.
    public var timespec: Glibc.timespec {
        Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
