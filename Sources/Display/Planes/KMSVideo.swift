import CKioskDRM
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback

/// The planes for video of one output of a card: its primary plane and, for pictures that do not cover the screen, an overlay plane.
final class KMSVideo: VideoHardware, @unchecked Sendable {
    // Sendable because it is called on the compositor thread alone.

    let width: Int, height: Int
    private let route: PipeRoute
    private let primary: PlaneProperties
    private let screen: PixelRectangle
    /// Those that could show video on the CRTC.
    private lazy var planes: [PlaneRecord] = route.card.planes().filter { plane in
        plane.id == primary.id || plane.type == .overlay && plane.possibleCRTCs & route.crtcBit != 0
    }
    private var known: [PlaneID: PlaneProperties] = [:]
    /// What pictures are shown by now.
    private var arrangement: VideoArrangement?
    private var serial: UInt64 = 0
    private let addModeset: ((inout AtomicRequest) -> Void)?

    /// On the screen whose converted pictures the plane `primary` shows. Where the mode is not set yet `addModeset` adds to a request what sets
    /// it: the driver is asked about both together.
    init(
        _ route: PipeRoute, primary: PlaneProperties, screen: PixelRectangle, addModeset: ((inout AtomicRequest) -> Void)? = nil
    ) {
        (self.route, self.primary, self.screen, self.addModeset) = (route, primary, screen, addModeset)
        (width, height) = (screen.width, screen.height)
    }

    deinit { route.card.planeShares.withLock { $0.endVideo(on: route.crtc, serial) } }

    var driver: String { route.card.driver }

    func planner(besides taken: [PlaneID]) -> PlanePlanner {
        let share = route.card.planeShares.withLock { $0.share(of: route.crtc, of: planes) }
        let free = planes.filter { plane in plane.id == primary.id || share.contains { $0.id == plane.id } && !taken.contains(plane.id) }
            .map { plane in
                var plane = plane
                plane.crtc = plane.id == primary.id ? route.crtc : route.card.crtc(of: plane.id)
                return plane
            }
        // Beneath all that drawn pictures have, wherever that is.
        let planner = PlanePlanner(free, crtc: route.crtc, bit: route.crtcBit, width: width, height: height)
        guard !taken.isEmpty else { return planner }
        return planner.beneath(planes.filter { taken.contains($0.id) })
    }

    func properties(of plane: PlaneID) -> PlaneProperties {
        if plane == primary.id { return primary }
        if let properties = known[plane] { return properties }
        let properties = PlaneProperties.kept(plane, of: route)
        known[plane] = properties
        return properties
    }

    func makeBuffer(_ format: VideoFormat, width: Int, height: Int, forScaling: Bool) throws(DeviceError) -> VideoBuffer {
        try DumbVideoBuffer.make(route.card, format, width: width, height: height, forScaling: forScaling)
    }

    func makeBackground(_ colour: UInt32) throws(DeviceError) -> BackgroundBuffer {
        let dumb = try DumbBuffer.make(route.card, width: width, height: height)
        dumb.pixels.fill(screen, with: colour)
        return DumbBackground(dumb, colour)
    }

    func importSurface(_ frame: borrowing VideoFrame) throws(DeviceError) -> ImportedSurface {
        try PrimeFramebuffer.make(route.card, frame)
    }

    func test(_ show: VideoShow) throws(DeviceError) {
        var request = AtomicRequest(route.card)
        addModeset?(&request)
        show.request(
            over: primary, screen: screen, on: route.crtc, after: arrangement, behind: nil, showing: nil, names: true, in: &request)
        let flags = addModeset == nil ? 0 : UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET)
        try request.testBesideFlips("show a picture on planes of \(route.card.path)", flags)
    }

    func shows(_ arrangement: VideoArrangement?, besides former: [PlaneID]) {
        self.arrangement = arrangement
        var shown: (planes: [PlaneID], zpos: UInt64?)?
        if arrangement != nil || !former.isEmpty {
            shown = (former + [arrangement?.plane?.id].compactMap { $0 }, arrangement?.plane == nil ? nil : arrangement?.zpos)
        }
        serial = route.card.planeShares.withLock { $0.showVideo(shown, on: route.crtc) }
    }
}

/// A background in dumb memory.
private final class DumbBackground: BackgroundBuffer, @unchecked Sendable {
    // Sendable for the reason BackgroundBuffer gives; what it adds never changes.
    private(set) var dumb: DumbBuffer

    init(_ dumb: consuming DumbBuffer, _ colour: UInt32) {
        let framebuffer = dumb.framebuffer
        self.dumb = dumb
        super.init(framebuffer: framebuffer, colour: colour)
    }
}

/// The dmabufs of a hardware decoder's surface as a framebuffer.
final class PrimeFramebuffer: ImportedSurface, @unchecked Sendable {
    // Sendable for the reason ImportedSurface gives; what it adds never changes.
    private(set) var scanned: Framebuffer

    private init(_ scanned: consuming Framebuffer) {
        let id = scanned.id
        self.scanned = scanned
        super.init(framebuffer: id)
    }

    /// Imports the memory of a frame's surface. The corresponding C function is `drmPrimeFDToHandle`. The handles are closed at once: the framebuffer
    /// keeps the memory, and the kernel gives the same handle, uncounted, for memory that is imported a second time.
    static func make(_ card: DRMCard, _ frame: borrowing VideoFrame) throws(DeviceError) -> PrimeFramebuffer {
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
        return PrimeFramebuffer(
            try Framebuffer.make(card, width: frame.width, height: frame.height, format: layer.format, parts))
    }
}
