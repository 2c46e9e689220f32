/// Whether the seat's virtual terminal is in front, and the switch that is under way: what every output has to have done before the next
/// step.
///
///     inFront ──wantsOut──> leaving ──(all have left)──> away ──cameBack──> returning ──(all are back)──> inFront
///                              ^───────────────────────────────wantsOut─────────┘
///
/// The kernel takes the screen from us only when we have answered, and gives it to us without asking. A pure value; ``Seat`` does what it
/// says.
struct SeatSwitch {
    /// What is to be done, in this order.
    enum Action: Equatable {
        /// Tell the observers whether the terminal is in front.
        case announce(Bool)
        /// Every output is to let go of its screen.
        case leave
        /// Let go of the cards' masters, then answer the kernel.
        case release
        /// Become master of the cards again.
        case reacquire
        /// Every output is to look for its display.
        case comeBack
    }

    private enum Phase: Equatable {
        case inFront
        case leaving(waitingFor: Set<Int>)
        case away
        case returning(waitingFor: Set<Int>)
    }

    private var phase: Phase

    /// In front or away, with no switch under way.
    init(isInFront: Bool = true) { phase = isInFront ? .inFront : .away }

    /// Whether outputs may drive displays.
    var mayDrive: Bool {
        switch phase {
        case .inFront, .returning: true
        case .leaving, .away: false
        }
    }

    /// What the kernel has told since the last look. Where it has told both, the screen was given to us first, and we are to leave it
    /// again.
    mutating func told(wantsOut: Bool, cameBack: Bool, outputs: Set<Int>) -> [Action] {
        if wantsOut { return self.wantsOut(outputs) }
        return cameBack ? self.cameBack(outputs) : []
    }

    private mutating func wantsOut(_ outputs: Set<Int>) -> [Action] {
        switch phase {
        case .leaving: return []
        // It asks again, or asks while nothing of ours is on the screen.
        case .away: return [.announce(false), .release]
        case .inFront, .returning:
            phase = .leaving(waitingFor: outputs)
            // First, so that what is typed there does not come here.
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

    /// An output has let go of its screen.
    mutating func left(_ output: Int) -> [Action] {
        guard case .leaving(var outputs) = phase else { return [] }
        outputs.remove(output)
        phase = .leaving(waitingFor: outputs)
        return settled()
    }

    /// An output has looked for its display.
    mutating func returned(_ output: Int) -> [Action] {
        guard case .returning(var outputs) = phase else { return [] }
        outputs.remove(output)
        phase = .returning(waitingFor: outputs)
        return settled()
    }

    /// An output has gone; nobody waits for it any more.
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
