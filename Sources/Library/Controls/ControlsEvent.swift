import KioskInputCore

extension PlayerControls {
    /// An event of the controls, in order.
    public enum Event: Hashable, Sendable {
        /// A gesture beside the controls.
        case gesture(Gesture)
        /// A viewer has pressed ``Part/back``.
        case back
        /// A viewer has pressed ``Part/rotate``.
        case rotate
        /// The controls have appeared, or begin to fade out: ``PlayerControls/isVisible``.
        case visibilityChanged(Bool)
    }

    /// A gesture of fingers. Places are 0…1 from the left and from the top of the display, as a viewer sees it.
    public enum Gesture: Hashable, Sendable {
        /// An edge of the display.
        public enum Edge: Hashable, Sendable {
            /// One of the four.
            case left, right, top, bottom
        }

        /// The phase of a drag.
        public enum Phase: Hashable, Sendable {
            /// It begins, moves, ends.
            case began, moved, ended
            /// A second finger has come, or the finger is lost: discard its effects.
            case cancelled
        }

        /// One short touch, when it is lifted. Its effect is that of ``TapPolicy``.
        case tap(x: Double, y: Double)
        /// A second tap soon after in the same outer third; the first one was a `tap` as well.
        case doubleTap(x: Double, y: Double)
        /// A finger rests for 0.7 s; it makes no other gesture.
        case longPress(x: Double, y: Double)
        /// Two fingers at once; the place is between them.
        case twoFingerTap(x: Double, y: Double)
        /// A finger goes sideways, by 1 or more steps to the right, or by -1 or less to the left. A step is a quarter of the width.
        case swipe(steps: Int)
        /// A finger goes inwards from an edge.
        case edgeSwipe(Edge)
        /// A finger moves farther than a tap. A swipe is a drag as well, which has ended before.
        case drag(Phase, startX: Double, startY: Double, x: Double, y: Double)
    }
}

extension PlayerControls.Gesture {
    /// Creates the gesture of the engine; nil for a change of the volume, which is no gesture of the application's.
    init?(_ gesture: KioskInputCore.Gesture) {
        switch gesture {
        case .tap(let x, let y): self = .tap(x: x, y: y)
        case .doubleTap(let x, let y): self = .doubleTap(x: x, y: y)
        case .longPress(let x, let y): self = .longPress(x: x, y: y)
        case .twoFingerTap(let x, let y): self = .twoFingerTap(x: x, y: y)
        case .swipe(let steps): self = .swipe(steps: steps)
        case .edgeSwipe(let edge):
            self =
                switch edge {
                case .left: .edgeSwipe(.left)
                case .right: .edgeSwipe(.right)
                case .top: .edgeSwipe(.top)
                case .bottom: .edgeSwipe(.bottom)
                }
        case .drag(let drag):
            let phase: Phase =
                switch drag.phase {
                case .began: .began
                case .moved: .moved
                case .ended: .ended
                case .cancelled: .cancelled
                }
            self = .drag(phase, startX: drag.startX, startY: drag.startY, x: drag.x, y: drag.y)
        case .volumeDrag: return nil
        }
    }
}
