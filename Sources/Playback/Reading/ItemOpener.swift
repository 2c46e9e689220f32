import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Opens items ahead of time, on its own thread: a slow disk or a broken file does not disturb the item that plays. One item is open ahead
/// at a time. Each opening ends by itself, and soon if it is no longer wanted (``ReaderClient``).
final class ItemOpener: Sendable {
    struct Request: Hashable, Sendable {
        var serial: UInt64
        var item: PlaylistItem
        var time: MediaTime
        var precision: MediaReader.SeekPrecision
        /// Whether nothing else is on the list.
        var isAlone = false
    }

    /// An item ready to be read: its next frame and sample are at item time `time`.
    struct Opened: Sendable {
        var reader: any ItemReader
        var time: MediaTime
    }

    typealias Outcome = Result<Opened, MediaError>

    /// Opens an item; blocks until it is open, or the opening is interrupted.
    typealias Open = @Sendable (Request, Interruption) throws(MediaError) -> Opened

    private struct State: ~Copyable {
        var request: Request?
        var interruption = Interruption()
        var outcome: Outcome?
        var outcomeTime = HostTime(nanoseconds: 0)
        var serial: UInt64 = 0
        var isStopping = false

        /// Cancels the opening that is under way.
        mutating func cancelOpening() {
            interruption.cancel()
            interruption = Interruption()
        }
    }

    private let state = Monitor(State())
    private let open: Open
    private let now: @Sendable () -> HostTime
    private let onOutcome: @Sendable () -> Void

    /// Creates an opener that opens with `open`; `onOutcome` is called on its thread when an outcome can be taken.
    init(open: @escaping Open, now: @escaping @Sendable () -> HostTime = { .now }, onOutcome: @escaping @Sendable () -> Void) {
        (self.open, self.now, self.onOutcome) = (open, now, onOutcome)
    }

    /// Requests an item, or none. An earlier request is cancelled, and its outcome closed if it was not taken.
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

    /// The time since which the outcome of request `serial` can be taken; nil while it cannot.
    func outcomeTime(of serial: UInt64) -> HostTime? {
        state.withLock { $0.serial == serial && $0.outcome != nil ? $0.outcomeTime : nil }
    }

    /// Takes the outcome of request `serial`; nil while there is none.
    func takeOutcome(of serial: UInt64) -> Outcome? {
        state.withLock { state -> Outcome? in
            guard state.serial == serial, let outcome = state.outcome.take() else { return nil }
            state.interruption = Interruption()  // the old one is the taker's now
            return outcome
        }
    }

    /// Ends ``run()``, and cancels the opening that is under way.
    func stop() {
        state.signal { state in
            state.isStopping = true
            state.interruption.cancel()
        }
    }

    /// The body of the opening thread; ends soon after ``stop()``.
    func run() { while let (request, interruption) = next() { carryOut(request, interruption) } }

    /// Opens the requested item on the caller's thread, without waiting for a request. Returns false if there is none. For a caller without
    /// a thread for ``run()``.
    func step() -> Bool {
        guard let (request, interruption) = state.withLock({ Self.begin(&$0) }) else { return false }
        carryOut(request, interruption)
        return true
    }

    /// The request that ``step()`` would open.
    var requested: Request? { state.withLock { $0.request } }

    private func next() -> (Request, Interruption)? {
        state.wait { state -> (Request, Interruption)?? in state.isStopping ? .some(nil) : Self.begin(&state).map { .some($0) } } ?? nil
    }

    /// Takes the request.
    private static func begin(_ state: inout State) -> (Request, Interruption)? { state.request.take().map { ($0, state.interruption) } }

    private func carryOut(_ request: Request, _ interruption: Interruption) {
        StartTrace.reached(.opening)
        var outcome: Outcome?
        do throws(MediaError) {
            outcome = .success(try open(request, interruption))
            StartTrace.reached(.opened)
        } catch {
            outcome = .failure(error)
        }
        let surplus: Outcome? = state.withLock { state in
            // A newer request has made this one worthless.
            guard state.request == nil, state.serial == request.serial, !state.isStopping else { return outcome.take() }
            (state.outcome, state.outcomeTime) = (outcome.take(), now())
            return nil
        }
        _ = consume surplus  // closed outside the lock
        onOutcome()
    }
}
