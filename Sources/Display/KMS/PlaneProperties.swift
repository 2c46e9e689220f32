import CKioskDRM
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A framebuffer as a plane shows it.
struct PlaneImage {
    var framebuffer: FramebufferID
    /// What of it is seen, in its own pixels.
    var source: PixelRectangle
    /// Where on the screen, in scan-out pixels.
    var place: PixelRectangle
    var orientation = Orientation.up
    /// Of a YUV format.
    var colour: PlaneColour?
}

/// The properties of a plane by which it is set up.
struct PlaneProperties {
    let id: PlaneID
    let framebuffer: PropertyID<PlaneID>?, crtc: PropertyID<PlaneID>?
    private let sourceX: PropertyID<PlaneID>?, sourceY: PropertyID<PlaneID>?, sourceWidth: PropertyID<PlaneID>?,
        sourceHeight: PropertyID<PlaneID>?
    private let x: PropertyID<PlaneID>?, y: PropertyID<PlaneID>?, width: PropertyID<PlaneID>?, height: PropertyID<PlaneID>?
    private let alpha: PropertyID<PlaneID>?, zpos: PropertyID<PlaneID>?
    private let rotation: PropertyID<PlaneID>?
    /// How colours are made of YUV, with the values by their names.
    private let encoding: PropertyID<PlaneID>?, range: PropertyID<PlaneID>?
    private let encodings: [String: UInt64], ranges: [String: UInt64]
    /// How the plane's own alpha is meant, and the value for colours that are multiplied by it already; nil where there is no choice.
    private let blending: (property: PropertyID<PlaneID>, premultiplied: UInt64)?

    /// What ``keep(_:of:in:)`` keeps.
    private static let names = [
        "FB_ID", "CRTC_ID", "SRC_X", "SRC_Y", "SRC_W", "SRC_H", "CRTC_X", "CRTC_Y", "CRTC_W", "CRTC_H", "rotation", "alpha", "zpos",
        "pixel blend mode", "COLOR_ENCODING", "COLOR_RANGE",
    ]

    /// Resolves every property once.
    init(_ card: DRMCard, _ plane: PlaneID) { self.init(PropertyTable(card, of: plane), of: plane) }

    /// Those of a plane that offers `table`. Pure.
    init(_ table: PropertyTable<PlaneID>, of plane: PlaneID) {
        id = plane
        framebuffer = table.id("FB_ID")
        crtc = table.id("CRTC_ID")
        (sourceX, sourceY) = (table.id("SRC_X"), table.id("SRC_Y"))
        (sourceWidth, sourceHeight) = (table.id("SRC_W"), table.id("SRC_H"))
        (x, y) = (table.id("CRTC_X"), table.id("CRTC_Y"))
        (width, height) = (table.id("CRTC_W"), table.id("CRTC_H"))
        alpha = table.id("alpha")
        zpos = table["zpos"]?.isImmutable == false ? table.id("zpos") : nil
        rotation = table.id("rotation")
        (encoding, range) = (table.id("COLOR_ENCODING"), table.id("COLOR_RANGE"))
        (encodings, ranges) = (table["COLOR_ENCODING"]?.choices ?? [:], table["COLOR_RANGE"]?.choices ?? [:])
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
        let source = PixelRectangle(x: 0, y: 0, width: place.width, height: place.height)
        show(PlaneImage(framebuffer: image, source: source, place: place), on: crtcID, zpos: position, in: &request)
    }

    /// Shows part of a framebuffer in a rectangle of a CRTC, opaque but for its own alpha. Everything that another picture on the plane may have
    /// left otherwise is set.
    func show(_ image: PlaneImage, on crtcID: CRTCID, zpos position: UInt64?, in request: inout AtomicRequest) {
        let (source, place) = (image.source, image.place)
        request.set(id, framebuffer, UInt64(image.framebuffer.rawValue))
        request.set(id, crtc, UInt64(crtcID.rawValue))
        request.set(id, sourceX, UInt64(source.x) << 16)
        request.set(id, sourceY, UInt64(source.y) << 16)
        request.set(id, sourceWidth, UInt64(source.width) << 16)
        request.set(id, sourceHeight, UInt64(source.height) << 16)
        // Signed; the kernel takes them as 64 bits.
        request.set(id, x, UInt64(bitPattern: Int64(place.x)))
        request.set(id, y, UInt64(bitPattern: Int64(place.y)))
        request.set(id, width, UInt64(place.width))
        request.set(id, height, UInt64(place.height))
        request.setIfOffered(id, rotation, Self.rotation(image.orientation))
        if let colour = image.colour {
            if let value = encodings[colour.encoding.rawValue] { request.set(id, encoding, value) }
            if let value = ranges[PlaneColour.rangeName(colour.isFullRange)] { request.set(id, range, value) }
        }
        request.setIfOffered(id, alpha, 0xffff)
        if let blending { request.set(id, blending.property, blending.premultiplied) }
        if let position { stack(at: position, in: &request) }
    }

    /// Puts the plane at a place among the planes, where it can be put.
    func stack(at position: UInt64, in request: inout AtomicRequest) { request.setIfOffered(id, zpos, position) }

    /// Shows another framebuffer as the one before it.
    func exchange(_ image: FramebufferID, in request: inout AtomicRequest) { request.set(id, framebuffer, UInt64(image.rawValue)) }

    /// The value of property `rotation` for a orientation. The kernel mirrors first and then rotates counter-clockwise; ``Orientation`` mirrors first and
    /// then rotates clockwise. Pure.
    static func rotation(_ orientation: Orientation) -> UInt64 {
        let quarters = (360 - orientation.rotation.rawValue) % 360 / 90
        return UInt64(DRM_MODE_ROTATE_0) << UInt64(quarters) | (orientation.isMirrored ? UInt64(DRM_MODE_REFLECT_X) : 0)
    }

    /// Switches the plane off.
    func hide(in request: inout AtomicRequest) {
        request.set(id, framebuffer, 0)
        request.set(id, crtc, 0)
    }

    /// Those of a plane of `route`'s card that is off now, and is to be off again later.
    static func kept(_ plane: PlaneID, of route: PipeRoute) -> PlaneProperties {
        let card = route.card
        card.saved.withLock { saved in
            if var pipe = saved[route.crtc] {
                keep(plane, of: card, in: &pipe)
                saved[route.crtc] = pipe
            }
        }
        return PlaneProperties(card, plane)
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
