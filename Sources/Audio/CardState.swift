import CKioskALSA
import Glibc
import KioskPlatform

/// Whether there is a card to play to, and the reaction to changes. A pure value: events in, actions out.
///
///     absent ──opened──▶ open ──lost, cardCame──▶ recovering ──opened──▶ open
///
/// While absent or recovering, samples go to a ``SilentSink``. The next attempts to open a card come after 0.5 s, 1 s, 2 s … 10 s, or once
/// /dev/snd changes. A device that keeps no time is retried only after such a change: each attempt costs a second of pictures. If a card is
/// lost within ``steadyAfter`` of its opening, the delay does not restart at 0.5 s. So a loose plug does not keep the audio thread busy
/// with opening cards.
enum CardState: Equatable {
    /// There has been no card yet.
    case absent(Retry)
    case open(since: HostTime, backOff: MediaTime)
    /// There was a card; it was lost, or closed because another came.
    case recovering(Retry)

    struct Retry: Equatable {
        var next: HostTime
        /// The wait after the attempt at `next`, if that fails.
        var backOff: MediaTime
        /// The error logged last: the same failure is logged once, not at each attempt.
        var error: AudioError
    }

    enum Event {
        case opened
        case openFailed(AudioError)
        case lost(AudioError)
        /// Cards have come or gone.
        case devicesChanged
        /// Another card came, while one is open, that may be the better choice.
        case cardCame
        /// Time has passed.
        case tick
    }

    enum Action: Equatable {
        case none
        /// Try to open the card.
        case open
        /// Play to the card just opened.
        case play
        /// Close the card, give back the frames not heard, render without a card. Log the error.
        case fallSilent(AudioError)
        /// Stay silent; log the error.
        case log(AudioError)
    }

    static let firstBackOff = MediaTime.milliseconds(500)
    static let lastBackOff = MediaTime.milliseconds(10_000)
    static let steadyAfter = MediaTime.milliseconds(10_000)
    /// The delay after a change of /dev/snd: udev sets a new node's permissions a little after the kernel makes it.
    static let settlingTime = MediaTime.milliseconds(200)

    /// Returns the state after a first attempt that failed with `error`.
    static func initial(error: AudioError, at now: HostTime) -> CardState {
        .absent(Retry(next: error.isLasting ? .never : now + firstBackOff, backOff: doubled(firstBackOff), error: error))
    }

    /// The next attempt; nil while the card is open.
    private var retry: Retry? {
        get {
            switch self {
            case .absent(let retry), .recovering(let retry): retry
            case .open: nil
            }
        }
        set {
            guard let newValue else { return }
            if case .absent = self { self = .absent(newValue) } else { self = .recovering(newValue) }
        }
    }

    /// The next time at which ``Event/tick`` has an effect; nil while the card is open.
    var nextTry: HostTime? { retry?.next }

    mutating func handle(_ event: Event, at now: HostTime) -> Action {
        switch (self, event) {
        case (.open(let since, let backOff), .lost(let error)):
            let wait = now - since >= Self.steadyAfter ? Self.firstBackOff : max(backOff, Self.firstBackOff)
            self = .recovering(Retry(next: error.isLasting ? .never : now + wait, backOff: Self.doubled(wait), error: error))
            return .fallSilent(error)
        case (.open, .cardCame):
            self = .recovering(Retry(next: now, backOff: Self.firstBackOff, error: .noCard))
            return .open
        case (_, .opened):
            guard let retry else { return .none }
            self = .open(since: now, backOff: retry.backOff)
            return .play
        case (_, .openFailed(let error)): return retry?.fail(error, at: now) ?? .none
        case (_, .tick): return retry.map { now >= $0.next } == true ? .open : .none
        case (_, .devicesChanged):
            retry?.hurry(at: now)
            return .none
        case (_, .lost), (_, .cardCame): return .none
        }
    }

    fileprivate static func doubled(_ span: MediaTime) -> MediaTime { min(span * 2, lastBackOff) }
}

extension HostTime {
    /// Later than all others.
    fileprivate static let never = HostTime(nanoseconds: .max)
}

extension CardState.Retry {
    fileprivate mutating func fail(_ failure: AudioError, at now: HostTime) -> CardState.Action {
        next = failure.isLasting ? .never : now + backOff
        backOff = CardState.doubled(backOff)
        if failure == error { return .none }
        error = failure
        return .log(failure)
    }

    fileprivate mutating func hurry(at now: HostTime) {
        next = min(next, now + CardState.settlingTime)
        backOff = CardState.firstBackOff
    }
}

/// The meaning of a call's error number for an open card.
enum CardFault: Equatable {
    /// The buffer ran empty: prepare and continue.
    case underrun
    /// The machine was suspended: resume, or prepare.
    case suspended
    /// Nothing to do now: wait.
    case busy
    /// The card is gone or broken: close it.
    case lost

    /// The meaning of a positive `errno`.
    init(errno: Int32) {
        switch errno {
        case EPIPE: self = .underrun
        case ESTRPIPE: self = .suspended
        case EAGAIN, EINTR: self = .busy
        default: self = .lost
        }
    }
}
