/// Where the sound goes: `auto`, any PCM name ALSA knows, or `off`.
package enum AudioDevice: Hashable, Sendable, LosslessStringConvertible {
    /// The system's default where somebody has set one, else the sound of the display in use, else the first real card with playback.
    case automatic
    /// A PCM by ALSA's name for it: `default`, `hw:1,0`, `hdmi:CARD=vc4hdmi0`.
    case pcm(String)
    /// No sound at all.
    case off

    /// nil when `text` is empty, too long for a name or contains control characters.
    package init?(_ text: String) {
        switch text {
        case "auto": self = .automatic
        case "off": self = .off
        default:
            guard 1...256 ~= text.utf8.count, !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { return nil }
            self = .pcm(text)
        }
    }

    /// The text in kiosk.conf.
    package var description: String {
        switch self {
        case .automatic: "auto"
        case .pcm(let name): name
        case .off: "off"
        }
    }
}
