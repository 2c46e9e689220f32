import KioskPlatform
import KioskVocabulary

/// What fingers mean. Positions are those of ``Contact``: 0…1 from the left and from the top, as a viewer sees the screen.
package enum Gesture: Hashable, Sendable {
    /// One short touch, told when it is lifted.
    case tap(x: Double, y: Double)
    /// Another one soon after a `tap`, in the same outer third of the screen. That `tap` has been told and acted on: who takes this takes
    /// that back.
    case doubleTap(x: Double, y: Double)
    /// A finger rests; told while it does, and nothing more is told of it.
    case longPress(x: Double, y: Double)
    /// One finger drawn sideways: so many steps, positive to the right. Told when it is lifted, after the drag that it is too.
    case swipe(steps: Int)
    /// Two fingers at once, lifted soon. The position is the middle between them.
    case twoFingerTap(x: Double, y: Double)
    /// A finger is drawn up or down along the right edge: by so many hundredths of the height since the last one, positive upwards.
    case volumeDrag(by: Int)
    /// A finger drawn inwards from an edge, told when it is lifted.
    case edgeSwipe(Edge)
    /// One finger has moved farther than a tap may, and what becomes of it.
    case drag(Drag)

    /// An edge of the screen.
    package enum Edge: Hashable, Sendable, CaseIterable {
        case left, right, top, bottom
    }

    /// A drag: where it began, and where it is.
    package struct Drag: Hashable, Sendable {
        /// What happens to it.
        package enum Phase: Hashable, Sendable {
            case began, moved, ended
            /// A second finger has come, or the contact was cancelled: what it may have meant should be forgotten.
            case cancelled
        }
        package var phase: Phase
        package var startX: Double, startY: Double
        package var x: Double, y: Double

        /// A drag from its parts.
        package init(_ phase: Phase, startX: Double, startY: Double, x: Double, y: Double) {
            (self.phase, self.startX, self.startY, self.x, self.y) = (phase, startX, startY, x, y)
        }
    }

    /// The name under which it is bound; nil for a drag, and for two taps in the middle.
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

    /// What it asks for where gestures are bound to `commands`. What goes by steps goes by as many as a swipe or a drag has.
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
    /// The name of a swipe from it.
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

    /// What two taps there are.
    var doubleTap: GestureName? {
        switch self {
        case .left: .doubleTapLeft
        case .middle: nil
        case .right: .doubleTapRight
        }
    }
}
