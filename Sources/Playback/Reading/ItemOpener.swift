import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Opens items ahead of time, on threads of its own: whatever a slow disk or a broken file does to the opening, the one that plays
/// goes on. One item is open ahead at a time.
///
/// One thread opens, and ``run()`` watches it. Each step of an opening ends by itself when its ``Interruption`` says so, but for what
/// nobody can interrupt: the resolver of host names, a library that spins. A thread that is over its deadline by ``margin`` is given up:
/// its item has failed, a fresh thread opens the next, and what the old one comes to is thrown away when it comes.
final class ItemOpener: Sendable {
    struct Request: Hashable, Sendable {
        var serial: UInt64
        var item: PlaylistItem
        var time: MediaTime
        var precision: MediaReader.SeekPrecision
        /// Whether nothing else is on the list.
        var isAlone = false
    }

    /// An item ready to be read: its next frame and sample are those of item time `time`.
    struct Opened: Sendable {
        var reader: any ItemReader
        var time: MediaTime
    }

    typealias Outcome = Result<Opened, MediaError>

    /// Opens an item; blocks for as long as that takes, or until it is interrupted.
    typealias Open = @Sendable (Request, Interruption) throws(MediaError) -> Opened

    private struct State: ~Copyable {
        var request: Request?
        var interruption = Interruption()
        var outcome: Outcome?
        var outcomeTime = HostTime(nanoseconds: 0)
        var serial: UInt64 = 0
        var isStopping = false
        var opening: Opening?
        /// The number of the thread that opens; those before it were given up.
        var thread = 0
        /// How many of those have not ended.
        var threadsGivenUp = 0
        /// The sources of those that had their time, by the thread: not to be opened again before it has ended.
        var stuck: [Int: Path] = [:]
        /// Grows when an opening begins or is no longer wanted.
        var changes: UInt64 = 0

        /// What is being opened is no longer wanted. Where it was not before, either, its time has begun then: a viewer who goes on and on
        /// does not put off that it is given up.
        mutating func cancelOpening() {
            interruption.cancel()
            interruption = Interruption()
            if opening?.cancelledAt == nil { opening?.cancelledAt = .now }
            changes += 1
        }
    }

    private struct Opening {
        var request: Request
        var interruption: Interruption
        var cancelledAt: HostTime?

        /// When its thread is given up. The deadline moves on with each step.
        var due: HostTime { cancelledAt.map { $0 + ItemOpener.cancelTimeout } ?? interruption.deadline + ItemOpener.margin }
    }

    /// What may pass beyond the deadline of a step: decoding takes its time, too.
    private static let margin = MediaTime.seconds(15)
    /// How long an opening that was cancelled may take to heed it.
    private static let cancelTimeout = MediaTime.seconds(2)
    /// No more threads than this are given up because something else is wanted, however often that happens.
    private static let mostThreads = 4

    private let state = Monitor(State())
    private let open: Open
    private let now: @Sendable () -> HostTime
    private let onOutcome: @Sendable () -> Void

    /// An opener that opens with `open`; `onOutcome` is called on its thread when an outcome can be taken.
    init(open: @escaping Open, now: @escaping @Sendable () -> HostTime = { .now }, onOutcome: @escaping @Sendable () -> Void) {
        (self.open, self.now, self.onOutcome) = (open, now, onOutcome)
    }

    /// Asks for an item, or for none; whatever was asked for before and not taken is closed.
    func request(_ request: Request?) {
        let old: Outcome? = state.signal { state in
            state.cancelOpening()
            (state.request, state.serial) = (request, request?.serial ?? 0)
            return state.outcome.take()
        }
        _ = consume old  // closed outside the lock
    }

    /// Whether the outcome of request `serial` can be taken.
    func hasOutcome(of serial: UInt64) -> Bool { state.withLock { $0.serial == serial && $0.outcome != nil } }

    /// Whether request `serial` is known to have failed.
    func hasFailed(_ serial: UInt64) -> Bool {
        state.withLock { state in
            if state.serial == serial, case .failure = state.outcome { true } else { false }
        }
    }

    /// Since when the outcome of request `serial` can be taken; nil while it cannot.
    func outcomeTime(of serial: UInt64) -> HostTime? {
        state.withLock { $0.serial == serial && $0.outcome != nil ? $0.outcomeTime : nil }
    }

    /// The outcome of request `serial`, once there is one.
    func takeOutcome(of serial: UInt64) -> Outcome? {
        state.withLock { state -> Outcome? in
            guard state.serial == serial, let outcome = state.outcome.take() else { return nil }
            state.interruption = Interruption()  // the old one is the taker's now
            return outcome
        }
    }

    /// Ends ``run()`` and cancels what is under way.
    func stop() {
        state.signal { state in
            state.isStopping = true
            state.interruption.cancel()
        }
    }

    /// Whether a thread was left behind by ``run()`` that may never end.
    var hasLeftThreads: Bool { state.withLock { $0.threadsGivenUp > 0 } }

    /// The body of the thread that watches; ends soon after ``stop()``.
    func run() {
        var number = 0
        var thread = Thread("opening") { [self] in open(as: 0) }
        while watch() {
            thread.detach()
            number += 1
            thread = Thread("opening") { [self, number] in open(as: number) }
        }
        if !thread.join(until: .now + Self.cancelTimeout) { state.withLock { $0.threadsGivenUp += 1 } }
    }

    /// Watches the thread that opens; true when it was given up, false at the end.
    private func watch() -> Bool {
        while true {
            let (due, changes) = state.withLock { ($0.opening?.due, $0.changes) }
            let isOver: Bool? = state.wait(until: due) { state -> Bool? in
                if state.isStopping { return false }
                return state.changes != changes ? true : nil
            }
            if isOver == false { return false }
            if state.withLock({ giveUp(&$0) }) {
                onOutcome()
                return true
            }
        }
    }

    private func giveUp(_ state: inout State) -> Bool {
        guard let opening = state.opening, HostTime.now >= opening.due, !state.isStopping else { return false }
        if opening.cancelledAt != nil, state.threadsGivenUp >= Self.mostThreads {
            // Its own deadline comes.
            state.opening?.cancelledAt = nil
            return false
        }
        opening.interruption.cancel()
        if opening.cancelledAt == nil { state.stuck[state.thread] = opening.request.item.path }
        state.thread += 1
        state.threadsGivenUp += 1
        state.opening = nil
        if state.request == nil, state.serial == opening.request.serial {
            state.interruption = Interruption()
            (state.outcome, state.outcomeTime) = (.failure(.timedOut(opening.request.item.source)), now())
        }
        return true
    }

    /// The body of the thread that opens: opens what is asked for while it is thread number `thread`.
    private func open(as thread: Int) {
        while let (request, interruption) = next(thread) { open(request, interruption, as: thread) }
    }

    /// Opens what is asked for on the caller's thread, and does not wait for it; false when there is nothing. For who has no thread for
    /// ``run()``.
    func step() -> Bool {
        guard let (request, interruption) = state.withLock({ Self.begin(&$0) }) else { return false }
        open(request, interruption, as: 0)
        return true
    }

    /// What there is for ``step()`` to open.
    var requested: Request? { state.withLock { $0.request } }

    private func next(_ thread: Int) -> (Request, Interruption)? {
        let next = state.wait { state -> (Request, Interruption)?? in
            if state.isStopping || state.thread != thread { return .some(nil) }
            return Self.begin(&state).map { .some($0) }
        }
        state.signal { _ in }  // for who watches
        return next ?? nil
    }

    /// Takes what is asked for.
    private static func begin(_ state: inout State) -> (Request, Interruption)? {
        guard let request = state.request.take() else { return nil }
        // Before the first step the cache is asked for the file, and its disk may hang.
        state.interruption.allow(openingTimeLimit)
        state.opening = Opening(request: request, interruption: state.interruption)
        state.changes += 1
        return (request, state.interruption)
    }

    private func open(_ request: Request, _ interruption: Interruption, as thread: Int) {
        StartTrace.reached(.opening)
        let isStuck = state.withLock { $0.stuck.values.contains(request.item.path) }
        var outcome: Outcome?
        do throws(MediaError) {
            if isStuck { throw .timedOut(request.item.source) }
            outcome = .success(try open(request, interruption))
            StartTrace.reached(.opened)
        } catch {
            outcome = .failure(error)
        }
        let surplus: Outcome? = state.withLock { state in
            guard state.thread == thread else {
                state.threadsGivenUp -= 1
                state.stuck[thread] = nil
                return outcome.take()
            }
            state.opening = nil
            // A newer request has made this one worthless.
            guard state.request == nil, state.serial == request.serial, !state.isStopping else { return outcome.take() }
            (state.outcome, state.outcomeTime) = (outcome.take(), now())
            return nil
        }
        _ = consume surplus  // closed outside the lock
        onOutcome()
    }
}
