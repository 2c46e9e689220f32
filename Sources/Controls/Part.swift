import KioskPlayback

/// A part to draw, with everything that it depends on. Equal parts look the same, so a part is drawn once. Lengths are pixels.
enum Part: Hashable, Sendable {
    /// The shade behind text, darkest at the screen's edge.
    case scrim(width: Int, height: Int, isTop: Bool)
    case text(Text)
    case slider(Slider)
    /// A round button with its own disc.
    case button(Icon, diameter: Int, isPressed: Bool)
    /// A sign on the bottom bar: `size` is the sign's own, `area` that of the surface.
    case icon(Icon, size: Int, area: Int, isPressed: Bool)
    /// A disc with a wheel that rotates in 12 steps.
    case spinner(diameter: Int, wheel: Int, step: Int)
    /// A level from 0 to 100.
    case toast(width: Int, height: Int, level: Int, icon: Icon)
    /// A line of news.
    case notice(width: Int, height: Int, text: String)
    /// The time at a finger, on a preview if there is one.
    case preview(width: Int, height: Int, border: Int, radius: Int, textSize: Int, text: String, picture: PreviewPicture?)
    /// The list of subtitles and sound tracks.
    case mediaSelection(MediaSelectionPicture)
    /// A part of the shelf.
    case shelf(ShelfPart)

    struct Text: Hashable, Sendable {
        enum Alignment: Hashable, Sendable { case leading, trailing }
        var text: String
        /// The font size, in pixels.
        var size: Int
        var isBold = false
        /// The opacity of white, in hundredths.
        var shade = 100
        var alignment = Alignment.leading
        /// Whether an ellipsis ends text that is too long; otherwise the text is made smaller.
        var hasEllipsis = false
        /// The room for the text.
        var width: Int, height: Int
    }

    /// A bar, and the knob on it. The bar begins and ends `inset` from the surface's sides.
    struct Slider: Hashable, Sendable {
        var width: Int, height: Int, inset: Int
        /// The ends of the played and the loaded part, from the bar's beginning.
        var played: Int, loaded: Int
        var bar: Int
        /// The diameter; 0 for no knob.
        var knob: Int
        /// Whether the played part has the accent colour; otherwise it is white.
        var isAccented: Bool
    }
}

extension Part {
    /// Whether it is a row of empty cards: a fast scroll shows such rows again and again.
    var standsForCards: Bool { if case .shelf(.empty) = self { true } else { false } }
}

/// A sign.
enum Icon: Hashable, Sendable {
    case play, pause, replay
    /// An arrow around a number of seconds; nil for no number.
    case skip(forward: Bool, seconds: Int?)
    case previous, next
    /// 0…2 waves; crossed out if muted.
    case speaker(waves: Int, isMuted: Bool)
    /// An arrow down to a line.
    case copying
    /// Four cards: the shelf.
    case shelf
    /// Lines in a frame; the frame is filled while subtitles are on.
    case subtitles(areSeen: Bool)
    /// Speech: languages of the sound.
    case speech
    /// An arrow around a picture; a point to the left.
    case rotate, back
    /// The other signs.
    case search, cross, check, film, note, still, warning, portrait, sound, erase
}

/// A part with its place and its opacity.
struct PlacedPart: Hashable, Sendable {
    var part: Part
    /// Screen pixels as a viewer sees them.
    var x: Int, y: Int
    /// 0…1.
    var alpha: Double
}

/// A small picture of the item, for the slider. Compared by identity.
package struct PreviewPicture: Hashable, Sendable {
    package let surface: Surface

    package init(_ surface: Surface) { self.surface = surface }

    package static func == (a: PreviewPicture, b: PreviewPicture) -> Bool { a.surface === b.surface }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(surface)) }
}
