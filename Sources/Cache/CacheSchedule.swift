import KioskPlatform

/// When the cache looks after which of the sources that are wanted: a pure value.
///
/// What is not there is fetched at once, one after the other in the order of the playlist. What is there is checked every ``interval``. After
/// a failure it is tried again after 10 s, 20 s … 10 minutes, whatever happens to the others meanwhile.
struct CacheSchedule: Hashable, Sendable {
    private struct Visit: Hashable {
        var next: HostTime
        var backOff = firstBackOff
    }

    private(set) var wanted: [Path] = []
    private var visits: [Path: Visit] = [:]

    /// How often the server is asked whether what is kept has changed.
    static let interval = MediaTime.seconds(300)
    static let firstBackOff = MediaTime.seconds(10)
    static let longestBackOff = MediaTime.seconds(600)

    /// These are wanted from now on, each once, in this order.
    mutating func setWanted(_ sources: [Path], at now: HostTime) {
        if sources == wanted { return }
        wanted = sources
        let known = visits
        visits = [:]
        for source in sources { visits[source] = known[source] ?? Visit(next: now) }
    }

    /// The first of them that is due; nil where there is none.
    func due(at now: HostTime) -> Path? { wanted.first { visits[$0].map { $0.next <= now } ?? false } }

    /// What is kept of it is what the server has.
    mutating func succeeded(_ source: Path, at now: HostTime) { set(source, Visit(next: now + Self.interval)) }

    /// It could not be fetched or checked.
    mutating func failed(_ source: Path, at now: HostTime, isLasting: Bool = false) {
        guard let visit = visits[source] else { return }
        let wait = isLasting ? Self.longestBackOff : visit.backOff
        set(source, Visit(next: now + wait, backOff: min(wait + wait, Self.longestBackOff)))
    }

    /// It is not there, or not playable: it is fetched at once.
    mutating func hurry(_ source: Path, at now: HostTime) { if visits[source] != nil { set(source, Visit(next: now)) } }

    private mutating func set(_ source: Path, _ visit: Visit) { if visits[source] != nil { visits[source] = visit } }
}

/// Which files give way to a new one: a pure decision.
struct Eviction: Hashable, Sendable {
    struct Candidate: Hashable, Sendable {
        var key: CacheKey
        var size: Int64
        /// When it was played or fetched last, in seconds since 1970.
        var used: Int64
        /// Whether it is on the playlist.
        var isWanted: Bool
    }

    /// What is to be deleted so that `need` more bytes are within `limit`: what is not on the playlist, that which has not been used longest
    /// first. nil where that is not enough: what is on the playlist does not give way, or the files of a list that is too long would be fetched
    /// again and again.
    static func choose(among kept: [Candidate], need: Int64, limit: Int64) -> [CacheKey]? {
        // A server may say that its file is of any length.
        var total = kept.reduce(Int128(need)) { $0 + Int128(max(0, $1.size)) }
        var chosen: [CacheKey] = []
        for candidate in kept.filter({ !$0.isWanted }).sorted(by: { ($0.used, $0.key) < ($1.used, $1.key) }) where total > Int128(limit) {
            chosen.append(candidate.key)
            total -= Int128(max(0, candidate.size))
        }
        return total <= Int128(limit) ? chosen : nil
    }
}
