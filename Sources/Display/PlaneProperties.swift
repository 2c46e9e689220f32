import CDRM
import Playback

/// The properties of a plane by which it is set up.
struct PlaneProperties {
    let id: PlaneID
    let framebuffer: PropertyID?, crtc: PropertyID?
    private let sourceX: PropertyID?, sourceY: PropertyID?, sourceWidth: PropertyID?, sourceHeight: PropertyID?
    private let x: PropertyID?, y: PropertyID?, width: PropertyID?, height: PropertyID?
    private let alpha: PropertyID?, zpos: PropertyID?
    /// Only where a picture does not stand upright by it.
    private let turnedRotation: PropertyID?
    /// How the plane's own alpha is meant, and the value for colours that are multiplied by it already; nil where there is no choice.
    private let blending: (property: PropertyID, premultiplied: UInt64)?

    /// What ``keep(_:of:in:)`` keeps.
    private static let names = [
        "FB_ID", "CRTC_ID", "SRC_X", "SRC_Y", "SRC_W", "SRC_H", "CRTC_X", "CRTC_Y", "CRTC_W", "CRTC_H", "rotation", "alpha", "zpos",
        "pixel blend mode",
    ]

    /// Resolves every property once.
    init(_ card: DRMCard, _ plane: PlaneID) { self.init(PropertyTable(card, of: plane), of: plane) }

    /// Those of a plane that offers `table`. Pure.
    init(_ table: PropertyTable, of plane: PlaneID) {
        id = plane
        framebuffer = table.id("FB_ID")
        crtc = table.id("CRTC_ID")
        (sourceX, sourceY) = (table.id("SRC_X"), table.id("SRC_Y"))
        (sourceWidth, sourceHeight) = (table.id("SRC_W"), table.id("SRC_H"))
        (x, y) = (table.id("CRTC_X"), table.id("CRTC_Y"))
        (width, height) = (table.id("CRTC_W"), table.id("CRTC_H"))
        alpha = table.id("alpha")
        zpos = table["zpos"]?.isImmutable == false ? table.id("zpos") : nil
        let isTurned = table.value("rotation").map { $0 != UInt64(DRM_MODE_ROTATE_0) } ?? false
        turnedRotation = isTurned ? table.id("rotation") : nil
        if let mode = table["pixel blend mode"], let premultiplied = mode.choices["Pre-multiplied"], let id = table.id("pixel blend mode") {
            blending = (id, premultiplied)
        } else {
            blending = nil
        }
    }

    /// Shows the upper left part of a framebuffer in its own size at `place` of a CRTC, opaque but for its own alpha.
    func show(
        _ image: FramebufferID, at place: PixelRectangle, on crtcID: CRTCID, zpos position: UInt64?, in request: inout AtomicRequest
    ) {
        request.set(id, framebuffer, UInt64(image.rawValue))
        request.set(id, crtc, UInt64(crtcID.rawValue))
        request.set(id, sourceX, 0)
        request.set(id, sourceY, 0)
        request.set(id, sourceWidth, UInt64(place.width) << 16)
        request.set(id, sourceHeight, UInt64(place.height) << 16)
        // Signed; the kernel takes them as 64 bits.
        request.set(id, x, UInt64(bitPattern: Int64(place.x)))
        request.set(id, y, UInt64(bitPattern: Int64(place.y)))
        request.set(id, width, UInt64(place.width))
        request.set(id, height, UInt64(place.height))
        request.setIfOffered(id, turnedRotation, UInt64(DRM_MODE_ROTATE_0))
        request.setIfOffered(id, alpha, 0xffff)
        if let blending { request.set(id, blending.property, blending.premultiplied) }
        if let position { stack(at: position, in: &request) }
    }

    /// Puts the plane at a place among the planes, where it can be put.
    func stack(at position: UInt64, in request: inout AtomicRequest) { request.setIfOffered(id, zpos, position) }

    /// Switches the plane off.
    func hide(in request: inout AtomicRequest) {
        request.set(id, framebuffer, 0)
        request.set(id, crtc, 0)
    }

    /// Keeps what is set up of a plane now, to be put back later.
    static func keep(_ plane: PlaneID, of card: DRMCard, in saved: inout SavedPipe) {
        let table = PropertyTable(card, of: plane)
        for name in names {
            guard let property = table[name], let id = table.id(name), !property.isImmutable else { continue }
            if !saved.keeps(id, of: plane) { saved.keep(id, of: plane, property.value) }
        }
    }
}
