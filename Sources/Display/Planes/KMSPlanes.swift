import CKioskDRM
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback

/// The planes of one output of a card: the primary plane, the video planes for pictures that do not cover the screen, and the overlay
/// planes.
final class KMSPlanes: VideoHardware, OverlayHardware, @unchecked Sendable {
    // Sendable: only the compositor thread calls this, except `hold(_:)` and `leave()`, which read nothing that changes.

    /// The converted picture as a layer on the primary plane, and a framebuffer of one for tests of the driver.
    let picture: PlanePlanner.Layer
    private let framebuffer: FramebufferID?
    private let route: PipeRoute
    private let primary: PlaneProperties
    private let usesCursor: Bool
    /// The number that ends the output's share of the card's planes.
    private let membership: UInt64?
    /// All planes that can show something on the CRTC.
    private lazy var planes: [PlaneRecord] = route.card.planes().filter { plane in
        plane.id == primary.id
            || (plane.type == .overlay || plane.type == .cursor && usesCursor) && plane.possibleCRTCs & route.crtcBit != 0
    }
    private var known: [PlaneID: PlaneProperties] = [:]
    /// The current arrangement of pictures (nil: converted), the overlay planes of earlier pictures still on the screen, and the number of
    /// changes.
    private var video: (arrangement: VideoArrangement?, former: [PlaneID], changes: UInt64) = (nil, [], 0)
    private let addModeset: ((inout AtomicRequest) -> Void)?

    /// Creates the planes of a screen whose converted pictures are on plane `primary`, now as `framebuffer`. `usesCursor`: one of them is a
    /// cursor plane. If the mode is not set yet, `addModeset` adds the modeset to a request, so that the driver tests both together.
    init(
        _ route: PipeRoute, primary: PlaneProperties, showing framebuffer: FramebufferID?, _ picture: PlanePlanner.Layer,
        usesCursor: Bool = false, addModeset: ((inout AtomicRequest) -> Void)? = nil
    ) {
        (self.route, self.primary, self.framebuffer, self.picture) = (route, primary, framebuffer, picture)
        (self.usesCursor, self.addModeset) = (usesCursor, addModeset)
        membership = addModeset == nil ? route.card.planeShares.withLock { $0.join(route.crtc, bit: route.crtcBit) } : nil
    }

    /// Ends the output's share after the screen has gone. Any thread.
    func leave() { if let membership { route.card.planeShares.withLock { $0.leave(route.crtc, membership) } } }

    var driver: String { route.card.driver }
    var width: Int { picture.destination.width }
    var height: Int { picture.destination.height }

    // MARK: Which

    /// Returns the primary plane, and those of `candidates` that are in this output's share and not among `taken`.
    private func free(_ candidates: [PlaneRecord], besides taken: [PlaneID]) -> [PlaneRecord] {
        let share = Set(route.card.planeShares.withLock { $0.share(of: route.crtc, of: candidates) }.map(\.id)).subtracting(taken)
        return candidates.filter { $0.id == primary.id || share.contains($0.id) }.map { plane in
            var plane = plane
            plane.crtc = plane.id == primary.id ? route.crtc : route.card.crtc(of: plane.id)
            return plane
        }
    }

    private func planner(_ free: [PlaneRecord], cursor: PlanePlanner.Size? = nil) -> PlanePlanner {
        PlanePlanner(free, crtc: route.crtc, bit: route.crtcBit, width: width, height: height, cursor: cursor)
    }

    func planner(besides taken: [PlaneID]) -> PlanePlanner {
        let planner = planner(free(planes.filter { $0.type != .cursor }, besides: taken))
        // Below all planes of drawn pictures, at any zpos.
        return taken.isEmpty ? planner : planner.beneath(planes.filter { taken.contains($0.id) })
    }

    func planner() -> PlanePlanner {
        let ofVideo = video.former + [video.arrangement?.plane?.id].compactMap { $0 }
        let free = free(planes.filter { $0.id == primary.id || $0.formats.contains(kDRM_FORMAT_ARGB8888) }, besides: ofVideo)
        let planner = planner(free, cursor: free.contains { $0.type == .cursor } ? route.card.cursorSize : nil)
        if ofVideo.isEmpty { return planner }
        let zpos = video.arrangement?.plane == nil ? nil : video.arrangement?.zpos
        let places = planes.filter { ofVideo.contains($0.id) }.compactMap { PlanePlanner.position(of: $0, above: nil) }
        return planner.above(zpos ?? places.max() ?? 0)
    }

    func properties(of plane: PlaneID) -> PlaneProperties {
        if plane == primary.id { return primary }
        if let properties = known[plane] { return properties }
        let properties = PlaneProperties.kept(plane, of: route)
        known[plane] = properties
        return properties
    }

    /// Whether planes show decoded pictures without conversion.
    private var showsVideo: Bool { video.arrangement != nil || !video.former.isEmpty }
    var serial: UInt64 { showsVideo ? video.changes : 0 }

    func shows(_ arrangement: VideoArrangement?, besides former: [PlaneID]) {
        video = (arrangement, former, video.changes + 1)
        route.card.planeShares.withLock {
            $0.hold(former + [arrangement?.plane?.id].compactMap { $0 }, for: route.crtc, asPictures: true)
        }
    }

    func hold(_ planes: [PlaneID]) { route.card.planeShares.withLock { $0.hold(planes, for: route.crtc) } }

    // MARK: Memory

    func makeBuffer(_ format: VideoFormat, width: Int, height: Int, forScaling: Bool) throws(DeviceError) -> VideoBuffer {
        try VideoBuffer.make(route.card, format, width: width, height: height, forScaling: forScaling)
    }

    func makeBuffer(width: Int, height: Int) throws(DeviceError) -> OverlayBuffer {
        let (buffer, pixels) = try DumbBuffer.make(route.card, width: width, height: height, format: kDRM_FORMAT_ARGB8888)
        return OverlayBuffer(pixels: pixels, framebuffer: buffer.framebuffer, owner: buffer)
    }

    func makeBackground(_ colour: UInt32) throws(DeviceError) -> HeldFramebuffer {
        let (buffer, pixels) = try DumbBuffer.make(route.card, width: width, height: height)
        pixels.fill(picture.destination, with: colour)
        return HeldFramebuffer(id: buffer.framebuffer, owner: buffer)
    }

    func importSurface(_ frame: borrowing VideoFrame) throws(DeviceError) -> HeldFramebuffer {
        let scanned = Owned(try Framebuffer.importing(frame, into: route.card))
        return HeldFramebuffer(id: scanned.value.id, owner: scanned)
    }

    // MARK: Asking the driver

    func test(_ show: VideoShow) throws(DeviceError) {
        var request = AtomicRequest(route.card)
        addModeset?(&request)
        show.request(
            over: primary, screen: picture.destination, on: route.crtc, after: video.arrangement, behind: nil, showing: nil, names: true,
            in: &request)
        let flags = addModeset == nil ? 0 : UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET)
        try request.testBesideFlips("show a picture on planes of \(route.card.path)", flags)
    }

    func test(_ frame: OverlayFrame) throws(DeviceError) {
        var request = AtomicRequest(route.card)
        if !showsVideo, let framebuffer {
            primary.show(framebuffer, at: picture.destination, on: route.crtc, zpos: frame.below, in: &request)
        } else if let below = frame.below {
            // The picture's planes keep their content.
            primary.stack(at: below, in: &request)
        }
        for show in frame.shows { show.request(on: route.crtc, in: &request) }
        // Without ALLOW_MODESET, like the later commit.
        try request.testBesideFlips("show drawn pictures on planes of \(route.card.path)")
    }
}

extension Framebuffer {
    /// Imports the memory of a frame's surface. The corresponding C function is `drmPrimeFDToHandle`. Closes the handles at once. The
    /// framebuffer keeps the memory, and for a second import of the same memory the kernel returns the same handle, uncounted.
    fileprivate static func importing(_ frame: borrowing VideoFrame, into card: DRMCard) throws(DeviceError) -> Framebuffer {
        guard let surface = frame.surface?.pointee, surface.nb_layers == 1, (1...4).contains(surface.nb_objects) else {
            throw DeviceError("import a decoder's memory into \(card.path)", code: EINVAL)
        }
        let objects = [surface.objects.0, surface.objects.1, surface.objects.2, surface.objects.3].prefix(Int(surface.nb_objects))
        let layer = surface.layers.0
        let planes = [layer.planes.0, layer.planes.1, layer.planes.2, layer.planes.3].prefix(Int(layer.nb_planes))
        var handles: [GEMHandle] = []
        defer { for handle in Set(handles) { drmCloseBufferHandle(card.fd, handle.rawValue) } }
        for object in objects {
            var handle = GEMHandle.none
            guard drmPrimeFDToHandle(card.fd, object.fd, &handle.rawValue) == 0 else {
                throw DeviceError("import a decoder's memory into \(card.path)")
            }
            handles.append(handle)
        }
        var parts = Framebuffer.Parts()
        for (index, plane) in planes.enumerated() {
            guard handles.indices.contains(Int(plane.object_index)) else {
                throw DeviceError("import a decoder's memory into \(card.path)", code: EINVAL)
            }
            parts.handles[index] = handles[Int(plane.object_index)]
            (parts.pitches[index], parts.offsets[index]) = (UInt32(plane.pitch), UInt32(plane.offset))
        }
        let modifier = objects[0].format_modifier
        if modifier != kDRM_FORMAT_MOD_INVALID { parts.modifier = modifier }
        return try make(card, width: frame.width, height: frame.height, format: layer.format, parts)
    }
}
