import KioskPlatform
import KioskVocabulary

/// A gesture of fingers. Positions are those of ``Contact``: 0…1 from the left and from the top, as a viewer sees the screen.
package enum Gesture: Hashable, Sendable {
    /// One short touch, reported on the lift.
    case tap(x: Double, y: Double)
    /// Another touch soon after a `tap`, in the same outer third of the screen. The `tap` was reported and has taken effect: the receiver
    /// undoes that.
    case doubleTap(x: Double, y: Double)
    /// A finger rests. Reported while it touches; that finger makes no further gestures.
    case longPress(x: Double, y: Double)
    /// One finger moves sideways by this number of steps, positive to the right. Reported on the lift, after the end of its drag.
    case swipe(steps: Int)
    /// Two fingers at once, lifted soon. The position is the middle between them.
    case twoFingerTap(x: Double, y: Double)
    /// A finger moves up or down along the right edge. The value is hundredths of the height since the last report, positive upwards.
    case volumeDrag(by: Int)
    /// A finger moves inwards from an edge. Reported on the lift.
    case edgeSwipe(Edge)
    /// One finger has moved farther than a tap may.
    case drag(Drag)

    /// An edge of the screen.
    package enum Edge: Hashable, Sendable, CaseIterable {
        case left, right, top, bottom
    }

    /// A drag: its start and its current position.
    package struct Drag: Hashable, Sendable {
        /// The phase of a drag.
        package enum Phase: Hashable, Sendable {
            case began, moved, ended
            /// A second finger has come, or the contact was cancelled: discard its possible meaning.
            case cancelled
        }
        package var phase: Phase
        package var startX: Double, startY: Double
        package var x: Double, y: Double

        /// Creates a drag from its parts.
        package init(_ phase: Phase, startX: Double, startY: Double, x: Double, y: Double) {
            (self.phase, self.startX, self.startY, self.x, self.y) = (phase, startX, startY, x, y)
        }
    }

    /// The name for its binding; nil for a drag, and for two taps in the middle.
    package var name: GestureName? {
        switch self {
        case .tap: .tap
        case .doubleTap(let x, _): Third(x).doubleTap
        case .longPress: .longPress
        case .swipe(let steps): steps < 0 ? .swipeLeft : .swipeRight
        case .twoFingerTap: .twoFingerTap
        case .volumeDrag: .volumeDrag
        case .edgeSwipe(let edge): edge.name
        case .drag: nil
        }
    }

    /// Returns the command for it, if gestures are bound to `commands`. A command with steps is multiplied by the steps of a swipe or a
    /// volume drag.
    package func command(_ commands: [GestureName: Command]) -> Command? {
        guard let name, let command = commands[name] else { return nil }
        switch (self, command) {
        case (.swipe(let steps), .player(.seekSteps(let count))): return .player(.seekSteps(count * abs(steps)))
        case (.swipe(let steps), .player(.seekBy(let span))): return .player(.seekBy(span * Int64(abs(steps))))
        case (.volumeDrag(let change), .player(.changeVolume(let count))): return .player(.changeVolume(by: count * change))
        default: return command
        }
    }
}

extension Gesture.Edge {
    /// The name of a swipe from this edge.
    package var name: GestureName {
        switch self {
        case .left: .edgeLeft
        case .right: .edgeRight
        case .top: .edgeTop
        case .bottom: .edgeBottom
        }
    }
}

/// A third of the screen's width.
enum Third: Hashable {
    case left, middle, right

    init(_ x: Double) { self = x < 1 / 3.0 ? .left : x > 2 / 3.0 ? .right : .middle }

    /// The name of a double tap in this third.
    var doubleTap: GestureName? {
        switch self {
        case .left: .doubleTapLeft
        case .middle: nil
        case .right: .doubleTapRight
        }
    }
}
