import CKioskDRM
import Glibc
import KioskPlatform

/// A pipe driven by the older calls, from before atomic commits.
final class LegacyPipe: Pipe {
    private let route: PipeRoute

    init(_ route: PipeRoute) { self.route = route }

    func modeset(_ framebuffer: FramebufferID, retrainingLink: Bool) throws(DeviceError) {
        let card = route.card
        var saved = card.saved.withLock { $0[route.crtc] }
        if saved == nil, let crtc = card.crtc(route.crtc) { saved = SavedPipe(crtc: crtc) }
        let table = PropertyTable(card, of: route.connector)
        let commandLine = SmallFile.text("/proc/cmdline") ?? ""
        let settings = ConnectorSettings.neutral(table, connector: route.connectorName, commandLine: commandLine)
        saved?.add(settings, of: route.connector)
        card.saved.withLock { $0[route.crtc] = saved }
        // A refused setting stays as it is.
        for setting in settings {
            drmModeConnectorSetProperty(card.fd, route.connector.rawValue, setting.property.rawValue, setting.value)
        }
        if retrainingLink, let link = table.id("link-status") {
            drmModeConnectorSetProperty(card.fd, route.connector.rawValue, link.rawValue, UInt64(DRM_MODE_LINK_STATUS_GOOD))
        }
        // Cursors and overlays of other programs would hide the picture.
        drmModeSetCursor(card.fd, route.crtc.rawValue, 0, 0, 0)
        for plane in card.planes() where plane.crtc == route.crtc && plane.type != .primary {
            drmModeSetPlane(card.fd, plane.id.rawValue, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        }
        let status = show(framebuffer)
        guard status == 0 else { throw DeviceError("set \(ConnectorMode(route.timing).name) on \(card.path)", code: status) }
        // Not restored at the end, for the reason in AtomicPipe.
        GammaRamp.reset(card, crtc: route.crtc)
    }

    /// Flips. A blocking flip is the same call as a modeset: in an unchanged mode it only changes the framebuffer.
    func flip(to picture: PipePicture, overlay: OverlayChange?, id: UInt64?) throws(DeviceError) {
        let status =
            id.map { id in
                drmModePageFlip(
                    route.card.fd, route.crtc.rawValue, picture.primary.rawValue, UInt32(DRM_MODE_PAGE_FLIP_EVENT),
                    UnsafeMutableRawPointer(bitPattern: UInt(truncatingIfNeeded: id)))
            } ?? show(picture.primary)
        if status != 0 { throw DeviceError("flip", code: status) }
    }

    private func show(_ framebuffer: FramebufferID) -> Int32 {
        var (connector, timing) = (route.connector.rawValue, route.timing)
        return drmModeSetCrtc(route.card.fd, route.crtc.rawValue, framebuffer.rawValue, 0, 0, &connector, 1, &timing)
    }

    /// Switches the display off by DPMS. The next modeset switches it on, as every modeset does.
    func turnOff() throws(DeviceError) {
        guard let property = PropertyTable(route.card, of: route.connector).id("DPMS") else {
            throw DeviceError("switch \(route.connectorName) off, which has no DPMS", code: EOPNOTSUPP)
        }
        let status = drmModeConnectorSetProperty(
            route.card.fd, route.connector.rawValue, property.rawValue, UInt64(DRM_MODE_DPMS_OFF))
        if status != 0 { throw DeviceError("switch \(route.connectorName) off", code: status) }
    }

    /// The older calls cannot change planes together with the flip.
    func planes(usesCursor: Bool) -> KMSPlanes? { nil }
    func hide(_ planes: [PlaneProperties]) {}

    func restore() {
        guard let saved = route.card.saved.withLock({ $0.removeValue(forKey: route.crtc) }), var crtc = saved.crtc else { return }
        for former in saved.properties {
            drmModeConnectorSetProperty(route.card.fd, former.object, former.property, former.value)
        }
        var connector = route.connector.rawValue
        if crtc.mode_valid != 0 {
            drmModeSetCrtc(route.card.fd, route.crtc.rawValue, crtc.buffer_id, crtc.x, crtc.y, &connector, 1, &crtc.mode)
        } else {
            drmModeSetCrtc(route.card.fd, route.crtc.rawValue, 0, 0, 0, nil, 0, nil)
        }
    }
}
