/// The visible controls, and the effect of a tap: `[input] controls`.
package enum ControlsMode: String, Hashable, Sendable, CaseIterable {
    /// All of them. A tap outside of them shows them and pauses or plays.
    case full
    /// Only a short play or pause sign after a tap.
    case tapOnly = "tap-only"
    /// None.
    case none
}

/// A part of the controls: `[theme]` can hide it, and `[input] allow` can unlock it on a locked screen. The raw values are the words in
/// kiosk.conf.
package enum ControlsPart: String, Hashable, Sendable, CaseIterable {
    /// The disc in the middle that pauses, plays and replays.
    case playButton = "play-button"
    /// The item's title and its place in the playlist.
    case title
    /// Previous and next.
    case skipButtons = "skip-buttons"
    /// The position in the item, the buffered part, and the knob that scrubs.
    case slider
    /// Elapsed time, and total or remaining.
    case times
    /// The picture above the knob during a drag.
    case preview
    /// The button that mutes.
    case mute
    /// The volume's own slider.
    case volume
    /// Rotates while the player waits for data.
    case spinner
    /// Shows the volume, or a seek, after a key or a gesture.
    case toast
    /// The button that opens the shelf.
    case shelf
    /// The button that lists subtitles and sound tracks, if there are subtitles.
    case subtitles
    /// The button that rotates the picture.
    case rotate = "rotate-button"
}

/// The look of the controls: `[theme]`.
package struct Theme: Hashable, Sendable {
    /// The colour of the played part of the slider, and of its knob.
    package var accent = Color(red: 0x33, green: 0x9e, blue: 0xff)
    /// A family name, or several with commas between them, as fontconfig understands them.
    package var font = "Inter, sans-serif"
    /// In per cent of the height of the picture's region.
    package var subtitleSize = 5.5
    /// The opacity of everything that is drawn, 0…1.
    package var opacity = 1.0
    /// At first all parts but the button that rotates the picture.
    package var parts = Set(ControlsPart.allCases).subtracting([.rotate])

    package init() {}
}
