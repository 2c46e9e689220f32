/// `[audio] channels`: the number of channels to render, and to request from the sound card.
package enum AudioChannels: String, Sendable, CaseIterable {
    /// As many as a connected display takes by HDMI or DisplayPort; two if none takes more.
    case automatic = "auto"
    /// Left and right; kiosk mixes more channels down.
    case stereo
    /// Six: left, right, centre, bass and two behind.
    case surround51 = "5.1"
    /// Eight: those of 5.1, and two at the sides.
    case surround71 = "7.1"

    /// The number of channels; nil if the display decides.
    package var count: Int? {
        switch self {
        case .automatic: nil
        case .stereo: 2
        case .surround51: 6
        case .surround71: 8
        }
    }
}
