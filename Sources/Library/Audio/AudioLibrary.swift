import KioskAudioCore
public import KioskPlayer
import KioskVocabulary

/// What libasound logs in its own words.
private enum AudioLibraryLog {
    private static let hasBegun: Void = ALSALog.capture()

    /// Has its lines logged by swift-log from now on, instead of written to standard error.
    static func begin() { hasBegun }
}

extension AudioOutput {
    /// Opens a sound card. Never fails: without a card the output is silent, and takes the card once there is one.
    ///
    /// - Parameters:
    ///   - device: an ALSA name such as `hw:1,0` or `default`; nil is the system's default where somebody has set one, else the sound of
    ///     `display`, else the first real card.
    ///   - display: the display whose own sound is preferred.
    ///   - session: whether other programs can be heard at the same time, which output is followed, and what an interruption does.
    public static func alsa(
        device: String? = nil, display: VideoOutput? = nil, session: AudioSession = AudioSession()
    ) -> AudioOutput {
        AudioLibraryLog.begin()
        let choice = device.flatMap(AudioDevice.init) ?? .automatic
        let output = choice.makeOutput(session: session) { [display] in
            display?.waitUntilOpen()
            return display?.name
        }
        return AudioOutput(output, session: session)
    }
}
