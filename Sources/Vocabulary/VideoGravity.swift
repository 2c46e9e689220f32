/// How a picture of another shape is fitted to where it is shown: AVFoundation's words.
public enum VideoGravity: Hashable, Sendable, CaseIterable {
    /// All of it is seen, with bars beside it.
    case resizeAspect
    /// It fills the place, and what is beyond is cut off.
    case resizeAspectFill
    /// It is stretched.
    case resize

    /// In kiosk.conf.
    package var word: String {
        switch self {
        case .resizeAspect: "fit"
        case .resizeAspectFill: "fill"
        case .resize: "stretch"
        }
    }
}
