import KioskVocabulary

/// The drawn layers over every scene, such as controls, from back to front; and the place of the scene's pictures.
///
/// Layers are identified by their surfaces: a layer with the same surface at the same place is unchanged, and the output neither draws nor
/// rotates it again. Everything else is damage, and written anew.
package struct Overlay: Sendable, Equatable {
    /// The sources of layers, from back to front. The layers of each source change independently (``PlaybackEngine/setOverlay(_:by:at:)``).
    package enum Order: Int, CaseIterable, Sendable {
        /// The pictures of other players, each in its part of the display.
        case zones
        /// Texts and pictures of the item, which change with its pictures (``SubtitleTimeline``).
        case subtitles
        /// Texts, clocks and pictures that the operator configures.
        case signs
        /// Text that runs across the screen, at another place at each vblank.
        case ticker
        /// The recorder: buttons and the camera's picture.
        case recording
        case controls
        /// The shelf of an application, which comes over its controls. That of the command belongs to the controls.
        case shelf
    }

    /// A source of overlays; the number distinguishes several with one order. kiosk waits for one source's expected overlay whatever the
    /// others do.
    package struct Source: Hashable, Sendable {
        package var order: Order
        package var number = 0

        package init(_ order: Order, _ number: Int = 0) { (self.order, self.number) = (order, number) }
    }

    /// One layer. Its place is in pixels of the screen as a viewer sees it (before the output's rotation), from the top left corner. Parts
    /// outside the screen are cut off.
    package struct Picture: Sendable, Equatable {
        /// The drawn content.
        package var surface: Surface
        package var x: Int, y: Int
        /// The layer's opacity, 0…1; multiplied with the surface's own alpha.
        package var alpha: Double
        /// The visible part, in pixels of the screen as a viewer sees it; nil for the whole screen.
        package var clip: PixelRectangle?

        /// Creates a layer from a surface with its top left corner at `x`, `y`.
        package init(surface: Surface, x: Int, y: Int, alpha: Double = 1, clip: PixelRectangle? = nil) {
            (self.surface, self.x, self.y, self.alpha, self.clip) = (surface, x, y, alpha, clip)
        }

        /// Compares layers; surfaces are equal if they are the same object.
        package static func == (a: Picture, b: Picture) -> Bool {
            a.surface === b.surface && (a.x, a.y, a.alpha, a.clip) == (b.x, b.y, b.alpha, b.clip)
        }
    }

    /// The layers, the rearmost first. Empty if nothing lies over the picture.
    package var pictures: [Picture]
    /// The size of the screen that the places refer to, as a viewer sees it, in pixels across and down. If the screen now has another size,
    /// because it has been rotated since, the overlay is not shown. nil for the screen at the time when an output gets it.
    package var width: Int?, height: Int?
    /// Whether the overlay covers the whole screen and moves. It may then have planes of that size, with three buffers.
    package var fillsScreen = false
    /// Whether the layers are other players' pictures, each of any size: they may take as much memory as that needs.
    package var isOfPlayers = false
    /// The place of the scene's pictures on the screen. The player's own (``PlaybackEngine/setRegion(_:within:)``) replaces any value set
    /// here.
    package var region = Region.full

    /// Creates an overlay of layers from back to front, on a screen of `width` x `height` pixels.
    package init(pictures: [Picture] = [], width: Int? = nil, height: Int? = nil) {
        (self.pictures, self.width, self.height) = (pictures, width, height)
    }

    /// Stacks several overlays, the rearmost first. The screen size comes from the frontmost overlay that has one.
    init(_ overlays: [Overlay]) {
        let screen = overlays.last { $0.width != nil }
        self.init(pictures: overlays.flatMap(\.pictures), width: screen?.width, height: screen?.height)
        fillsScreen = overlays.contains(where: \.fillsScreen)
        isOfPlayers = overlays.contains { $0.isOfPlayers && !$0.pictures.isEmpty }
    }
}

/// The way in which an output shows an ``Overlay``.
package enum OverlayPlacement: Sendable, Equatable {
    /// On planes of its own: the next ``SceneOutput/commit(_:id:)`` or ``SceneOutput/commitOverlay(id:)`` shows it. Prepared scenes stay as
    /// they are.
    case plane
    /// Scenes prepared from now on contain it; scenes prepared earlier do not.
    case blended
    /// Scenes contain the rearmost layers, and planes show the others with the first commit of a scene that contains exactly those.
    /// `painting` changes whenever other layers are in the scenes, or the same ones elsewhere.
    case both(painting: UInt64)
}
