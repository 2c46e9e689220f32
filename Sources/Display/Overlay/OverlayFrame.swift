import KioskPlayback
import KioskVocabulary

/// The content of the overlay planes at one time.
struct OverlayFrame {
    /// One plane.
    struct Show {
        let plane: PlaneProperties
        let zpos: UInt64?
        let buffer: OverlayBuffer
        /// The place on the screen, in scan-out pixels; as large as the visible part of the buffer.
        let place: PixelRectangle

        /// Adds this plane to a request.
        func request(on crtc: CRTCID, in request: inout AtomicRequest) {
            plane.show(buffer.framebuffer, at: place, on: crtc, zpos: zpos, in: &request)
        }
    }

    var shows: [Show] = []
    /// The position of the picture's plane among the planes; nil if it is not settable.
    var below: UInt64?
    /// The rotation of the picture below; nil if any will do.
    var rotation: Rotation?
    /// The painting in the picture below (``OverlayPlacer/painting``), 0 for none; nil if any will do.
    var painting: UInt64?
    /// The drawing in the buffers, for snapshots.
    var drawn: PlacedOverlay?

    /// Whether it may lie over a picture with this rotation and painting.
    func fits(over rotation: Rotation, _ painting: UInt64) -> Bool {
        (self.rotation == nil || self.rotation == rotation) && isOver(painting)
    }

    /// Whether it may lie over a picture with this painting, in any rotation.
    func isOver(_ painting: UInt64) -> Bool { self.painting == nil || self.painting == painting }

    /// All planes off.
    static let nothing = OverlayFrame()
}

/// The change of the overlay planes in a commit.
struct OverlayChange {
    /// The planes to switch off.
    var hidden: [PlaneProperties]
    /// The planes to show, including unchanged ones.
    var shows: [OverlayFrame.Show]
    var below: UInt64?

    /// Whether the change contains no plane.
    var isEmpty: Bool { hidden.isEmpty && shows.isEmpty }

    init(from former: OverlayFrame, to frame: OverlayFrame) {
        let stay = Set(frame.shows.map(\.plane.id))
        hidden = former.shows.map(\.plane).filter { !stay.contains($0.id) }
        (shows, below) = (frame.shows, frame.below)
    }
}
