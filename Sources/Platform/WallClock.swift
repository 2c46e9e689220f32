import Glibc

/// The time of day, and whether the clock is right.
package struct WallClock: Hashable, Sendable {
    /// Seconds since 1970.
    package var seconds: Int64
    package var isRight: Bool

    package init(seconds: Int64, isRight: Bool) { (self.seconds, self.isRight) = (seconds, isRight) }

    /// 2026-01-01: a right clock is never earlier.
    package static let floor: Int64 = 1_767_225_600

    /// The system clock. It is right if systemd-timesyncd has set it, or if the battery clock agrees to within a day. Without both of these
    /// it counts as right, because something else may set it.
    package static var now: WallClock { read(root: "") }

    /// The second of the system clock. time(2) returns a new second some milliseconds late.
    package static var second: Int64 { nanoseconds(of: CLOCK_REALTIME) / 1_000_000_000 }

    static func read(root: String, seconds: Int64? = nil) -> WallClock {
        let seconds = seconds ?? Self.second
        // adjtimex(2) would also tell, but the service may not call it (ProtectClock=).
        let hasService = access("\(root)/run/systemd/timesync", F_OK) == 0
        let isSynchronized = access("\(root)/run/systemd/timesync/synchronized", F_OK) == 0
        let battery = SmallFile.word("\(root)/sys/class/rtc/rtc0/since_epoch").flatMap { Int64($0) }
        let isKept = battery.map { $0.subtractingReportingOverflow(seconds).partialValue.magnitude <= 86_400 }
        return WallClock(seconds: seconds, isRight: seconds >= floor && (isSynchronized || isKept ?? !hasService))
    }
}
