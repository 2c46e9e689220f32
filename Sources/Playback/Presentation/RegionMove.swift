import KioskPlatform
import KioskVocabulary

/// A picture on its way from one rectangle of the display to another: it begins and ends slowly. A pure value.
struct RegionMove: Hashable, Sendable {
    var from: Region
    var to: Region
    var begin: HostTime
    var duration: MediaTime

    /// Whether it has come to its end.
    func hasEnded(at time: HostTime) -> Bool { time >= begin + duration }

    /// Where the picture is.
    func region(at time: HostTime) -> Region {
        guard !hasEnded(at: time), duration > .zero else { return to }
        let share = min(max((time - begin).seconds / duration.seconds, 0), 1)
        return from.moved(to: to, share: share * share * (3 - 2 * share))
    }
}
