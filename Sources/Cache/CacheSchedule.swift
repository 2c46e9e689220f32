import KioskPlatform

/// Decides when the cache updates each wanted source: a pure value.
///
/// Missing files are fetched at once, in the order of the playlist. Kept files are checked every ``interval``. After a failure, the cache
/// retries that source after 10 s, 20 s … 10 minutes, independently of the others.
struct CacheSchedule: Hashable, Sendable {
    private struct Visit: Hashable {
        var next: HostTime
        var backOff = firstBackOff
    }

    private(set) var wanted: [Path] = []
    private var visits: [Path: Visit] = [:]

    /// The interval of checks for changes on the server.
    static let interval = MediaTime.seconds(300)
    static let firstBackOff = MediaTime.seconds(10)
    static let longestBackOff = MediaTime.seconds(600)

    /// Sets the wanted sources, each once, in this order.
    mutating func setWanted(_ sources: [Path], at now: HostTime) {
        if sources == wanted { return }
        wanted = sources
        let known = visits
        visits = [:]
        for source in sources { visits[source] = known[source] ?? Visit(next: now) }
    }

    /// Returns the first source that is due; nil if there is none.
    func due(at now: HostTime) -> Path? { wanted.first { visits[$0].map { $0.next <= now } ?? false } }

    /// Notes that the kept file is current.
    mutating func succeeded(_ source: Path, at now: HostTime) { set(source, Visit(next: now + Self.interval)) }

    /// Notes that a source could not be fetched or checked.
    mutating func failed(_ source: Path, at now: HostTime, isLasting: Bool = false) {
        guard let visit = visits[source] else { return }
        let wait = isLasting ? Self.longestBackOff : visit.backOff
        set(source, Visit(next: now + wait, backOff: min(wait + wait, Self.longestBackOff)))
    }

    /// Makes a missing or unplayable source due at once.
    mutating func hurry(_ source: Path, at now: HostTime) { if visits[source] != nil { set(source, Visit(next: now)) } }

    private mutating func set(_ source: Path, _ visit: Visit) { if visits[source] != nil { visits[source] = visit } }
}

/// Decides which files to evict for a new one: a pure function.
struct Eviction: Hashable, Sendable {
    struct Candidate: Hashable, Sendable {
        var key: CacheKey
        var size: Int64
        /// When it was last played or fetched, in seconds since 1970.
        var used: Int64
        /// Whether it is on the playlist.
        var isWanted: Bool
    }

    /// Returns the files to delete so that `need` more bytes fit into `limit`: the least recently used of those that are not on the
    /// playlist. nil if that is not enough. Files of the playlist stay: otherwise kiosk would fetch those of a too long list again and
    /// again.
    static func choose(among kept: [Candidate], need: Int64, limit: Int64) -> [CacheKey]? {
        // A server may announce a file of any length.
        var total = kept.reduce(Int128(need)) { $0 + Int128(max(0, $1.size)) }
        var chosen: [CacheKey] = []
        for candidate in kept.filter({ !$0.isWanted }).sorted(by: { ($0.used, $0.key) < ($1.used, $1.key) }) where total > Int128(limit) {
            chosen.append(candidate.key)
            total -= Int128(max(0, candidate.size))
        }
        return total <= Int128(limit) ? chosen : nil
    }
}
