package import KioskPlatform

/// A time as an exact fraction of seconds: `value` / `timescale`. A frame of NTSC is 1001/30000 s, which no decimal fraction is.
///
/// The type is CoreMedia's, without its epoch. Times are equal if they are the same number: 1/2 and 2/4. The special values order as in
/// CoreMedia: -∞, all numbers, +∞, indefinite, invalid. A sum that no fraction of 64 and 32 bits holds is rounded, and `hasBeenRounded`.
public struct CMTime: Sendable {
    private enum Kind: Int8 { case negativeInfinity, number, positiveInfinity, indefinite, invalid }

    /// The numerator; 0 for special values.
    public let value: Int64
    /// The denominator: units a second, above zero; 0 for special values.
    public let timescale: Int32
    /// Whether an operation has rounded it.
    public let hasBeenRounded: Bool
    private let kind: Kind

    private init(_ kind: Kind) { (value, timescale, hasBeenRounded, self.kind) = (0, 0, false, kind) }

    private init(_ value: Int64, _ timescale: Int32, isRounded: Bool) {
        (self.value, self.timescale, hasBeenRounded, kind) = (value, timescale, isRounded, .number)
    }

    /// Zero seconds.
    public static let zero = CMTime(value: 0, timescale: 1)
    /// No time.
    public static let invalid = CMTime(.invalid)
    /// A time that nobody knows: the duration of a live stream.
    public static let indefinite = CMTime(.indefinite)
    /// After and before all times.
    public static let positiveInfinity = CMTime(.positiveInfinity), negativeInfinity = CMTime(.negativeInfinity)

    /// No time.
    public init() { self = .invalid }

    /// Creates a fraction of seconds; invalid unless `timescale` is above zero.
    public init(value: Int64, timescale: Int32) {
        self = timescale > 0 ? CMTime(value, timescale, isRounded: false) : .invalid
    }

    /// Creates the nearest fraction with this timescale, or with a smaller one if the value is too large for it.
    public init(seconds: Double, preferredTimescale: Int32) {
        let limit = 0x1p63
        var scale = preferredTimescale
        while scale > 1, abs(seconds) * Double(scale) >= limit { scale /= 2 }
        let value = (seconds * Double(scale)).rounded()
        if preferredTimescale <= 0 || seconds.isNaN {
            self = .invalid
        } else if abs(value) < limit {
            self.init(Int64(value), scale, isRounded: value / Double(scale) != seconds)
        } else {
            self = seconds > 0 ? .positiveInfinity : .negativeInfinity
        }
    }

    /// Creates the same time as a duration: to the nanosecond, or as exactly as 64 bits allow.
    public init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = Self.nearest(Int128(seconds) * 1_000_000_000 + Int128(attoseconds / 1_000_000_000), 1_000_000_000, isRounded: false)
    }

    /// A time in seconds, to the nanosecond.
    public static func seconds(_ seconds: Double) -> CMTime { CMTime(seconds: seconds, preferredTimescale: 1_000_000_000) }
    /// A time in whole milliseconds.
    public static func milliseconds(_ milliseconds: Int) -> CMTime { CMTime(value: Int64(milliseconds), timescale: 1000) }

    /// Whether it is a number or an infinity, or indefinite.
    public var isValid: Bool { kind != .invalid }
    /// Whether it is a number.
    public var isNumeric: Bool { kind == .number }
    /// Whether nobody knows it.
    public var isIndefinite: Bool { kind == .indefinite }
    /// Whether it is after all times.
    public var isPositiveInfinity: Bool { kind == .positiveInfinity }
    /// Whether it is before all times.
    public var isNegativeInfinity: Bool { kind == .negativeInfinity }

    /// The same in seconds: an infinity, or no number (NaN), if it is one of these.
    public var seconds: Double {
        switch kind {
        case .number: Double(value) / Double(timescale)
        case .positiveInfinity: .infinity
        case .negativeInfinity: -.infinity
        case .indefinite, .invalid: .nan
        }
    }

    /// The same as a duration, to the nanosecond; nil unless it is a number.
    public var duration: Duration? { isNumeric ? .nanoseconds(1) * nanoseconds : nil }

    /// A number in nanoseconds, the nearest.
    private var nanoseconds: Int128 { Self.divided(Int128(value) * 1_000_000_000, Int128(timescale), .roundHalfAwayFromZero).value }

    // MARK: Scales

    /// The rule for a time that lies between two units of a timescale.
    public enum RoundingMethod: Hashable, Sendable {
        /// The nearest one; of two equally near ones that away from zero. The usual rule.
        case roundHalfAwayFromZero
        /// The one towards or away from zero.
        case roundTowardZero, roundAwayFromZero
        /// The later one, the earlier one.
        case roundTowardPositiveInfinity, roundTowardNegativeInfinity
        /// The usual rule.
        public static let `default` = Self.roundHalfAwayFromZero
    }

    /// Returns the same time with another timescale: infinite if 64 bits do not hold it, invalid unless the timescale is above zero.
    public func convertScale(_ newTimescale: Int32, method: RoundingMethod) -> CMTime {
        guard isNumeric else { return self }
        guard newTimescale > 0 else { return .invalid }
        let (converted, isExact) = Self.divided(Int128(value) * Int128(newTimescale), Int128(timescale), method)
        guard let value = Int64(exactly: converted) else { return converted > 0 ? .positiveInfinity : .negativeInfinity }
        return CMTime(value, newTimescale, isRounded: hasBeenRounded || !isExact)
    }

    private static func divided(_ a: Int128, _ b: Int128, _ method: RoundingMethod) -> (value: Int128, isExact: Bool) {
        let (quotient, rest) = a.quotientAndRemainder(dividingBy: b)
        if rest == 0 { return (quotient, true) }
        let away: Int128 = a < 0 ? -1 : 1
        let goesAway =
            switch method {
            case .roundHalfAwayFromZero: rest.magnitude * 2 >= b.magnitude
            case .roundTowardZero: false
            case .roundAwayFromZero: true
            case .roundTowardPositiveInfinity: a > 0
            case .roundTowardNegativeInfinity: a < 0
            }
        return (goesAway ? quotient + away : quotient, false)
    }

    /// The fraction itself if 64 and 32 bits hold it, also when it is reduced; else the nearest with a smaller timescale.
    private static func nearest(_ value: Int128, _ timescale: Int128, isRounded: Bool) -> CMTime {
        if let value = Int64(exactly: value), let timescale = Int32(exactly: timescale) {
            return CMTime(value, timescale, isRounded: isRounded)
        }
        let common = Int128(divisor(value.magnitude, timescale.magnitude))
        let (whole, units) = (value / common, timescale / common)
        if let whole = Int64(exactly: whole), let units = Int32(exactly: units) { return CMTime(whole, units, isRounded: isRounded) }
        var scale = min(units, Int128(Int32.max))
        while true {
            // The product has at most 94 + 31 bits.
            let rounded = divided(whole * scale, units, .roundHalfAwayFromZero).value
            if let fitting = Int64(exactly: rounded) { return CMTime(fitting, Int32(scale), isRounded: true) }
            if scale == 1 { return rounded > 0 ? .positiveInfinity : .negativeInfinity }
            scale /= 2
        }
    }

    private static func divisor(_ a: UInt128, _ b: UInt128) -> UInt128 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return max(a, 1)
    }

    // MARK: Arithmetic

    /// The sum. Of special values the first in this order counts: invalid, indefinite, an infinity; two unlike infinities are invalid.
    public static func + (a: CMTime, b: CMTime) -> CMTime {
        if a.isNumeric, b.isNumeric {
            let isRounded = a.hasBeenRounded || b.hasBeenRounded
            let common = Int128(divisor(UInt128(a.timescale), UInt128(b.timescale)))
            let (left, right) = (Int128(b.timescale) / common, Int128(a.timescale) / common)
            return nearest(Int128(a.value) * left + Int128(b.value) * right, Int128(a.timescale) * left, isRounded: isRounded)
        }
        if !a.isValid || !b.isValid { return .invalid }
        if a.isIndefinite || b.isIndefinite { return .indefinite }
        if a.isNumeric { return b }
        return b.isNumeric || a.kind == b.kind ? a : .invalid
    }

    /// The opposite.
    public static prefix func - (a: CMTime) -> CMTime {
        switch a.kind {
        case .number: nearest(-Int128(a.value), Int128(a.timescale), isRounded: a.hasBeenRounded)
        case .positiveInfinity: .negativeInfinity
        case .negativeInfinity: .positiveInfinity
        case .indefinite, .invalid: a
        }
    }

    /// The difference, by the rules of a sum.
    public static func - (a: CMTime, b: CMTime) -> CMTime { a + -b }
    /// Adds a time.
    public static func += (a: inout CMTime, b: CMTime) { a = a + b }
    /// Subtracts a time.
    public static func -= (a: inout CMTime, b: CMTime) { a = a - b }

    /// A multiple, as exactly as 64 bits allow.
    public static func * (a: CMTime, b: Int32) -> CMTime { a.multiplied(by: Int128(b), over: 1) }

    /// Returns the time multiplied by a fraction, as exactly as 64 bits allow; invalid if the divisor is 0.
    public func multiplied(by multiplier: Int32, over divisor: Int32) -> CMTime {
        divisor == 0 ? .invalid : multiplied(by: Int128(multiplier) * (divisor < 0 ? -1 : 1), over: Int128(divisor.magnitude))
    }

    private func multiplied(by multiplier: Int128, over divisor: Int128) -> CMTime {
        switch kind {
        case .number: Self.nearest(Int128(value) * multiplier, Int128(timescale) * divisor, isRounded: hasBeenRounded)
        case .positiveInfinity, .negativeInfinity: multiplier == 0 ? .invalid : multiplier > 0 ? self : -self
        case .indefinite, .invalid: self
        }
    }

    /// Returns the time multiplied by a number, to the nanosecond or the own timescale, if that is finer.
    public func multiplied(by factor: Double) -> CMTime {
        CMTime(seconds: seconds * factor, preferredTimescale: max(timescale, 1_000_000_000))
    }

    /// How often `b` fits into `a`.
    public static func / (a: CMTime, b: CMTime) -> Double { a.seconds / b.seconds }
}

extension CMTime: Comparable {
    /// Whether they are the same number, or the same special value.
    public static func == (a: CMTime, b: CMTime) -> Bool {
        a.kind == b.kind && Int128(a.value) * Int128(b.timescale) == Int128(b.value) * Int128(a.timescale)
    }

    /// Whether the first one comes earlier.
    public static func < (a: CMTime, b: CMTime) -> Bool {
        if a.kind != b.kind { return a.kind.rawValue < b.kind.rawValue }
        return Int128(a.value) * Int128(b.timescale) < Int128(b.value) * Int128(a.timescale)
    }
}

extension CMTime: Hashable {
    /// Hashes the reduced fraction.
    public func hash(into hasher: inout Hasher) {
        let common = Int128(Self.divisor(UInt128(value.magnitude), UInt128(timescale.magnitude)))
        hasher.combine(kind)
        hasher.combine(Int128(value) / common)
        hasher.combine(Int128(timescale) / common)
    }
}

extension CMTime: CustomStringConvertible {
    /// `1001/30000 s`, or the name of the special value.
    public var description: String {
        switch kind {
        case .number: "\(value)/\(timescale) s"
        case .positiveInfinity: "+infinity"
        case .negativeInfinity: "-infinity"
        case .indefinite: "indefinite"
        case .invalid: "invalid"
        }
    }
}

/// The times from `start` on, for `duration`: CoreMedia's CMTimeRange.
public struct CMTimeRange: Hashable, Sendable {
    /// The first time.
    public var start: CMTime
    /// The length; zero or above in a valid range.
    public var duration: CMTime

    /// No range.
    public static let invalid = CMTimeRange(start: .invalid, duration: .invalid)
    /// The empty range at zero.
    public static let zero = CMTimeRange(start: .zero, duration: .zero)

    /// Creates a range from its first time and its length.
    public init(start: CMTime, duration: CMTime) { (self.start, self.duration) = (start, duration) }
    /// Creates the range between two times; `end` is not in it.
    public init(start: CMTime, end: CMTime) { self.init(start: start, duration: end - start) }

    /// The first time after it.
    public var end: CMTime { start + duration }
    /// Whether it has a first time and a length that is not below zero.
    public var isValid: Bool { start.isValid && duration.isValid && duration >= .zero }
    /// Whether it is invalid or has no length.
    public var isEmpty: Bool { !isValid || duration == .zero }

    /// Whether a time is in it.
    public func containsTime(_ time: CMTime) -> Bool { isValid && start <= time && time < end }
    /// Whether all of another range is in it.
    public func containsTimeRange(_ other: CMTimeRange) -> Bool {
        isValid && other.isValid && start <= other.start && other.end <= end && (!other.isEmpty || other.start < end)
    }

    /// The times in both; empty if there are none.
    public func intersection(_ other: CMTimeRange) -> CMTimeRange {
        guard isValid, other.isValid else { return .invalid }
        let (first, last) = (max(start, other.start), min(end, other.end))
        return first < last ? CMTimeRange(start: first, end: last) : .zero
    }

    /// The smallest range that has both.
    public func union(_ other: CMTimeRange) -> CMTimeRange {
        guard isValid, other.isValid else { return .invalid }
        return CMTimeRange(start: min(start, other.start), end: max(end, other.end))
    }
}

extension MediaTime {
    /// Creates the engine's time, to the nanosecond; nil if `time` is invalid or indefinite. Clamps what is longer.
    init?(_ time: CMTime) {
        guard time.isValid, !time.isIndefinite else { return nil }
        guard let nanoseconds = time.nanosecondsIfNumeric else {
            self.init(nanoseconds: time.isPositiveInfinity ? .max : .min)
            return
        }
        self.init(nanoseconds: Int64(clamping: nanoseconds))
    }
}

extension CMTime {
    fileprivate var nanosecondsIfNumeric: Int128? { isNumeric ? nanoseconds : nil }

    /// The engine's time.
    package init(_ time: MediaTime) { self.init(value: time.nanoseconds, timescale: 1_000_000_000) }

    /// The engine's time, to the nanosecond; nil if it is invalid or indefinite.
    package var mediaTime: MediaTime? { MediaTime(self) }
}
