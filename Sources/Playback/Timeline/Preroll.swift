import KioskPlatform

/// Decides when the clock of a generation may start: once the decoded data will last until more follows. A pure value: levels and times in,
/// a decision out.
///
/// The first picture after a start or a seek is shown at once, and stands until then. A clock that starts too early runs dry at once. The
/// first pictures cost most (cold caches, memory touched for the first time), and the card takes two periods before it plays the first
/// sample. The preroll measures the necessary amount instead of guessing it. The *level* is the queued sound, which never reaches further
/// than the pictures. Its last few steps give its growth rate (1 is playing speed) and the longest time without growth. The clock starts
/// when the level covers
///
/// - the amount that the card takes before it plays (``AudioQueue/cardDemand``),
/// - the longest time between two steps, including the present one,
/// - and, if the level grows more slowly than it is played, the loss during ``horizon`` at that rate.
///
/// The clock starts in any case when the queues are full, because waiting brings no more. It also starts after ``limit``: a source that has
/// not filled a fifth of a second by then will not keep up.
struct Preroll: Sendable {
    /// The longest time for which the first picture stands.
    static let limit = MediaTime.seconds(2)
    /// The time for which a rate measured among the first pictures is trusted; later ones are cheaper.
    static let horizon = MediaTime.milliseconds(500)
    /// The number of steps over which rate and pauses are measured. The very first picture costs more than any later one, and says little
    /// about them.
    static let steps = 4

    private struct Mark: Sendable {
        var time: HostTime
        var level: MediaTime
    }

    private let begin: HostTime
    /// The times at which the level grew, and the new levels; the oldest first.
    private var marks: [Mark] = []

    /// Starts with the first picture, shown at `time`.
    init(from time: HostTime) {
        begin = time
        marks.reserveCapacity(Self.steps + 2)
    }

    /// Returns whether the clock may start at `now` with `level` of sound queued, on a card that takes `demand` before it plays. `isFull`
    /// says that no more will be queued before the start.
    mutating func isReady(at now: HostTime, level: MediaTime, demand: MediaTime, isFull: Bool) -> Bool {
        if marks.last.map({ level > $0.level }) != false {
            marks.append(Mark(time: now, level: level))
            if marks.count > Self.steps + 1 { marks.removeFirst() }
        }
        if isFull || now - begin >= Self.limit { return true }
        guard let first = marks.first, let last = marks.last, marks.count > 2, now > first.time else { return false }
        let growth = (last.level - first.level).seconds / (now - first.time).seconds
        let pause = zip(marks, marks.dropFirst()).reduce(now - last.time) { max($0, $1.1.time - $1.0.time) }
        return level >= demand + pause + Self.horizon.scaled(by: max(0, 1 - growth))
    }
}
