import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The effect of a command, for callers that want to know when it is seen.
///
/// A seek or a skip is seen with the first frame of the generation that it began (``Pipeline``). If a seek had to wait for another one,
/// that is the generation at the end of the row. A pause is seen when the presenter has stopped choosing frames and none waits for its
/// flip; playback, when the clock runs.
package enum PlayerEffect: Hashable, Sendable {
    /// There was nothing to do, or it was impossible.
    case none
    /// A seek or skip with this number, which `generation` shows.
    case move(number: UInt64, generation: UInt64)
    /// A pause: the picture is to stand.
    case standing
    /// A play: the clock is to run.
    case running

    /// The progress of an effect.
    package enum State: Hashable, Sendable {
        case awaited
        case seen
        /// Another seek or skip came before it was seen.
        case superseded
    }
}

/// The seeks and skips that have been requested, and those that have been seen. A pure value.
struct MoveRecord: Sendable {
    private(set) var last = (number: UInt64(0), generation: UInt64(0))
    /// The newest generation with a frame that was seen, and the newest of those that ended a row of seeks.
    private var seen: UInt64?, settled: UInt64?
    /// The number up to which moves that no frame had shown were given up.
    private var dropped = UInt64(0)
    /// The newest move, until its frame is measured: when it was requested, and whether it is a seek within an item.
    private var unmeasured: (generation: UInt64, request: HostTime, isSeek: Bool)?

    mutating func asked(shownBy generation: UInt64) { last = (last.number + 1, generation) }

    /// Notes the time of a request that `generation` shows.
    mutating func requested(at time: HostTime, shownBy generation: UInt64, isSeek: Bool) { unmeasured = (generation, time, isSeek) }

    /// Forgets the request if its frame has been seen: measuring begins.
    mutating func beginMeasuring() {
        if let settled, let request = unmeasured, settled >= request.generation { unmeasured = nil }
    }

    /// Takes the request whose frame, of `generation`, reached the screen at `time`; nil if there is none.
    mutating func measured(_ generation: UInt64, at time: HostTime) -> (latency: MediaTime, isSeek: Bool)? {
        guard let request = unmeasured, generation >= request.generation else { return nil }
        unmeasured = nil
        return (max(.zero, time - request.request), request.isSeek)
    }

    /// Notes that a frame of `generation` has reached the screen; `isSettled` means that no seek waits for it.
    mutating func shown(_ generation: UInt64, isSettled: Bool) {
        seen = generation
        if isSettled { settled = generation }
    }

    /// Gives up the seek that waited for a frame: another item is on the screen.
    mutating func drop() { dropped = last.number }

    func state(number: UInt64, generation: UInt64) -> PlayerEffect.State {
        if let settled, settled >= generation { return .seen }
        if number <= dropped { return .superseded }
        return last.number > number && (seen.map { $0 >= generation } ?? false) ? .superseded : .awaited
    }
}

extension PlaybackEngine {
    /// Carries out a command as ``perform(_:at:)`` does. Returns its effect, for ``state(of:)``. Returns at once.
    package func carryOut(_ command: PlayerCommand) -> PlayerEffect {
        let before = pipeline.withLock { $0.moves.last.number }
        perform(command)
        return pipeline.withLock { pipeline -> PlayerEffect in
            let move = pipeline.moves.last
            if move.number != before { return .move(number: move.number, generation: move.generation) }
            // Held playback stands, whatever the command.
            if pipeline.playback.hasEnded || pipeline.playback.isHeld { return .none }
            switch command {
            case .play: return .running
            case .pause: return .standing
            case .togglePlayback: return pipeline.playback.wantsPlay ? .running : .standing
            default: return .none
            }
        }
    }

    /// Seeks as ``seek(to:precision:)`` does. Returns its effect.
    package func seekEffect(to time: MediaTime, precision: MediaReader.SeekPrecision) -> PlayerEffect {
        let before = pipeline.withLock { $0.moves.last.number }
        seek(to: time, precision: precision)
        let move = pipeline.withLock { $0.moves.last }
        return move.number == before ? .none : .move(number: move.number, generation: move.generation)
    }

    /// Returns the progress of an effect.
    package func state(of effect: PlayerEffect) -> PlayerEffect.State {
        pipeline.withLock { pipeline -> PlayerEffect.State in
            switch effect {
            case .none: .seen
            case .move(let number, let generation): pipeline.moves.state(number: number, generation: generation)
            case .standing: pipeline.playback.status == .paused && pipeline.pending == nil ? .seen : .awaited
            case .running: pipeline.playback.status == .playing ? .seen : .awaited
            }
        }
    }
}
