import CDRM
import Glibc
import Platform

/// A pipe driven by the calls from before atomic commits.
final class LegacyPipe: Pipe {
    private let route: PipeRoute

    init(_ route: PipeRoute) { self.route = route }

    func modeset(_ framebuffer: UInt32, retrainingLink: Bool) throws(DeviceError) {
        let card = route.card
        if card.saved[route.crtc] == nil, let crtc = drmModeGetCrtc(card.fd, route.crtc) {
            card.saved[route.crtc] = SavedPipe(crtc: crtc.pointee)
            drmModeFreeCrtc(crtc)
        }
        let table = PropertyTable(card, object: route.connector, type: UInt32(DRM_MODE_OBJECT_CONNECTOR))
        let commandLine = ProcFile.read("/proc/cmdline") ?? ""
        let settings = ConnectorSettings.neutral(table, connector: route.connectorName, commandLine: commandLine)
        card.saved[route.crtc]?.add(settings, of: route.connector)
        // What the driver refuses stays as it is.
        for setting in settings { drmModeConnectorSetProperty(card.fd, route.connector, setting.property, setting.value) }
        if retrainingLink {
            let link = table.id("link-status")
            if link != 0 { drmModeConnectorSetProperty(card.fd, route.connector, link, UInt64(DRM_MODE_LINK_STATUS_GOOD)) }
        }
        // Cursors and overlays that others left would stand before the picture.
        drmModeSetCursor(card.fd, route.crtc, 0, 0, 0)
        for plane in card.planes() where plane.crtc == route.crtc && plane.type != UInt64(DRM_PLANE_TYPE_PRIMARY) {
            drmModeSetPlane(card.fd, plane.id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        }
        var (connector, timing) = (route.connector, route.timing)
        let status = drmModeSetCrtc(card.fd, route.crtc, framebuffer, 0, 0, &connector, 1, &timing)
        guard status == 0 else { throw DeviceError("set \(ConnectorMode(route.timing).name) on \(card.path)", code: status) }
        // As AtomicPipe says of colours: not put back at the end.
        GammaRamp.reset(card, crtc: route.crtc)
    }

    func flip(to framebuffer: UInt32, id: UInt64) -> Int32 {
        abs(
            drmModePageFlip(
                route.card.fd, route.crtc, framebuffer, UInt32(DRM_MODE_PAGE_FLIP_EVENT),
                UnsafeMutableRawPointer(bitPattern: UInt(truncatingIfNeeded: id))))
    }

    /// The same call as for a modeset; in the mode that is set it changes the framebuffer only.
    func flipBlocking(to framebuffer: UInt32) -> Int32 {
        var (connector, timing) = (route.connector, route.timing)
        return abs(drmModeSetCrtc(route.card.fd, route.crtc, framebuffer, 0, 0, &connector, 1, &timing))
    }

    func restore() {
        guard let saved = route.card.saved.removeValue(forKey: route.crtc), var crtc = saved.crtc else { return }
        for (object, property, value) in saved.properties { drmModeConnectorSetProperty(route.card.fd, object, property, value) }
        var connector = route.connector
        if crtc.mode_valid != 0 {
            drmModeSetCrtc(route.card.fd, route.crtc, crtc.buffer_id, crtc.x, crtc.y, &connector, 1, &crtc.mode)
        } else {
            drmModeSetCrtc(route.card.fd, route.crtc, 0, 0, 0, nil, 0, nil)
        }
    }
}
