/// A gesture that can be bound to a command (`[input.gestures]`). The raw values are the words in kiosk.conf.
package enum GestureName: String, Hashable, Sendable, CaseIterable {
    case tap
    /// Two taps in the left third of the screen.
    case doubleTapLeft = "double-tap-left"
    /// Two taps in the right third of the screen.
    case doubleTapRight = "double-tap-right"
    case longPress = "long-press"
    case swipeLeft = "swipe-left"
    case swipeRight = "swipe-right"
    case twoFingerTap = "two-finger-tap"
    /// A finger moves up or down along the right edge, and changes the volume.
    case volumeDrag = "volume-drag"
    /// A finger moves inwards from beyond the left edge.
    case edgeLeft = "edge-left"
    case edgeRight = "edge-right"
    case edgeTop = "edge-top"
    case edgeBottom = "edge-bottom"
}
