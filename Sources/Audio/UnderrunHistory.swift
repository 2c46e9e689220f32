import Platform

/// Counts underruns: which of them to log, and when they are so many that the card needs a longer buffer, or that none will do: a card that
/// stops each time it is started is told from one that runs empty by how soon (``CardPace/stopsEarly(given:at:)``).
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

    /// What an underrun at some time comes to.
    struct Outcome: Equatable {
        /// How many underruns to report in the log now, if at all.
        var log: Int?
        /// Whether to open the card again with a longer buffer.
        var lengthen: Bool
        /// Whether the card does not keep going: where its buffer cannot be longer, it has failed.
        var isHopeless = false
    }

    /// Counts an underrun; `isEarly` when the card had not had the time to run empty.
    mutating func record(at now: HostTime, isEarly: Bool = false) -> Outcome {
        total += 1
        recent = recent.filter { now - $0.time < Self.window } + [(now, isEarly)]
        var outcome = Outcome(log: nil, lengthen: recent.count >= Self.tooMany)
        if outcome.lengthen {
            outcome.isHopeless = recent.allSatisfy(\.isEarly)
            recent = []
        }
        if let logged, now - logged.time < Self.logInterval { return outcome }
        outcome.log = total - (logged?.total ?? 0)
        logged = (total, now)
        return outcome
    }
}
