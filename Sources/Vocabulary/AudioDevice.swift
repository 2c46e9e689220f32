/// The target of the sound: `auto`, any PCM name ALSA knows, or `off`.
package enum AudioDevice: WordedChoice {
    /// A configured system default, else the sound of the display in use, else the first real card with playback.
    case automatic
    /// A PCM by ALSA's name: `default`, `hw:1,0`, `hdmi:CARD=vc4hdmi0`.
    case pcm(String)
    /// No sound at all.
    case off

    package static let words: KeyValuePairs<String, Self> = ["auto": .automatic, "off": .off]
    package static func other(_ text: String) -> Self? { isName(text) ? .pcm(text) : nil }
    package var otherText: String { if case .pcm(let name) = self { name } else { "" } }
}
