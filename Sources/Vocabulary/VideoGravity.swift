/// How to fit a picture of another shape into its place: AVFoundation's words.
public enum VideoGravity: Hashable, Sendable, CaseIterable {
    /// Shows all of it, with bars beside it.
    case resizeAspect
    /// Fills the place, and crops the rest.
    case resizeAspectFill
    /// Stretches it.
    case resize

    /// The word in kiosk.conf.
    package var word: String {
        switch self {
        case .resizeAspect: "fit"
        case .resizeAspectFill: "fill"
        case .resize: "stretch"
        }
    }
}
