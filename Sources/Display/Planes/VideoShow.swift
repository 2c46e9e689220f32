import CKioskDRM
import CKioskFFmpeg
import KioskMedia
import KioskPlayback

/// The way planes show the pictures of one shape, as the driver has accepted it. One object for each answer: identity means the same
/// arrangement.
final class VideoArrangement: Sendable {
    let candidate: PicturePlan.Candidate
    /// The plane of the picture; nil if it is the primary one.
    let plane: PlaneProperties?
    /// The positions of this plane and of the primary one; nil if not settable.
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

/// One picture on planes, instead of in a converted buffer. The compositor's thread releases it.
struct VideoShow: Sendable {
    /// The owner of the picture's memory.
    enum Memory: Sendable {
        case buffer(VideoBuffer)
        case picture(HeldPicture)
    }

    let arrangement: VideoArrangement
    let memory: Memory
    /// The background on the primary plane; nil if that plane shows the picture.
    let backgroundBuffer: HeldFramebuffer?

    var framebuffer: FramebufferID {
        switch memory {
        case .buffer(let buffer): buffer.framebuffer
        case .picture(let picture): picture.framebuffer.id
        }
    }

    /// Whether the memory belongs to a decoder, which waits for it.
    var isDecodersMemory: Bool { if case .buffer = memory { false } else { true } }

    /// Adds the picture to a request, with only the changes from the current state. `former` was shown before, on top of `behind` on the
    /// primary plane. `names` sets a framebuffer in any case.
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

    /// The framebuffer on the primary plane.
    var primaryFramebuffer: FramebufferID { backgroundBuffer?.id ?? framebuffer }

    /// Returns the picture as scanned out, in ordinary memory, with the size and format of `pixels`; for snapshots. nil if the memory is
    /// not readable.
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

/// A framebuffer with its owner: the background on the primary plane behind a picture, or a hardware decoder's memory.
struct HeldFramebuffer: Sendable {
    let id: FramebufferID
    var owner: (any Sendable)?
}

/// A decoder's picture in its original memory, on the screen or on its way there. The memory is the hardware's own or a plane's. No decoder
/// draws into it while this object lives.
final class HeldPicture: @unchecked Sendable {
    // Sendable: the frame is read-only from here on, and its last holder, the compositor, frees it.
    private(set) var frame: VideoFrame
    let framebuffer: HeldFramebuffer

    init(_ frame: consuming VideoFrame, _ framebuffer: HeldFramebuffer) {
        self.frame = frame
        self.framebuffer = framebuffer
    }
}
