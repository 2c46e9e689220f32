import CDRM
import Glibc

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
        if retrainingLink {
            let link = PropertyTable(card, object: route.connector, type: UInt32(DRM_MODE_OBJECT_CONNECTOR)).id("link-status")
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
    }

    func flip(to framebuffer: UInt32, id: UInt64) -> Int32 {
        abs(
            drmModePageFlip(
                route.card.fd, route.crtc, framebuffer, UInt32(DRM_MODE_PAGE_FLIP_EVENT),
                UnsafeMutableRawPointer(bitPattern: UInt(truncatingIfNeeded: id))))
    }

    func restore() {
        guard let saved = route.card.saved.removeValue(forKey: route.crtc), var crtc = saved.crtc else { return }
        var connector = route.connector
        if crtc.mode_valid != 0 {
            drmModeSetCrtc(route.card.fd, route.crtc, crtc.buffer_id, crtc.x, crtc.y, &connector, 1, &crtc.mode)
        } else {
            drmModeSetCrtc(route.card.fd, route.crtc, 0, 0, 0, nil, 0, nil)
        }
    }
}
