import KioskAudioCore
public import KioskPlayer
import KioskVocabulary

/// The log lines of libasound.
private enum AudioLibraryLog {
    private static let hasBegun: Void = ALSALog.capture()

    /// Sends its log lines to swift-log from now on, instead of standard error.
    static func begin() { hasBegun }
}

extension AudioOutput {
    /// Opens a sound card. Never fails: without a card the output is silent, and takes a card once there is one.
    ///
    /// - Parameters:
    /// - device: an ALSA name such as `hw:1,0` or `default`; nil is a configured system default, else the sound of `display`, else the
    ///   first real card.
    ///   - display: the display whose own sound is preferred.
    /// - session: whether other programs can play at the same time, which output to follow, and the effect of an interruption.
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
