internal import KioskPlatform

extension MediaTime {
    /// A span of the standard library, to the nanosecond; the longest there is where it is longer.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self.init(nanoseconds: overflow ? (seconds < 0 ? .min : .max) : whole)
        self = self + MediaTime(nanoseconds: attoseconds / 1_000_000_000)
    }

    /// The same as a span of the standard library.
    var duration: Duration { .nanoseconds(nanoseconds) }
}
