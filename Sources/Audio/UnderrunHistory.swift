import KioskPlatform

/// Counts underruns, and decides which to log, when a card needs a longer buffer, and when no buffer helps: a card that stops each time it
/// is started differs from one that runs empty by how soon it stops (``CardPace/stopsEarly(given:at:)``). A pure value.
struct UnderrunHistory {
    /// Since the output was made.
    private(set) var total = 0
    private var recent: [(time: HostTime, isEarly: Bool)] = []
    private var logged: (total: Int, time: HostTime)?

    /// So many underruns…
    static let tooMany = 3
    /// …within this span are too many.
    static let window = MediaTime.milliseconds(10_000)
    /// Log lines about underruns are at least this far apart.
    static let logInterval = MediaTime.milliseconds(60_000)

    /// What follows from an underrun.
    struct Outcome: Equatable {
        /// How many underruns to report in the log now, if at all.
        var log: Int?
        /// Whether to open the card again with a longer buffer.
        var lengthen: Bool
        /// Whether the card does not keep running: where its buffer cannot be longer, it has failed.
        var hasFailed = false
    }

    /// Counts an underrun; `isEarly` when the card had not had the time to run empty.
    mutating func record(at now: HostTime, isEarly: Bool = false) -> Outcome {
        total += 1
        recent = recent.filter { now - $0.time < Self.window } + [(now, isEarly)]
        var outcome = Outcome(log: nil, lengthen: recent.count >= Self.tooMany)
        if outcome.lengthen {
            outcome.hasFailed = recent.allSatisfy(\.isEarly)
            recent = []
        }
        if let logged, now - logged.time < Self.logInterval { return outcome }
        outcome.log = total - (logged?.total ?? 0)
        logged = (total, now)
        return outcome
    }
}
