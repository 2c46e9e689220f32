/// Tracks whether the seat's virtual terminal is in front, and a switch in progress: every output has to finish its part before the next
/// step.
///
///     inFront ──wantsOut──> leaving ──(all have left)──> away ──cameBack──> returning ──(all are back)──> inFront
///                              ^───────────────────────────────wantsOut─────────┘
///
/// The kernel takes the screen from kiosk only after an answer, and gives it back without asking. A pure value; ``Seat`` carries out its
/// actions.
struct SeatSwitch {
    /// The actions, in this order.
    enum Action: Equatable {
        /// Tell the observers whether the terminal is in front.
        case announce(Bool)
        /// Every output has to release its screen.
        case leave
        /// Drop the master of all cards, then answer the kernel.
        case release
        /// Become master of the cards again.
        case reacquire
        /// Every output has to look for its display.
        case comeBack
    }

    private enum Phase: Equatable {
        case inFront
        case leaving(waitingFor: Set<Int>)
        case away
        case returning(waitingFor: Set<Int>)
    }

    private var phase: Phase

    /// Creates a state in front or away, with no switch in progress.
    init(isInFront: Bool = true) { phase = isInFront ? .inFront : .away }

    /// Whether outputs may drive displays.
    var mayDrive: Bool {
        switch phase {
        case .inFront, .returning: true
        case .leaving, .away: false
        }
    }

    /// Handles the kernel's reports since the last look. After both reports, the kernel gave us the screen first and now wants it back.
    mutating func told(wantsOut: Bool, cameBack: Bool, outputs: Set<Int>) -> [Action] {
        if wantsOut { return self.wantsOut(outputs) }
        return cameBack ? self.cameBack(outputs) : []
    }

    private mutating func wantsOut(_ outputs: Set<Int>) -> [Action] {
        switch phase {
        case .leaving: return []
        // The kernel repeats its request, or asks while nothing of ours is on the screen.
        case .away: return [.announce(false), .release]
        case .inFront, .returning:
            phase = .leaving(waitingFor: outputs)
            // First, so that keys typed on the other terminal do not reach kiosk.
            return [.announce(false), .leave] + settled()
        }
    }

    private mutating func cameBack(_ outputs: Set<Int>) -> [Action] {
        switch phase {
        case .inFront: return [.announce(true)]
        case .leaving, .returning: return []
        case .away:
            phase = .returning(waitingFor: outputs)
            return [.reacquire, .comeBack] + settled()
        }
    }

    /// Records that an output has released its screen.
    mutating func left(_ output: Int) -> [Action] {
        guard case .leaving(var outputs) = phase else { return [] }
        outputs.remove(output)
        phase = .leaving(waitingFor: outputs)
        return settled()
    }

    /// Records that an output has looked for its display.
    mutating func returned(_ output: Int) -> [Action] {
        guard case .returning(var outputs) = phase else { return [] }
        outputs.remove(output)
        phase = .returning(waitingFor: outputs)
        return settled()
    }

    /// Removes an output that has gone, so that no switch waits for it.
    mutating func removed(_ output: Int) -> [Action] { left(output) + returned(output) }

    private mutating func settled() -> [Action] {
        switch phase {
        case .leaving(let outputs) where outputs.isEmpty:
            phase = .away
            return [.release]
        case .returning(let outputs) where outputs.isEmpty:
            phase = .inFront
            return [.announce(true)]
        default: return []
        }
    }
}
