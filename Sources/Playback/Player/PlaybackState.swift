import KioskPlatform
import KioskVocabulary

/// Whether it plays, and what keeps it from playing. A pure value: events in, actions out.
///
///     waiting ──clockStarted──▶ playing ──playedOut──▶ ended        began: waiting, or paused
///       ▲ │                       ▲ │                    │
///    play pause                play pause               play: from the first item
///       │ ▼                       │ ▼                    ▼
///     paused(hasStarted: false)  paused(hasStarted: true)  waiting
///
/// The clock of the timeline starts once in each generation (``Preroll``), and stands in a pause. While it is *held*, as when the display is off, the clock
/// stands in every phase; what is asked for meanwhile holds afterwards.
struct PlaybackState: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        /// The picture stands because it was asked to. `hasStarted`: the clock of this generation ran before, and goes on at once.
        case paused(hasStarted: Bool)
        /// The clock starts as soon as enough is decoded.
        case waiting
        /// The clock runs, or stands for want of sound to play.
        case playing
        /// All there is has been on the screen to its end.
        case ended
    }

    enum Action: Hashable, Sendable {
        /// Nothing has changed: the card is not to be restarted.
        case none
        /// Wake who waits: the clock runs or stands from now on, or will.
        case changed
        /// Begin again with the first item.
        case replay
    }

    private(set) var phase = Phase.waiting
    /// Whether the clock stands, whatever the phase.
    private(set) var isHeld = false
    /// Whether the feeder has enqueued all there will ever be in this generation (a playlist that does not loop).
    private(set) var isComplete = false
    /// What observers were told last.
    private(set) var status = TimeControlStatus.waitingToPlay

    // MARK: Events

    /// Playing is asked for. `canReplay`: there is a first item to begin with again.
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

    /// The clock stands from now on, or goes as the phase says.
    mutating func hold(_ isHeld: Bool) -> Action {
        if isHeld == self.isHeld { return .none }
        self.isHeld = isHeld
        return .changed
    }

    /// Something is asked for that plays, whatever was before: the generation that begins with it does.
    mutating func playAnyway() { phase = .waiting }

    /// A new generation has begun: its clock has not started.
    mutating func began() {
        phase = wantsPlay ? .waiting : .paused(hasStarted: false)
        isComplete = false
    }

    /// The feeder has enqueued all there is.
    mutating func completed() { isComplete = true }

    /// Enough is decoded: the clock runs from now on.
    mutating func clockStarted() {
        if phase == .waiting { phase = .playing }
    }

    /// All of what was enqueued has been on the screen.
    mutating func playedOut() {
        if phase == .playing { phase = .ended }
    }

    /// Looks what observers are to be told, where that has changed. `ranDry`: there is no sound to play.
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

    // MARK: What is known

    /// Whether the clock runs.
    var isPlaying: Bool { phase == .playing && !isHeld }

    /// Whether the clock is to start as soon as enough is decoded.
    var awaitsClock: Bool { phase == .waiting && !isHeld }

    /// Whether all there is has been on the screen to its end.
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
