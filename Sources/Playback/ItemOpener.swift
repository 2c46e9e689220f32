import Media
import Platform

/// Opens items ahead of their turn, on a thread of its own: whatever a slow disk or a broken file does to the opening, the one that plays goes
/// on. One item is open ahead at a time.
final class ItemOpener: Sendable {
    struct Request: Hashable, Sendable {
        var serial: UInt64
        var item: PlaylistItem
        var time: MediaTime
        var precision: MediaReader.SeekPrecision
    }

    /// An item ready to be laid: its next frame and sample are those of item time `time`.
    struct Opened: ~Copyable, Sendable {
        var reader: MediaReader
        var time: MediaTime
        /// Ends the reader's waiting, for good.
        var interruption: Interruption

        /// The reader alone.
        consuming func intoReader() -> MediaReader { reader }
    }

    enum Outcome: ~Copyable, Sendable {
        case opened(Opened)
        case failed(MediaError)
    }

    private struct State: ~Copyable {
        var request: Request?
        var interruption = Interruption()
        var outcome: Outcome?
        var serial: UInt64 = 0
        var isStopping = false
    }

    private let state = Monitor(State())
    private let samples: AudioFormat
    private let decoderThreads: Int
    private let onOutcome: @Sendable () -> Void

    /// An opener that converts sound to `samples`; `onOutcome` is called on its thread when an outcome can be taken.
    init(samples: AudioFormat, decoderThreads: Int, onOutcome: @escaping @Sendable () -> Void) {
        self.samples = samples
        self.decoderThreads = decoderThreads
        self.onOutcome = onOutcome
    }

    /// Asks for an item; whatever was asked for before and not taken is closed.
    func request(_ request: Request) {
        let old: Outcome? = state.signal { state in
            state.interruption.cancel()
            state.interruption = Interruption()
            state.request = request
            state.serial = request.serial
            return state.outcome.take()
        }
        _ = consume old  // closed outside the lock
    }

    /// Whether the outcome of request `serial` can be taken.
    func hasOutcome(of serial: UInt64) -> Bool { state.withLock { $0.serial == serial && $0.outcome != nil } }

    /// Whether request `serial` is known to have failed.
    func hasFailed(_ serial: UInt64) -> Bool {
        state.withLock { state in
            guard state.serial == serial else { return false }
            switch state.outcome {
            case .failed: return true
            default: return false
            }
        }
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

    /// The thread's body.
    func run() {
        while let (request, interruption) = next() {
            var outcome: Outcome? = open(request, interruption)
            let surplus: Outcome? = state.withLock { state in
                // A newer request has made this one worthless.
                guard state.request == nil, state.serial == request.serial, !state.isStopping else { return outcome.take() }
                state.outcome = outcome.take()
                return nil
            }
            _ = consume surplus
            onOutcome()
        }
    }

    private func next() -> (Request, Interruption)? {
        state.wait { state -> (Request, Interruption)?? in
            if state.isStopping { return .some(nil) }
            guard let request = state.request.take() else { return nil }
            return (request, state.interruption)
        } ?? nil
    }

    private func open(_ request: Request, _ interruption: Interruption) -> Outcome {
        do throws(MediaError) {
            var reader = try MediaReader.open(
                request.item.source, samples: samples, decoderThreads: decoderThreads, interruption: interruption)
            if request.item.isMuted { reader.leaveOutSound() }
            var time = MediaTime.zero
            if request.time > .zero, !reader.description.isStill { time = try reader.seek(to: request.time, precision: request.precision) }
            return .opened(Opened(reader: reader, time: time, interruption: interruption))
        } catch {
            return .failed(error)
        }
    }
}
