import KioskPlatform

/// Decides when the clock of a generation may start: when what is decoded ahead will last until more follows. A pure value: levels and
/// times in, a decision out.
///
/// The first picture after a start or a seek is shown at once, and stands until then. A clock that starts too early runs dry at once: the
/// first pictures cost most (cold caches, memory that is found for the first time), and the card takes two periods before it plays the
/// first sample. How much is enough is measured, not guessed. The *level* is the sound that lies queued, which never reaches further than
/// the pictures. From its last few steps follow how fast it grows (1 is as fast as it is played), and the longest time in which it did not
/// grow. The clock starts when the level covers
///
/// - what the card takes before it plays (``AudioQueue/cardDemand``),
/// - the longest time between two steps, the one under way included,
/// - and, where it grows more slowly than it is played, what is lost in ``horizon`` at that rate.
///
/// It starts in any case when the queues are full, because waiting brings no more, and after ``limit``, because what has not filled a
/// fifth of a second by then will not keep up.
struct Preroll: Sendable {
    /// How long the first picture stands at most.
    static let limit = MediaTime.seconds(2)
    /// For how long a rate measured among the first pictures is believed; later ones are cheaper.
    static let horizon = MediaTime.milliseconds(500)
    /// Of so many steps rate and pauses are measured: the first picture of all costs more than any that follows, and says little about
    /// them.
    static let steps = 4

    private struct Mark: Sendable {
        var time: HostTime
        var level: MediaTime
    }

    private let begin: HostTime
    /// When the level had grown, and to what; the oldest first.
    private var marks: [Mark] = []

    /// The first picture is shown at `time`.
    init(from time: HostTime) {
        begin = time
        marks.reserveCapacity(Self.steps + 2)
    }

    /// Whether the clock may start at `now`, with so much sound queued, on a card that takes `demand` before it plays. `isFull` says that
    /// no more will be queued before it has started.
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
