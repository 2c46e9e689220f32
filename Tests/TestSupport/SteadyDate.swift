import Foundation
import Glibc

extension Date {
    /// The current moment of CLOCK_MONOTONIC, for deadlines: it does not jump if somebody sets the clock of the host. Compare it only with others
    /// of its kind.
    package static var steady: Date {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Date(timeIntervalSinceReferenceDate: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}
