import KioskPlatform

/// Counts underruns. Decides which to log, when a card needs a longer buffer, and when no buffer helps. A card that stops after each start
/// stops sooner than one that runs empty (``CardPace/stopsEarly(given:at:)``). A pure value.
struct UnderrunHistory {
    /// The number of underruns since the output was created.
    private(set) var total = 0
    private var recent: [(time: HostTime, isEarly: Bool)] = []
    private var logged: (total: Int, time: HostTime)?

    /// The number of underruns…
    static let tooMany = 3
    /// …within this span that is too many.
    static let window = MediaTime.milliseconds(10_000)
    /// The least time between two log lines about underruns.
    static let logInterval = MediaTime.milliseconds(60_000)

    /// The consequences of an underrun.
    struct Outcome: Equatable {
        /// The number of underruns to log now, if any.
        var log: Int?
        /// Whether to open the card again with a longer buffer.
        var lengthen: Bool
        /// Whether the card does not keep running: if its buffer cannot be longer, it has failed.
        var hasFailed = false
    }

    /// Counts an underrun; `isEarly` if the card cannot have run empty yet.
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
