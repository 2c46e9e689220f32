import KioskVocabulary

/// A control that a viewer can touch.
package enum Control: Hashable, Sendable, CaseIterable {
    /// The disc in the middle: play, pause, or replay.
    case playPause
    /// The discs beside it: a seek step back and forward.
    case skipBack, skipForward
    case previousItem, nextItem
    case slider
    /// The label at the end of the slider: remaining or total time.
    case remaining
    case mute, volume
    /// Opens the shelf.
    case shelf
    /// Opens the list of subtitles and sound tracks.
    case subtitles
    /// Rotates the picture by a quarter clockwise.
    case rotate
    /// Leaves the picture for something else, which is the application's.
    case back

    /// Its part in `[theme]` and `[input] allow`; nil for the application's own.
    var part: ControlsPart? {
        switch self {
        case .playPause: .playButton
        case .skipBack, .skipForward, .previousItem, .nextItem: .skipButtons
        case .slider: .slider
        case .remaining: .times
        case .mute: .mute
        case .volume: .volume
        case .shelf: .shelf
        case .subtitles: .subtitles
        case .rotate: .rotate
        case .back: nil
        }
    }
}
