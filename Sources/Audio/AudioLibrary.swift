public import KioskPlayer
import KioskVocabulary

extension KioskPlayer.AudioOutput {
    /// Opens a sound card. Never fails: without a card the output is silent, and takes the card once there is one.
    ///
    /// - Parameters:
    ///   - device: an ALSA name such as `hw:1,0` or `default`; nil is the system's default where somebody has set one, else the sound of
    ///     `display`, else the first real card.
    ///   - display: the display whose own sound is preferred.
    public static func alsa(device: String? = nil, display: KioskPlayer.VideoOutput? = nil) -> KioskPlayer.AudioOutput {
        let choice = device.flatMap(AudioDevice.init) ?? .automatic
        return KioskPlayer.AudioOutput(
            choice.makeOutput { [display] in
                display?.waitUntilOpen()
                return display?.name
            })
    }
}
