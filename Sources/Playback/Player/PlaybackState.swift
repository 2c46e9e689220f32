import KioskPlatform
import KioskVocabulary

/// Whether the player plays, and why not. A pure value: events in, actions out.
///
///     waiting ──clockStarted──▶ playing ──playedOut──▶ ended        began: waiting, or paused
///       ▲ │                       ▲ │                    │
///    play pause                play pause               play: from the first item
///       │ ▼                       │ ▼                    ▼
///     paused(hasStarted: false)  paused(hasStarted: true)  waiting
///
/// The clock of the timeline starts once in each generation (``Preroll``), and stands in a pause. While playback is *held*, for example
/// with the display off, the clock stands in every phase. Commands that come meanwhile take effect afterwards.
struct PlaybackState: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        /// The picture stands in a pause. `hasStarted`: the clock of this generation ran before, and goes on at once.
        case paused(hasStarted: Bool)
        /// The clock starts as soon as enough is decoded.
        case waiting
        /// The clock runs, or stands because there is no sound to play.
        case playing
        /// Everything has been on the screen to its end.
        case ended
    }

    enum Action: Hashable, Sendable {
        /// Nothing has changed: the card is not to be restarted.
        case none
        /// Wake the waiting threads: the clock runs or stands from now on, or will.
        case changed
        /// Begin again with the first item.
        case replay
    }

    private(set) var phase = Phase.waiting
    /// Whether the clock is held, whatever the phase.
    private(set) var isHeld = false
    /// Whether the feeder has enqueued everything of this generation (of a playlist that does not loop).
    private(set) var isComplete = false
    /// The status that observers know.
    private(set) var status = TimeControlStatus.waitingToPlay

    // MARK: Events

    /// Plays. `canReplay`: there is a first item to start over with.
    mutating func play(canReplay: Bool) -> Action {
        switch phase {
        case .waiting, .playing: return .none
        case .paused(let hasStarted):
            phase = hasStarted ? .playing : .waiting
            return .changed
        case .ended:
            if !canReplay { return .none }
            phase = .waiting
            return .replay
        }
    }

    mutating func pause() -> Action {
        switch phase {
        case .paused, .ended: return .none
        case .waiting: phase = .paused(hasStarted: false)
        case .playing: phase = .paused(hasStarted: true)
        }
        return .changed
    }

    /// Holds the clock from now on, or lets it go as the phase says.
    mutating func hold(_ isHeld: Bool) -> Action {
        if isHeld == self.isHeld { return .none }
        self.isHeld = isHeld
        return .changed
    }

    /// Makes the generation that begins next play, whatever the phase was.
    mutating func playAnyway() { phase = .waiting }

    /// Notes that a new generation has begun, whose clock has not started.
    mutating func began() {
        phase = wantsPlay ? .waiting : .paused(hasStarted: false)
        isComplete = false
    }

    /// Notes that the feeder has enqueued everything.
    mutating func completed() { isComplete = true }

    /// Notes that enough is decoded, and the clock runs from now on.
    mutating func clockStarted() {
        if phase == .waiting { phase = .playing }
    }

    /// Notes that everything enqueued has been on the screen.
    mutating func playedOut() {
        if phase == .playing { phase = .ended }
    }

    /// Returns the new status for observers, if it has changed. `ranDry`: there is no sound to play.
    mutating func statusChange(ranDry: Bool) -> TimeControlStatus? {
        let now: TimeControlStatus =
            switch phase {
            case _ where isHeld: .paused
            case .paused, .ended: .paused
            case .waiting: .waitingToPlay
            case .playing: ranDry ? .waitingToPlay : .playing
            }
        if now == status { return nil }
        status = now
        return now
    }

    // MARK: State

    /// Whether the clock runs.
    var isPlaying: Bool { phase == .playing && !isHeld }

    /// Whether the clock starts as soon as enough is decoded.
    var awaitsClock: Bool { phase == .waiting && !isHeld }

    /// Whether everything has been on the screen to its end.
    var hasEnded: Bool { phase == .ended }

    var wantsPlay: Bool { phase == .waiting || phase == .playing }

    /// Whether the clock of this generation has been started.
    var hasStarted: Bool {
        switch phase {
        case .paused(let hasStarted): hasStarted
        case .waiting: false
        case .playing, .ended: true
        }
    }
}
