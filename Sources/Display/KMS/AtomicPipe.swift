import CKioskDRM
import Glibc
import KioskPlatform
import Logging

/// A pipe driven by atomic commits.
final class AtomicPipe: Pipe {
    private let route: PipeRoute
    /// The driver's answers about the plane for converted pictures.
    private var arrangements: PlaneArrangements
    /// A converted picture, as a layer for the planner.
    private let converted: PlanePlanner.Layer
    /// The plane that shows converted pictures, with its properties.
    private var primary: PlanePlanner.Assignment
    private var plane: PlaneProperties
    private let crtc: PropertyTable<CRTCID>, connector: PropertyTable<ConnectorID>
    /// Properties that change colours and are not at their default. The default is 0 for all: no table, no matrix, no metadata, colour
    /// space `Default`. They outlive the program that set them.
    private let crtcTints: [PropertyID<CRTCID>], connectorTints: [PropertyID<ConnectorID>]
    /// Whether the colour table is no property, and only the older call can reset it.
    private let hasLegacyGamma: Bool
    /// The settings with which the connector shows the picture unchanged.
    private let settings: [ConnectorSettings.Assignment]
    /// The mode blob, made for the first modeset and kept as long as a restore or test may need it.
    private var mode: Owned<PropertyBlob>?
    /// The last commit: the framebuffer on the primary plane, and the arrangement and framebuffer of an unconverted picture.
    private var shown: FramebufferID?
    private var video: (arrangement: VideoArrangement, framebuffer: FramebufferID)?
    /// Reused for every flip.
    private(set) var flipRequest: AtomicRequest

    /// Creates a pipe. Resolves every property once.
    init(_ route: PipeRoute) throws(DeviceError) {
        self.route = route
        let card = route.card
        flipRequest = AtomicRequest(card)
        let (width, height) = (Int(route.timing.hdisplay), Int(route.timing.vdisplay))
        let planner = PlanePlanner(card.planes(), crtc: route.crtc, bit: route.crtcBit, width: width, height: height)
        let converted = PlanePlanner.Layer.converted(width: width, height: height)
        guard let first = (try? planner.assignments(for: [converted]))?.first?.first else {
            throw DeviceError("find a primary plane for XRGB8888 on \(card.path)", code: ENODEV)
        }
        self.converted = converted
        arrangements = PlaneArrangements(planner)
        primary = first
        plane = PlaneProperties(card, first.plane)
        crtc = PropertyTable(card, of: route.crtc)
        connector = PropertyTable(card, of: route.connector)
        func isChanged<Object>(_ table: PropertyTable<Object>) -> (String) -> PropertyID<Object>? {
            { table.value($0) ?? 0 != 0 ? table.id($0) : nil }
        }
        crtcTints = ["DEGAMMA_LUT", "CTM", "GAMMA_LUT"].compactMap(isChanged(crtc))
        connectorTints = ["HDR_OUTPUT_METADATA", "Colorspace"].compactMap(isChanged(connector))
        hasLegacyGamma = crtc.id("GAMMA_LUT") == nil
        settings = ConnectorSettings.neutral(connector, connector: route.connectorName, commandLine: SmallFile.text("/proc/cmdline") ?? "")
    }

    func modeset(_ framebuffer: FramebufferID, retrainingLink: Bool) throws(DeviceError) {
        let card = route.card
        let mode = try Owned(PropertyBlob.make(card, route.timing))
        arrange(framebuffer, mode, retrainingLink: retrainingLink)
        var saved = card.saved.withLock { $0[route.crtc] } ?? save()
        saved.add(settings, of: route.connector)
        card.saved.withLock { $0[route.crtc] = saved }
        func commit(_ settings: [ConnectorSettings.Assignment]) throws(DeviceError) {
            let request = request(framebuffer, on: primary, plane, mode, retrainingLink: retrainingLink, settings)
            let purpose = "set \(ConnectorMode(route.timing).name) on \(card.path)"
            try request.commit(purpose, UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET))
        }
        do throws(DeviceError) {
            try commit(settings)
        } catch {
            if settings.isEmpty { throw error }
            // Better a picture with another program's settings than none.
            try commit([])
        }
        self.mode = mode
        (shown, video) = (framebuffer, nil)
        if hasLegacyGamma { GammaRamp.reset(card, crtc: route.crtc) }
    }

    /// Takes the plane for converted pictures that the driver accepts, if there is a choice; else keeps the current one.
    private func arrange(_ framebuffer: FramebufferID, _ mode: Owned<PropertyBlob>, retrainingLink: Bool) {
        var tested = plane
        let answer = arrangements.answer(for: [converted]) { assignments throws(DeviceError) in
            tested = assignments[0] == primary ? plane : PlaneProperties(route.card, assignments[0].plane)
            let request = request(framebuffer, on: assignments[0], tested, mode, retrainingLink: retrainingLink, settings)
            try request.test("test a plane of \(route.card.path)", UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET))
        }
        switch answer {
        case .planes(let assignments): (primary, plane) = (assignments[0], tested)
        // A test can fail because of the settings, which the fallback commit leaves out.
        case .converted(let reason): log.debug("\(route.connectorName): \(reason)")
        }
    }

    private func request(
        _ framebuffer: FramebufferID, on assignment: PlanePlanner.Assignment, _ plane: PlaneProperties, _ mode: Owned<PropertyBlob>,
        retrainingLink: Bool, _ settings: [ConnectorSettings.Assignment]
    ) -> AtomicRequest {
        var request = AtomicRequest(route.card)
        addModeset(mode, retrainingLink: retrainingLink, settings, to: &request, sparing: assignment.plane)
        // No other plane is on, so the position of this one does not matter.
        plane.show(framebuffer, at: converted.destination, on: route.crtc, zpos: nil, in: &request)
        return request
    }

    /// Adds a modeset without the picture, which plane `spared` will show.
    private func addModeset(
        _ mode: Owned<PropertyBlob>, retrainingLink: Bool, _ settings: [ConnectorSettings.Assignment], to request: inout AtomicRequest,
        sparing spared: PlaneID
    ) {
        let card = route.card
        request.set(route.connector, connector.id("CRTC_ID"), UInt64(route.crtc.rawValue))
        // Few CRTCs can drive two connectors, and none does unasked: the driver refuses a commit that leaves another connector on the CRTC.
        for other in sharers() { request.set(other.connector, other.property, 0) }
        if retrainingLink { request.setIfOffered(route.connector, connector.id("link-status"), UInt64(DRM_MODE_LINK_STATUS_GOOD)) }
        request.set(route.crtc, crtc.id("MODE_ID"), UInt64(mode.value.id.rawValue))
        request.set(route.crtc, crtc.id("ACTIVE"), 1)
        request.setIfOffered(route.crtc, crtc.id("VRR_ENABLED"), 0)
        // A killed night light or HDR player would tint our picture, too. Not restored at the end: its owner is gone.
        for property in crtcTints { request.set(route.crtc, property, 0) }
        for property in connectorTints { request.set(route.connector, property, 0) }
        for setting in settings { request.set(route.connector, setting.property, setting.value) }
        // Cursors and overlays of other programs would hide the picture.
        for other in card.planes() where other.crtc == route.crtc && other.id != spared {
            PlaneProperties(card, other.id).hide(in: &request)
        }
    }

    func flip(to picture: PipePicture, overlay: OverlayChange?, id: UInt64?) throws(DeviceError) {
        describe(picture, overlay)
        let flags = id == nil ? 0 : UInt32(DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT)
        try flipRequest.commit("flip", flags, userData: id ?? 0)
        shown = picture.primary
        video = if case .planes(let show) = picture { (show.arrangement, show.framebuffer) } else { nil }
    }

    private func describe(_ picture: PipePicture, _ overlay: OverlayChange?) {
        flipRequest.reset()
        // Some drivers copy the picture for every commit that sets a framebuffer, even the same one.
        let names = overlay?.isEmpty != false
        switch picture {
        case .planes(let show):
            show.request(
                over: plane, screen: converted.destination, on: route.crtc, after: video?.arrangement, behind: shown,
                showing: video?.framebuffer, names: names, in: &flipRequest)
        case .converted(let framebuffer):
            if let former = video?.arrangement {
                former.plane?.hide(in: &flipRequest)
                plane.show(framebuffer, at: converted.destination, on: route.crtc, zpos: former.primaryZpos, in: &flipRequest)
            } else if framebuffer != shown || names {
                plane.exchange(framebuffer, in: &flipRequest)
            }
        }
        guard let overlay else { return }
        for plane in overlay.hidden { plane.hide(in: &flipRequest) }
        if let below = overlay.below { plane.stack(at: below, in: &flipRequest) }
        for show in overlay.shows { show.request(on: route.crtc, in: &flipRequest) }
    }

    func shows(_ arrangement: VideoArrangement) -> Bool { video?.arrangement === arrangement }

    func planes(usesCursor: Bool) -> KMSPlanes? {
        KMSPlanes(route, primary: plane, showing: shown, converted, usesCursor: usesCursor)
    }

    /// Returns the planes before a modeset: tests ask the driver whether it would show pictures after it.
    func planesBeforeModeset() throws(DeviceError) -> KMSPlanes {
        let mode = try Owned(PropertyBlob.make(route.card, route.timing))
        return KMSPlanes(route, primary: plane, showing: nil, converted) { [self] request in
            addModeset(mode, retrainingLink: false, settings, to: &request, sparing: plane.id)
        }
    }

    func hide(_ planes: [PlaneProperties]) throws(DeviceError) {
        var request = AtomicRequest(route.card)
        for plane in planes { plane.hide(in: &request) }
        try request.commit("switch planes off", UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET))
    }

    func turnOff() throws(DeviceError) {
        var request = AtomicRequest(route.card)
        request.set(route.crtc, crtc.id("ACTIVE"), 0)
        try request.commit("switch \(route.connectorName) off", UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET))
    }

    /// Returns the other connectors on the CRTC, each with its `CRTC_ID` property.
    private func sharers() -> [(connector: ConnectorID, property: PropertyID<ConnectorID>)] {
        route.card.knownConnectors().map(\.id).filter { $0 != route.connector }.compactMap { id in
            let table = PropertyTable(route.card, of: id)
            guard let property = table.id("CRTC_ID"), table.value("CRTC_ID") == UInt64(route.crtc.rawValue) else { return nil }
            return (id, property)
        }
    }

    /// Reads everything that ``modeset(_:retrainingLink:)`` changes, except the tints.
    private func save() -> SavedPipe {
        let card = route.card
        var saved = SavedPipe(crtc: card.crtc(route.crtc))
        func keep(_ object: some KMSObject, _ names: [String]) {
            let table = PropertyTable(card, of: object)
            for name in names {
                if let value = table.value(name), let property = table.id(name) { saved.keep(property, of: object, value) }
            }
        }
        for connector in [route.connector] + sharers().map(\.connector) { keep(connector, ["CRTC_ID"]) }
        keep(route.crtc, ["ACTIVE", "VRR_ENABLED"])
        for other in card.planes() where other.crtc == route.crtc || other.id == primary.plane {
            PlaneProperties.keep(other.id, of: card, in: &saved)
        }
        return saved
    }

    func restore() {
        guard let saved = route.card.saved.withLock({ $0.removeValue(forKey: route.crtc) }) else { return }
        var request = AtomicRequest(route.card)
        // Another connector of ours may have been the first on the CRTC.
        let wasOurs = connector.id("CRTC_ID").map { saved.keeps($0, of: route.connector) } ?? false
        if !wasOurs { request.set(route.connector, connector.id("CRTC_ID"), 0) }
        for change in saved.properties { request.add(change) }
        let former = saved.crtc.flatMap { $0.mode_valid != 0 ? try? Owned(PropertyBlob.make(route.card, $0.mode)) : nil }
        request.set(route.crtc, crtc.id("MODE_ID"), former.map { UInt64($0.value.id.rawValue) } ?? 0)
        do throws(DeviceError) {
            try request.commit("commit", UInt32(DRM_MODE_ATOMIC_ALLOW_MODESET))
        } catch {
            // The framebuffer's owner may have gone; the kernel then restores its console when kiosk closes the card.
            log.debug("the former picture could not be put back: \(error)")
        }
        withExtendedLifetime(former) {}
    }
}
