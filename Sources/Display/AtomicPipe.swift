import CDRM
import Glibc
import Logging
import Platform

/// A list of property changes that take effect together or not at all. An error sticks: the first property that is not
/// offered, or memory that is not to be had, makes ``commit(_:userData:)`` fail, so that nothing need be checked on the way.
struct AtomicRequest: ~Copyable {
    private let card: DRMCard
    private let request: drmModeAtomicReqPtr?
    private var problem: DeviceError?

    init(_ card: DRMCard) {
        self.card = card
        request = drmModeAtomicAlloc()
        if request == nil { problem = DeviceError("allocate an atomic request", code: ENOMEM) }
    }

    deinit { drmModeAtomicFree(request) }

    /// Adds a change of a property that must be there; id 0 is "not offered".
    mutating func set(_ object: UInt32, _ property: UInt32, _ value: UInt64) {
        guard problem == nil else { return }
        guard property != 0 else {
            problem = DeviceError("set a property that object \(object) of \(card.path) lacks", code: EOPNOTSUPP)
            return
        }
        let status = drmModeAtomicAddProperty(request, object, property, value)
        if status < 0 { problem = DeviceError("add to an atomic request", code: status) }
    }

    /// Adds a change of a property that may be absent.
    mutating func setIfOffered(_ object: UInt32, _ property: UInt32, _ value: UInt64) {
        if property != 0 { set(object, property, value) }
    }

    /// Empties the list for the next commit, its memory kept.
    mutating func reset() {
        guard request != nil else { return }
        drmModeAtomicSetCursor(request, 0)
        problem = nil
    }

    /// 0, or an errno. The corresponding C function is `drmModeAtomicCommit`.
    func commit(_ flags: UInt32, userData: UInt64 = 0) -> Int32 {
        if let problem { return problem.code }
        return abs(drmModeAtomicCommit(card.fd, request, flags, UnsafeMutableRawPointer(bitPattern: UInt(truncatingIfNeeded: userData))))
    }
}

/// A pipe driven by atomic commits.
final class AtomicPipe: Pipe {
    private let route: PipeRoute
    private let plane: UInt32
    private let planeIDs: PlaneProperties
    private let crtcActive: UInt32, crtcMode: UInt32, crtcVRR: UInt32
    private let connectorCRTC: UInt32, connectorLink: UInt32
    private let rotation: UInt64?
    /// What changes colours and is not at its default, which is 0 for all of it: no table, no matrix, no metadata, the colour space
    /// `Default`. It outlives the program that set it.
    private let tints: [(object: UInt32, property: UInt32)]
    /// Whether the colour table is no property, and has to be reset by the older call.
    private let hasLegacyGamma: Bool
    /// What makes the connector show the picture as it is.
    private let settings: [ConnectorSettings.Assignment]
    /// The mode; made for the first modeset and kept as long as it may be needed.
    private var mode: ModeBlob?
    /// Used again for every flip.
    private(set) var flipRequest: AtomicRequest

    private final class ModeBlob {
        private(set) var blob: PropertyBlob
        init(_ blob: consuming PropertyBlob) { self.blob = blob }
        var id: UInt32 { blob.id }
    }

    private struct PlaneProperties {
        var framebuffer: UInt32, crtc: UInt32
        var sourceX: UInt32, sourceY: UInt32, sourceWidth: UInt32, sourceHeight: UInt32
        var x: UInt32, y: UInt32, width: UInt32, height: UInt32
        var rotation: UInt32, alpha: UInt32

        init(_ table: PropertyTable) {
            framebuffer = table.id("FB_ID")
            crtc = table.id("CRTC_ID")
            (sourceX, sourceY) = (table.id("SRC_X"), table.id("SRC_Y"))
            (sourceWidth, sourceHeight) = (table.id("SRC_W"), table.id("SRC_H"))
            (x, y) = (table.id("CRTC_X"), table.id("CRTC_Y"))
            (width, height) = (table.id("CRTC_W"), table.id("CRTC_H"))
            rotation = table.id("rotation")
            alpha = table.id("alpha")
        }
    }

    /// Resolves every property once.
    init(_ route: PipeRoute) throws(DeviceError) {
        self.route = route
        let card = route.card
        flipRequest = AtomicRequest(card)
        let fitting = card.planes().filter {
            $0.type == UInt64(DRM_PLANE_TYPE_PRIMARY) && $0.possibleCRTCs & route.crtcBit != 0
                && $0.formats.contains(kDRM_FORMAT_XRGB8888) && ($0.crtc == 0 || $0.crtc == route.crtc)
        }
        guard let plane = fitting.first(where: { $0.crtc == route.crtc }) ?? fitting.first else {
            throw DeviceError("find a primary plane for XRGB8888 on \(card.path)", code: ENODEV)
        }
        self.plane = plane.id
        let table = PropertyTable(card, object: plane.id, type: UInt32(DRM_MODE_OBJECT_PLANE))
        planeIDs = PlaneProperties(table)
        rotation = table.value("rotation")
        let crtc = PropertyTable(card, object: route.crtc, type: UInt32(DRM_MODE_OBJECT_CRTC))
        (crtcActive, crtcMode, crtcVRR) = (crtc.id("ACTIVE"), crtc.id("MODE_ID"), crtc.id("VRR_ENABLED"))
        let connector = PropertyTable(card, object: route.connector, type: UInt32(DRM_MODE_OBJECT_CONNECTOR))
        (connectorCRTC, connectorLink) = (connector.id("CRTC_ID"), connector.id("link-status"))
        func changed(_ names: [String], of object: UInt32, _ table: PropertyTable) -> [(object: UInt32, property: UInt32)] {
            names.filter { table.value($0) ?? 0 != 0 }.map { (object, table.id($0)) }
        }
        tints =
            changed(["DEGAMMA_LUT", "CTM", "GAMMA_LUT"], of: route.crtc, crtc)
            + changed(["HDR_OUTPUT_METADATA", "Colorspace"], of: route.connector, connector)
        hasLegacyGamma = crtc.id("GAMMA_LUT") == 0
        settings = ConnectorSettings.neutral(connector, connector: route.connectorName, commandLine: ProcFile.read("/proc/cmdline") ?? "")
    }

    func modeset(_ framebuffer: UInt32, retrainingLink: Bool) throws(DeviceError) {
        let card = route.card
        if card.saved[route.crtc] == nil { card.saved[route.crtc] = save() }
        card.saved[route.crtc]?.add(settings, of: route.connector)
        let mode = try ModeBlob(PropertyBlob.make(card, route.timing))
        var code = modeset(framebuffer, mode, retrainingLink: retrainingLink, settings)
        // Better a picture with the settings of others than none.
        if code != 0, !settings.isEmpty { code = modeset(framebuffer, mode, retrainingLink: retrainingLink, []) }
        guard code == 0 else { throw DeviceError("set \(ConnectorMode(route.timing).name) on \(card.path)", code: code) }
        self.mode = mode
        if hasLegacyGamma { GammaRamp.reset(card, crtc: route.crtc) }
    }

    private func modeset(
        _ framebuffer: UInt32, _ mode: ModeBlob, retrainingLink: Bool, _ settings: [ConnectorSettings.Assignment]
    ) -> Int32 {
        let card = route.card
        var request = AtomicRequest(card)
        request.set(route.connector, connectorCRTC, UInt64(route.crtc))
        // Few can show the same on two connectors, and none does unasked: a commit that leaves another one on the CRTC is refused.
        for other in sharers() { request.set(other.connector, other.property, 0) }
        if retrainingLink { request.setIfOffered(route.connector, connectorLink, UInt64(DRM_MODE_LINK_STATUS_GOOD)) }
        request.set(route.crtc, crtcMode, UInt64(mode.id))
        request.set(route.crtc, crtcActive, 1)
        request.setIfOffered(route.crtc, crtcVRR, 0)
        // A night light or an HDR player that was killed would colour our picture, too. Not put back at the end: nobody's any more.
        for (object, property) in tints { request.set(object, property, 0) }
        for setting in settings { request.set(route.connector, setting.property, setting.value) }
        // Cursors and overlays that others left would stand before the picture.
        for other in card.planes() where other.crtc == route.crtc && other.id != plane {
            let ids = PlaneProperties(PropertyTable(card, object: other.id, type: UInt32(DRM_MODE_OBJECT_PLANE)))
            request.set(other.id, ids.framebuffer, 0)
            request.set(other.id, ids.crtc, 0)
        }
        let (width, height) = (UInt64(route.timing.hdisplay), UInt64(route.timing.vdisplay))
        request.set(plane, planeIDs.framebuffer, UInt64(framebuffer))
        request.set(plane, planeIDs.crtc, UInt64(route.crtc))
        request.set(plane, planeIDs.sourceX, 0)
        request.set(plane, planeIDs.sourceY, 0)
        request.set(plane, planeIDs.sourceWidth, width << 16)
        request.set(plane, planeIDs.sourceHeight, height << 16)
        request.set(plane, planeIDs.x, 0)
        request.set(plane, planeIDs.y, 0)
        request.set(plane, planeIDs.width, width)
        request.set(plane, planeIDs.height, height)
        if let rotation, rotation != UInt64(DRM_MODE_ROTATE_0) {
            request.setIfOffered(plane, planeIDs.rotation, UInt64(DRM_MODE_ROTATE_0))
        }
        request.setIfOffered(plane, planeIDs.alpha, 0xffff)
        return request.commit(UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET))
    }

    func flip(to framebuffer: UInt32, id: UInt64) -> Int32 {
        flipRequest.reset()
        flipRequest.set(plane, planeIDs.framebuffer, UInt64(framebuffer))
        return flipRequest.commit(UInt32(DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT), userData: id)
    }

    func flipBlocking(to framebuffer: UInt32) -> Int32 {
        flipRequest.reset()
        flipRequest.set(plane, planeIDs.framebuffer, UInt64(framebuffer))
        return flipRequest.commit(0)
    }

    /// The other connectors that are on the CRTC now, each with its property that says so.
    private func sharers() -> [(connector: UInt32, property: UInt32)] {
        route.card.knownConnectors().map(\.id).filter { $0 != route.connector }.compactMap { id in
            let table = PropertyTable(route.card, object: id, type: UInt32(DRM_MODE_OBJECT_CONNECTOR))
            return table.value("CRTC_ID") == UInt64(route.crtc) ? (id, table.id("CRTC_ID")) : nil
        }
    }

    /// Reads everything that ``modeset(_:retrainingLink:)`` changes, but for ``tints``.
    private func save() -> SavedPipe {
        let card = route.card
        var saved = SavedPipe()
        if let crtc = drmModeGetCrtc(card.fd, route.crtc) {
            saved.crtc = crtc.pointee
            drmModeFreeCrtc(crtc)
        }
        func keep(_ object: UInt32, _ type: UInt32, _ names: [String]) {
            let table = PropertyTable(card, object: object, type: type)
            for name in names {
                if let value = table.value(name) { saved.properties.append((object, table.id(name), value)) }
            }
        }
        for connector in [route.connector] + sharers().map(\.connector) {
            keep(connector, UInt32(DRM_MODE_OBJECT_CONNECTOR), ["CRTC_ID"])
        }
        keep(route.crtc, UInt32(DRM_MODE_OBJECT_CRTC), ["ACTIVE", "VRR_ENABLED"])
        for other in card.planes() where other.crtc == route.crtc || other.id == plane {
            keep(
                other.id, UInt32(DRM_MODE_OBJECT_PLANE),
                [
                    "FB_ID", "CRTC_ID", "SRC_X", "SRC_Y", "SRC_W", "SRC_H", "CRTC_X", "CRTC_Y", "CRTC_W", "CRTC_H", "rotation", "alpha",
                ])
        }
        return saved
    }

    func restore() {
        guard let saved = route.card.saved.removeValue(forKey: route.crtc) else { return }
        var request = AtomicRequest(route.card)
        // Another connector of ours may have been the first on it.
        let wasOurs = saved.properties.contains { $0.object == route.connector && $0.property == connectorCRTC }
        if !wasOurs { request.set(route.connector, connectorCRTC, 0) }
        for (object, property, value) in saved.properties { request.set(object, property, value) }
        let former = saved.crtc.flatMap { $0.mode_valid != 0 ? try? ModeBlob(PropertyBlob.make(route.card, $0.mode)) : nil }
        request.set(route.crtc, crtcMode, former.map { UInt64($0.id) } ?? 0)
        let code = request.commit(UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET))
        // The picture's owner may have gone; the kernel then puts its console back when the card is closed.
        if code != 0 { log.debug("the former picture could not be put back: \(DeviceError("commit", code: code))") }
        withExtendedLifetime(former) {}
    }
}
