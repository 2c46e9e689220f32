/// How a picture is fitted into the screen: AVFoundation's words; in kiosk.conf `fit`, `fill` and `stretch`.
package enum VideoGravity: String, Sendable, CaseIterable {
    /// The whole picture, its shape kept, bars where it does not reach.
    case resizeAspect = "fit"
    /// The whole screen, the picture's shape kept, its overhang cut off evenly.
    case resizeAspectFill = "fill"
    /// The whole picture on the whole screen, its shape not kept.
    case resize = "stretch"
}
