import CKioskDRM
import CKioskFFmpeg
import KioskMedia
import KioskPlayback

/// How planes show the pictures of one shape, as the driver has agreed to. One for each answer, so that what shows the same is the same object.
final class VideoArrangement: Sendable {
    let candidate: PicturePlan.Candidate
    /// The plane of the picture, where that is not the primary one.
    let plane: PlaneProperties?
    /// Where among the planes it is, and where the primary one is; nil where they cannot be put.
    let zpos: UInt64?, primaryZpos: UInt64?
    /// 0xRRGGBB of the bars.
    let background: UInt32

    init(_ candidate: PicturePlan.Candidate, _ assignments: [PlanePlanner.Assignment], plane: PlaneProperties?, background: UInt32) {
        (self.candidate, self.plane, self.background) = (candidate, plane, background)
        (primaryZpos, zpos) = (assignments[0].zpos, assignments.last!.zpos)
    }

    var path: PicturePath { candidate.path }

    func image(_ framebuffer: FramebufferID) -> PlaneImage {
        let layer = candidate.layer
        return PlaneImage(
            framebuffer: framebuffer, source: candidate.source, place: layer.destination, orientation: layer.orientation,
            colour: layer.colour)
    }
}

/// One picture on planes, instead of in a converted buffer. What it holds is let go of on the compositor's thread.
struct VideoShow: Sendable {
    /// What keeps the picture's memory.
    enum Memory: Sendable {
        case buffer(VideoBuffer)
        case picture(HeldPicture)
    }

    let arrangement: VideoArrangement
    let memory: Memory
    /// What the primary plane shows behind it; nil where that shows the picture.
    let backgroundBuffer: HeldFramebuffer?

    var framebuffer: FramebufferID {
        switch memory {
        case .buffer(let buffer): buffer.framebuffer
        case .picture(let picture): picture.framebuffer.id
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
            primary.show(backgroundBuffer.id, at: screen, on: crtc, zpos: arrangement.primaryZpos, in: &request)
            plane.show(arrangement.image(framebuffer), on: crtc, zpos: arrangement.zpos, in: &request)
            return
        }
        if backgroundBuffer.id != behind { primary.exchange(backgroundBuffer.id, in: &request) }
        if names || framebuffer != showing { plane.exchange(framebuffer, in: &request) }
    }

    /// What the primary plane shows.
    var primaryFramebuffer: FramebufferID { backgroundBuffer?.id ?? framebuffer }

    /// The picture as it is scanned out, in ordinary memory, of the shape of `pixels`; for snapshots. nil where the memory cannot be read.
    func drawn(like pixels: PixelMemory) -> ScanoutBuffer? {
        let copy = MemoryBuffer(width: pixels.width, height: pixels.height, format: pixels.format)
        let (candidate, layer) = (arrangement.candidate, arrangement.candidate.layer)
        let geometry = PictureGeometry(
            crop: candidate.source, scanout: layer.destination, canvas: layer.destination, orientation: layer.orientation)
        func draw(_ frame: consuming VideoFrame?) -> ScanoutBuffer? {
            guard let frame else { return nil }
            do throws(PictureConverter.Refusal) {
                try PictureConverter().draw(frame, geometry, background: arrangement.background, into: copy)
                return copy
            } catch { return nil }
        }
        switch memory {
        case .buffer(let buffer): return draw(buffer.frame(layer.colour!))
        case .picture(let picture): return draw(picture.frame.downloaded())
        }
    }
}

/// A framebuffer that something keeps: the background on the primary plane behind a picture, or a hardware decoder's memory.
struct HeldFramebuffer: Sendable {
    let id: FramebufferID
    var owner: (any Sendable)?
}

/// A decoder's picture that is, or will be, on the screen from the memory it was drawn into: the hardware's own, or a plane's. Nobody draws into
/// that as long as this lives.
final class HeldPicture: @unchecked Sendable {
    // Sendable because the frame is only read once it is here, and freed by its last holder, the compositor.
    private(set) var frame: VideoFrame
    let framebuffer: HeldFramebuffer

    init(_ frame: consuming VideoFrame, _ framebuffer: HeldFramebuffer) {
        self.frame = frame
        self.framebuffer = framebuffer
    }
}
