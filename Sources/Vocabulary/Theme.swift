/// What of the controls a viewer sees, and what a tap does: `[input] controls`.
package enum ControlsMode: String, Hashable, Sendable, CaseIterable {
    /// All of them. A tap beside them shows them and pauses or plays.
    case full
    /// Only a short play or pause sign where a tap has paused or played.
    case tapOnly = "tap-only"
    /// Nothing is drawn.
    case none
}

/// A part of the controls that can be left out (`[theme]`), and that a locked screen lets act or not (`[input] allow`). The raw values are
/// the words in kiosk.conf.
package enum ControlsPart: String, Hashable, Sendable, CaseIterable {
    /// The disc in the middle that pauses, plays and replays.
    case playButton = "play-button"
    /// The item's title and its place in the playlist.
    case title
    /// Previous and next.
    case skipButtons = "skip-buttons"
    /// Where in the item it is, what is buffered, and the knob that scrubs.
    case slider
    /// Elapsed, and total or remaining.
    case times
    /// The picture above the knob while it is dragged.
    case preview
    /// The button that mutes.
    case mute
    /// The volume's own slider.
    case volume
    /// Goes round while the player waits for data.
    case spinner
    /// Says the volume, or a seek, that a key or a gesture asked for.
    case toast
    /// The button that opens the shelf.
    case shelf
    /// The button that lists subtitles and sound tracks, where there are subtitles.
    case subtitles
}

/// How the controls look: `[theme]`.
package struct Theme: Hashable, Sendable {
    /// What has been played of the slider, and its knob.
    package var accent = Color(red: 0x33, green: 0x9e, blue: 0xff)
    /// A family name, or several with commas between them, as fontconfig understands them.
    package var font = "Inter, sans-serif"
    /// In per cent of the height of the picture's region.
    package var subtitleSize = 5.5
    /// Of everything that is drawn, 0…1.
    package var opacity = 1.0
    package var parts = Set(ControlsPart.allCases)

    package init() {}
}
