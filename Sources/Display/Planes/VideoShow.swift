import CKioskDRM
import CKioskFFmpeg
import KioskMedia
import KioskPlayback

/// How planes show the pictures of one shape, as the driver has agreed to. One for each answer, so that what shows the same is the same object.
final class VideoArrangement: Sendable {
    let path: PicturePath
    /// The plane of the picture, where that is not the primary one.
    let plane: PlaneProperties?
    /// Where among the planes it is, and where the primary one is; nil where they cannot be put.
    let zpos: UInt64?, primaryZpos: UInt64?
    /// What of the memory is seen, and where.
    let source: PixelRectangle, place: PixelRectangle
    let orientation: Orientation
    let colour: PlaneColour
    /// 0xRRGGBB of the bars.
    let background: UInt32

    init(
        _ candidate: PicturePlan.Candidate, _ assignments: [PlanePlanner.Assignment], plane: PlaneProperties?, colour: PlaneColour,
        background: UInt32
    ) {
        path = candidate.path
        self.plane = plane
        (primaryZpos, zpos) = (assignments[0].zpos, assignments.last!.zpos)
        (source, place, orientation) = (candidate.source, candidate.layer.destination, candidate.layer.orientation)
        (self.colour, self.background) = (colour, background)
    }

    func image(_ framebuffer: FramebufferID) -> PlaneImage {
        PlaneImage(framebuffer: framebuffer, source: source, place: place, orientation: orientation, colour: colour)
    }
}

/// One picture on planes, instead of in a converted buffer. What it holds is let go of on the compositor's thread.
struct VideoShow: Sendable {
    /// What keeps the picture's memory.
    enum Memory: Sendable {
        case buffer(VideoBuffer)
        case surface(HeldSurface)
        case decoded(HeldPicture)
    }

    let arrangement: VideoArrangement
    let memory: Memory
    /// What the primary plane shows behind it; nil where that shows the picture.
    let backgroundBuffer: BackgroundBuffer?

    var framebuffer: FramebufferID {
        switch memory {
        case .buffer(let buffer): buffer.framebuffer
        case .surface(let surface): surface.imported.framebuffer
        case .decoded(let picture): picture.buffer.framebuffer
        }
    }

    /// Whether a decoder waits for its memory.
    var isDecodersMemory: Bool { if case .buffer = memory { false } else { true } }

    /// Adds to a request what shows it: of what is shown already only what changes. `former` was shown before, on top of `behind` on the primary plane.
    /// With `names` something is named in any case.
    func request(
        over primary: PlaneProperties, screen: PixelRectangle, on crtc: CRTCID, after former: VideoArrangement?, behind: FramebufferID?,
        showing: FramebufferID?, names: Bool, in request: inout AtomicRequest
    ) {
        let isSame = former === arrangement
        if let gone = former?.plane, gone.id != arrangement.plane?.id { gone.hide(in: &request) }
        guard let plane = arrangement.plane, let backgroundBuffer else {
            if !isSame {
                primary.show(arrangement.image(framebuffer), on: crtc, zpos: arrangement.primaryZpos, in: &request)
            } else if names || framebuffer != showing {
                primary.exchange(framebuffer, in: &request)
            }
            return
        }
        if !isSame {
            primary.show(backgroundBuffer.framebuffer, at: screen, on: crtc, zpos: arrangement.primaryZpos, in: &request)
            plane.show(arrangement.image(framebuffer), on: crtc, zpos: arrangement.zpos, in: &request)
            return
        }
        if backgroundBuffer.framebuffer != behind { primary.exchange(backgroundBuffer.framebuffer, in: &request) }
        if names || framebuffer != showing { plane.exchange(framebuffer, in: &request) }
    }

    /// What the primary plane shows.
    var primaryFramebuffer: FramebufferID { backgroundBuffer?.framebuffer ?? framebuffer }

    /// The picture as it is scanned out, in ordinary memory, of the shape of `pixels`; for snapshots. nil where the memory cannot be read.
    func drawn(like pixels: PixelMemory) -> ScanoutBuffer? {
        let copy = MemoryBuffer(width: pixels.width, height: pixels.height, format: pixels.format)
        let geometry = PictureGeometry(
            crop: arrangement.source, scanout: arrangement.place, canvas: arrangement.place, orientation: arrangement.orientation)
        func draw(_ frame: consuming VideoFrame?) -> ScanoutBuffer? {
            guard let frame else { return nil }
            do throws(PictureConverter.Refusal) {
                try PictureConverter().draw(frame, geometry, background: arrangement.background, into: copy)
                return copy
            } catch { return nil }
        }
        switch memory {
        case .buffer(let buffer): return draw(buffer.frame(ColourDescription(arrangement.colour)))
        case .surface(let surface): return draw(surface.frame.downloaded())
        case .decoded(let picture): return draw(picture.frame.shared())
        }
    }
}

/// The background on the primary plane, behind a picture on a plane of its own.
class BackgroundBuffer: @unchecked Sendable {
    // Sendable because nothing of it changes once it is made.
    let framebuffer: FramebufferID
    /// 0xRRGGBB.
    let colour: UInt32

    init(framebuffer: FramebufferID, colour: UInt32) { (self.framebuffer, self.colour) = (framebuffer, colour) }
}

/// A hardware decoder's memory as a framebuffer.
class ImportedSurface: @unchecked Sendable {
    // Sendable because nothing of it changes once it is made.
    let framebuffer: FramebufferID

    init(framebuffer: FramebufferID) { self.framebuffer = framebuffer }
}

/// A hardware decoder's picture that is, or will be, on the screen. The decoder does not draw into its memory as long as this lives.
final class HeldSurface: @unchecked Sendable {
    // Sendable because the frame is only read once it is here, and freed by its last holder, the compositor.
    private(set) var frame: VideoFrame
    let imported: ImportedSurface

    init(_ frame: consuming VideoFrame, _ imported: ImportedSurface) {
        self.frame = frame
        self.imported = imported
    }
}
