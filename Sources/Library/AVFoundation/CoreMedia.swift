// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import KioskPlayer

// The functions of CoreMedia, as C programs and older tutorials call them.

/// Nanoseconds a second: the timescale of many tutorials.
public let NSEC_PER_SEC: UInt64 = 1_000_000_000

/// Creates a fraction of seconds.
public func CMTimeMake(value: Int64, timescale: Int32) -> CMTime { CMTime(value: value, timescale: timescale) }
/// Creates the nearest fraction with this timescale.
public func CMTimeMakeWithSeconds(_ seconds: Double, preferredTimescale: Int32) -> CMTime {
    CMTime(seconds: seconds, preferredTimescale: preferredTimescale)
}
/// Returns a time in seconds.
public func CMTimeGetSeconds(_ time: CMTime) -> Double { time.seconds }
/// Returns the sum.
public func CMTimeAdd(_ a: CMTime, _ b: CMTime) -> CMTime { a + b }
/// Returns the difference.
public func CMTimeSubtract(_ a: CMTime, _ b: CMTime) -> CMTime { a - b }
/// Returns a multiple.
public func CMTimeMultiply(_ time: CMTime, multiplier: Int32) -> CMTime { time * multiplier }
/// Returns the time multiplied by a number.
public func CMTimeMultiplyByFloat64(_ time: CMTime, multiplier: Double) -> CMTime { time.multiplied(by: multiplier) }
/// Returns the time multiplied by a fraction.
public func CMTimeMultiplyByRatio(_ time: CMTime, multiplier: Int32, divisor: Int32) -> CMTime {
    time.multiplied(by: multiplier, over: divisor)
}
/// Returns -1, 0 or 1: whether the first time comes before, with or after the second.
public func CMTimeCompare(_ a: CMTime, _ b: CMTime) -> Int32 { a < b ? -1 : a == b ? 0 : 1 }
/// Returns the earlier time.
public func CMTimeMinimum(_ a: CMTime, _ b: CMTime) -> CMTime { min(a, b) }
/// Returns the later time.
public func CMTimeMaximum(_ a: CMTime, _ b: CMTime) -> CMTime { max(a, b) }
/// Returns the distance from zero.
public func CMTimeAbsoluteValue(_ time: CMTime) -> CMTime { time < .zero ? -time : time }
/// Returns the same time with another timescale.
public func CMTimeConvertScale(_ time: CMTime, timescale: Int32, method: CMTimeRoundingMethod) -> CMTime {
    time.convertScale(timescale, method: method)
}
/// Whether it is a time.
public func CMTIME_IS_VALID(_ time: CMTime) -> Bool { time.isValid }
/// Whether it is none.
public func CMTIME_IS_INVALID(_ time: CMTime) -> Bool { !time.isValid }
/// Whether nobody knows it.
public func CMTIME_IS_INDEFINITE(_ time: CMTime) -> Bool { time.isIndefinite }
/// Whether it is a number.
public func CMTIME_IS_NUMERIC(_ time: CMTime) -> Bool { time.isNumeric }
/// Creates a range.
public func CMTimeRangeMake(start: CMTime, duration: CMTime) -> CMTimeRange { CMTimeRange(start: start, duration: duration) }
/// Creates the range between two times.
public func CMTimeRangeFromTimeToTime(start: CMTime, end: CMTime) -> CMTimeRange { CMTimeRange(start: start, end: end) }
/// Returns the first time after a range.
public func CMTimeRangeGetEnd(_ range: CMTimeRange) -> CMTime { range.end }
/// Whether a time is in a range.
public func CMTimeRangeContainsTime(_ range: CMTimeRange, time: CMTime) -> Bool { range.containsTime(time) }
/// Returns the times in both ranges.
public func CMTimeRangeGetIntersection(_ range: CMTimeRange, otherRange: CMTimeRange) -> CMTimeRange { range.intersection(otherRange) }
/// Returns the smallest range that has both.
public func CMTimeRangeGetUnion(_ range: CMTimeRange, otherRange: CMTimeRange) -> CMTimeRange { range.union(otherRange) }

/// A clock of the machine: only the host's.
public struct CMClock: Sendable {
    /// The host's clock.
    public static var hostTimeClock: CMClock { CMClock() }
    /// The current time of the clock.
    public var time: CMTime { .hostTime }
}

/// Returns the host's clock.
public func CMClockGetHostTimeClock() -> CMClock { .hostTimeClock }
/// Returns the current time of a clock.
public func CMClockGetTime(_ clock: CMClock) -> CMTime { clock.time }

extension CMTimeRange {
    /// The range itself: on Apple's systems an NSValue holds it.
    public var timeRangeValue: CMTimeRange { self }
}

extension CMTime {
    /// The time itself: on Apple's systems an NSValue holds it.
    public var timeValue: CMTime { self }
}
