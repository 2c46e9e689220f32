import KioskVocabulary

/// The drawn layers that lie over every scene, such as controls, from back to front; and where the scene's pictures are.
///
/// Layers are known by their surfaces: what has the same surface at the same place is the same, and is neither drawn nor rotated again. What
/// else there is is damage, and written anew.
package struct Overlay: Sendable, Equatable {
    /// Who draws, from back to front. What one has drawn changes independently of the others' (``PlaybackEngine/setOverlay(_:by:at:)``).
    package enum Order: Int, CaseIterable, Sendable {
        /// The pictures of other players, each in its part of the display.
        case zones
        /// Texts and pictures of the item, which change with its pictures (``SubtitleTimeline``).
        case subtitles
        /// Texts, clocks and pictures that an operator has put there.
        case signs
        /// Text that runs across the screen: another place at each vblank.
        case ticker
        /// The recorder: buttons and the camera's picture.
        case recording
        case controls
    }

    /// Who sets an overlay, of several with one order by their numbers: what one is expected to set is awaited whatever others do.
    package struct Source: Hashable, Sendable {
        package var order: Order
        package var number = 0

        package init(_ order: Order, _ number: Int = 0) { (self.order, self.number) = (order, number) }
    }

    /// One layer. Its place is in pixels of the screen as a viewer sees it (before the output's rotation), from the top left corner; what
    /// lies outside the screen is cut off.
    package struct Picture: Sendable, Equatable {
        /// What is drawn.
        package var surface: Surface
        package var x: Int, y: Int
        /// How much of it is seen, 0…1; multiplied with the surface's own alpha.
        package var alpha: Double
        /// Nothing of it is seen outside of this, in pixels of the screen as a viewer sees it; nil: it is seen as far as the screen goes.
        package var clip: PixelRectangle?

        /// A surface with its top left corner at `x`, `y`.
        package init(surface: Surface, x: Int, y: Int, alpha: Double = 1, clip: PixelRectangle? = nil) {
            (self.surface, self.x, self.y, self.alpha, self.clip) = (surface, x, y, alpha, clip)
        }

        /// Surfaces are the same when they are one object.
        package static func == (a: Picture, b: Picture) -> Bool {
            a.surface === b.surface && (a.x, a.y, a.alpha, a.clip) == (b.x, b.y, b.alpha, b.clip)
        }
    }

    /// The rearmost first; empty: nothing lies over the picture.
    package var pictures: [Picture]
    /// The screen that the places are on, as a viewer sees it: pixels across and down. Where that is another one, because the screen has
    /// been rotated since, nothing is shown of it. nil: the screen at the time it is given to an output.
    package var width: Int?, height: Int?
    /// Whether it covers all of the screen, and moves: it may then have planes of that size, three buffers of them.
    package var fillsScreen = false
    /// Whether its pictures are those of other players, each as large as somebody wants it: they may take as much memory as that needs.
    package var isOfPlayers = false
    /// Where on the screen the scene's pictures are. The player's own (``PlaybackEngine/setRegion(_:within:)``), whatever is set here.
    package var region = Region.full

    /// Pictures from back to front, on a screen of `width` x `height` pixels.
    package init(pictures: [Picture] = [], width: Int? = nil, height: Int? = nil) {
        (self.pictures, self.width, self.height) = (pictures, width, height)
    }

    /// Those of several over each other, the rearmost first; on the screen of the one in front that names one.
    init(_ overlays: [Overlay]) {
        let screen = overlays.last { $0.width != nil }
        self.init(pictures: overlays.flatMap(\.pictures), width: screen?.width, height: screen?.height)
        fillsScreen = overlays.contains(where: \.fillsScreen)
        isOfPlayers = overlays.contains { $0.isOfPlayers && !$0.pictures.isEmpty }
    }
}

/// How an output shows an ``Overlay``.
package enum OverlayPlacement: Sendable, Equatable {
    /// On planes of its own: the next ``SceneOutput/commit(_:id:)``, or ``SceneOutput/commitOverlay(id:)``, shows it; prepared scenes stay
    /// as they are.
    case plane
    /// Scenes prepared from now on contain it; those prepared before do not.
    case blended
    /// Scenes contain its rearmost layers, and planes show the others, with the first commit of a scene that contains just those. `painting`
    /// is another number whenever other layers are in the scenes, or the same ones elsewhere.
    case both(painting: UInt64)
}
