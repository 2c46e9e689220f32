import Platform

/// Counts underruns: which of them to log, and when they are so many that the card needs a longer buffer.
struct UnderrunHistory {
    /// Since the output was made.
    private(set) var total = 0
    private var recent: [HostTime] = []
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
    }

    /// Counts an underrun.
    mutating func record(at now: HostTime) -> Outcome {
        total += 1
        recent = recent.filter { now - $0 < Self.window } + [now]
        let lengthen = recent.count >= Self.tooMany
        if lengthen { recent = [] }
        if let logged, now - logged.time < Self.logInterval { return Outcome(log: nil, lengthen: lengthen) }
        defer { logged = (total, now) }
        return Outcome(log: total - (logged?.total ?? 0), lengthen: lengthen)
    }
}
