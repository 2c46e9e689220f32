import KioskMedia
import KioskPlatform

/// The timing of an output without a card: frame k counts as heard at `anchor` + k / rate on the monotonic clock. A pure value.
///
/// A period is rendered at the instant at which its first frame is due, so at most one period is rendered and unheard. Deadlines are
/// absolute: a late wake-up makes no later one late. Frames are counted from an anchor that is moved in whole seconds, so the arithmetic
/// neither drifts nor overflows.
struct SilentClock {
    let sampleRate: Int
    /// Frames rendered at a time.
    let period: Int
    private var anchor: HostTime
    /// Frames rendered since `anchor`.
    private var rendered = 0

    /// After a longer delay than this (a suspended machine, a stopped process) the clock goes on from the present, instead of catching up
    /// in a burst.
    static let longestDelay = MediaTime.milliseconds(500)

    /// A clock on which the next frame is due at `start`.
    init(sampleRate: Int, period: Int, start: HostTime) {
        self.sampleRate = sampleRate
        self.period = period
        anchor = start
    }

    /// When the next period is to be rendered: its first frame is due then.
    var deadline: HostTime { anchor + time(of: rendered) }

    /// Whether a period is to be rendered at `now`. If so it counts as rendered, and all of it was unheard at the returned time.
    mutating func advance(at now: HostTime) -> HostTime? {
        guard now >= deadline else { return nil }
        if now - deadline > Self.longestDelay {
            anchor = now
            rendered = 0
        }
        let due = deadline
        rendered += period
        if rendered >= 2 * sampleRate {
            rendered -= sampleRate
            anchor += .milliseconds(1000)
        }
        return due
    }

    /// Drops what was rendered and is not due by `now`, and returns how many frames that is.
    mutating func takeBack(at now: HostTime) -> Int {
        let elapsed = max(0, (now - anchor).nanoseconds)
        let due = Int(min(elapsed, 10_000_000_000) * Int64(sampleRate) / 1_000_000_000)
        let unheard = max(0, rendered - due)
        rendered -= unheard
        return unheard
    }

    private func time(of frames: Int) -> MediaTime { MediaTime(nanoseconds: Int64(frames) * 1_000_000_000 / Int64(sampleRate)) }
}
