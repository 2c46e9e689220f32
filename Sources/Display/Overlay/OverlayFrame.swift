import KioskPlayback
import KioskVocabulary

/// What the overlay planes show at one time.
struct OverlayFrame {
    /// One plane.
    struct Show {
        let plane: PlaneProperties
        let zpos: UInt64?
        let buffer: OverlayBuffer
        /// Where on the screen, in scan-out pixels; as large as what is shown of the buffer.
        let place: PixelRectangle

        /// Adds what shows it to a request.
        func request(on crtc: CRTCID, in request: inout AtomicRequest) {
            plane.show(buffer.framebuffer, at: place, on: crtc, zpos: zpos, in: &request)
        }
    }

    var shows: [Show] = []
    /// Where the plane of the picture is among the planes; nil where it cannot be put.
    var below: UInt64?
    /// The rotation of the picture that it lies over; nil where it may lie over any.
    var rotation: Rotation?
    /// What the picture that it lies over contains (``OverlayPlacer/painting``), 0 for nothing; nil where it may lie over any.
    var painting: UInt64?
    /// What is drawn in the buffers, for snapshots.
    var drawn: PlacedOverlay?

    /// Whether it may lie over a picture that is rotated so, and contains this.
    func fits(over rotation: Rotation, _ painting: UInt64) -> Bool {
        (self.rotation == nil || self.rotation == rotation) && isOver(painting)
    }

    /// Whether it may lie over a picture that contains this, as it is rotated.
    func isOver(_ painting: UInt64) -> Bool { self.painting == nil || self.painting == painting }

    /// All planes off.
    static let nothing = OverlayFrame()
}

/// What a commit changes about the overlay planes.
struct OverlayChange {
    /// To be switched off.
    var hidden: [PlaneProperties]
    /// To be shown, those that stay as they are among them.
    var shows: [OverlayFrame.Show]
    var below: UInt64?

    /// Whether no plane is named.
    var isEmpty: Bool { hidden.isEmpty && shows.isEmpty }

    init(from former: OverlayFrame, to frame: OverlayFrame) {
        let stay = Set(frame.shows.map(\.plane.id))
        hidden = former.shows.map(\.plane).filter { !stay.contains($0.id) }
        (shows, below) = (frame.shows, frame.below)
    }
}
