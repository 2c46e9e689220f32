import CKioskDRM
import KioskPlatform
import KioskPlayback

/// The overlay planes of one output of a card.
final class KMSOverlay: OverlayHardware, @unchecked Sendable {
    // Sendable because all but `hold(_:)`, which needs nothing that changes, is called on the compositor thread alone.

    let picture: PlanePlanner.Layer
    private let route: PipeRoute
    /// The plane of the picture, and what to show on it where the driver is only asked.
    private let beneath: PlaneProperties
    private let framebuffer: FramebufferID
    private let usesCursor: Bool
    /// Ends that the output has a share of the card's planes.
    private let membership: UInt64
    /// All that could show drawn pictures on the CRTC, and the plane of the picture.
    private lazy var planes: [PlaneRecord] = route.card.planes().filter { plane in
        plane.id == beneath.id
            || (plane.type == .overlay || plane.type == .cursor && usesCursor) && plane.possibleCRTCs & route.crtcBit != 0
                && plane.formats.contains(kDRM_FORMAT_ARGB8888)
    }
    private var known: [PlaneID: PlaneProperties] = [:]

    /// Over `picture`, which is on the screen as `framebuffer` on the plane `beneath`.
    init(
        _ route: PipeRoute, over beneath: PlaneProperties, showing framebuffer: FramebufferID, _ picture: PlanePlanner.Layer,
        usesCursor: Bool
    ) {
        (self.route, self.beneath, self.framebuffer, self.picture) = (route, beneath, framebuffer, picture)
        self.usesCursor = usesCursor
        membership = route.card.planeShares.withLock { $0.join(route.crtc, bit: route.crtcBit) }
    }

    deinit { route.card.planeShares.withLock { $0.leave(route.crtc, membership) } }

    func planner() -> PlanePlanner {
        let video = video
        let ofVideo = video?.planes ?? []
        let share: [PlaneRecord] = route.card.planeShares.withLock { $0.share(of: route.crtc, of: planes) }.filter { plane in
            !ofVideo.contains(plane.id)
        }
        let free = planes.filter { plane in plane.id == beneath.id || share.contains { $0.id == plane.id } }.map { plane in
            var plane = plane
            plane.crtc = plane.id == beneath.id ? route.crtc : route.card.crtc(of: plane.id)
            return plane
        }
        let planner = PlanePlanner(
            free, crtc: route.crtc, bit: route.crtcBit, width: picture.destination.width, height: picture.destination.height,
            cursor: share.contains { $0.type == .cursor } ? route.card.cursorSize : nil)
        guard let video, !video.planes.isEmpty else { return planner }
        let places = route.card.planes().filter { ofVideo.contains($0.id) }.compactMap { PlanePlanner.position(of: $0, above: nil) }
        return planner.above(video.zpos ?? places.max() ?? 0)
    }

    func properties(of plane: PlaneID) -> PlaneProperties {
        if let properties = known[plane] { return properties }
        let properties = PlaneProperties.kept(plane, of: route)
        known[plane] = properties
        return properties
    }

    func makeBuffer(width: Int, height: Int) throws(DeviceError) -> OverlayBuffer {
        DumbOverlayBuffer(try DumbBuffer.make(route.card, width: width, height: height, format: kDRM_FORMAT_ARGB8888))
    }

    func test(_ frame: OverlayFrame) throws(DeviceError) {
        var request = AtomicRequest(route.card)
        if video == nil {
            beneath.show(framebuffer, at: picture.destination, on: route.crtc, zpos: frame.below, in: &request)
        } else if let below = frame.below {
            // What the picture's planes show, they show.
            beneath.stack(at: below, in: &request)
        }
        for show in frame.shows { show.request(on: route.crtc, in: &request) }
        // Without ALLOW_MODESET, as it will be committed.
        try request.testBesideFlips("show drawn pictures on planes of \(route.card.path)")
    }

    private var video: PlaneShares.Video? { route.card.planeShares.withLock { $0.video(on: route.crtc) } }
    var serial: UInt64 { video?.serial ?? 0 }

    func hold(_ planes: [PlaneID]) { route.card.planeShares.withLock { $0.hold(planes, for: route.crtc) } }
}

/// A dumb buffer of an overlay plane.
final class DumbOverlayBuffer: OverlayBuffer, @unchecked Sendable {
    // Sendable for the reason OverlayBuffer gives; what it adds never changes.
    private(set) var dumb: DumbBuffer

    init(_ dumb: consuming DumbBuffer) {
        let (pixels, framebuffer) = (dumb.pixels, dumb.framebuffer)
        self.dumb = dumb
        super.init(pixels: pixels, framebuffer: framebuffer)
    }
}
