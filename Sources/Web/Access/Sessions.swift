import KioskCommands
import KioskPlatform

/// The sessions of browsers: a pure value.
///
/// A session begins with a right password, and always under a new name: one that a browser brought along is never taken over. It ends after
/// two hours without a request, and after twelve in any case.
struct Sessions: Sendable {
    private struct Session {
        var csrf: String
        var begin: HostTime
        var last: HostTime
    }

    private var sessions: [String: Session] = [:]
    static let longestIdle = MediaTime.seconds(2 * 3600)
    static let longest = MediaTime.seconds(12 * 3600)
    static let most = 64

    /// Begins a session. The one that has been silent longest gives way if there are too many.
    mutating func begin(name: String, csrf: String, at now: HostTime) {
        expire(at: now)
        if sessions.count >= Self.most, let oldest = sessions.min(by: { $0.value.last < $1.value.last }) { sessions[oldest.key] = nil }
        sessions[name] = Session(csrf: csrf, begin: now, last: now)
    }

    /// Returns the CSRF token of a session, which goes on; nil if there is none of this name, or none any more.
    mutating func csrf(of name: String, at now: HostTime) -> String? {
        expire(at: now)
        guard let session = sessions[name] else { return nil }
        sessions[name]?.last = now
        return session.csrf
    }

    mutating func end(_ name: String) { sessions[name] = nil }

    /// Ends all sessions: the password has changed.
    mutating func endAll() { sessions = [:] }

    private mutating func expire(at now: HostTime) {
        sessions = sessions.filter { now - $0.value.last < Self.longestIdle && now - $0.value.begin < Self.longest }
    }
}

/// The brake on guesses of passwords and tokens: a pure value.
///
/// Three wrong ones are free. After each further one the address waits twice as long as before, from a second to a quarter of an hour. All
/// addresses together have sixty wrong ones an hour without a wait, and then one a minute.
struct GuessLimit: Sendable {
    private struct Guesses {
        var wrong = 0
        var until: HostTime?
        var last: HostTime
    }

    private var guesses: [HTTPPeer: Guesses] = [:]
    private var budget = 60.0
    private var filled: HostTime?
    private static let most = 1024
    private static let memory = MediaTime.seconds(3600)

    /// Returns the seconds that this address has to wait; nil if it may guess.
    mutating func wait(_ peer: HTTPPeer, at now: HostTime) -> Int? {
        refill(at: now)
        if let until = guesses[peer]?.until, until > now { return max(1, Int((until - now).seconds.rounded(.up))) }
        return budget < 1 ? 60 : nil
    }

    mutating func guessedWrong(_ peer: HTTPPeer, at now: HostTime) {
        refill(at: now)
        budget = max(0, budget - 1)
        guesses = guesses.filter { now - $0.value.last < Self.memory }
        if guesses.count >= Self.most, let oldest = guesses.min(by: { $0.value.last < $1.value.last }) { guesses[oldest.key] = nil }
        var own = guesses[peer] ?? Guesses(last: now)
        own.wrong += 1
        own.last = now
        if own.wrong > 2 { own.until = now + .seconds(Double(min(900, 1 << min(own.wrong - 3, 10)))) }
        guesses[peer] = own
    }

    mutating func guessedRight(_ peer: HTTPPeer) { guesses[peer] = nil }

    private mutating func refill(at now: HostTime) {
        if let filled { budget = min(60, budget + (now - filled).seconds / 60) }
        filled = now
    }
}
