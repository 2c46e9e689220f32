import CKioskDRM
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A framebuffer as a plane shows it.
struct PlaneImage {
    var framebuffer: FramebufferID
    /// The visible part, in its own pixels.
    var source: PixelRectangle
    /// The place on the screen, in scan-out pixels.
    var place: PixelRectangle
    var orientation = Orientation.up
    /// The colours of a YUV format.
    var colour: ColourDescription?
}

/// The properties of a plane that set it up.
struct PlaneProperties {
    let id: PlaneID
    private let table: PropertyTable<PlaneID>
    /// The property that every flip sets.
    private let framebuffer: PropertyID<PlaneID>?

    /// The properties that ``keep(_:of:in:)`` keeps.
    private static let names = [
        "FB_ID", "CRTC_ID", "SRC_X", "SRC_Y", "SRC_W", "SRC_H", "CRTC_X", "CRTC_Y", "CRTC_W", "CRTC_H", "rotation", "alpha", "zpos",
        "pixel blend mode", "COLOR_ENCODING", "COLOR_RANGE",
    ]

    /// Creates the properties of a plane. Resolves every property once.
    init(_ card: DRMCard, _ plane: PlaneID) { self.init(PropertyTable(card, of: plane), of: plane) }

    /// Creates the properties of a plane that offers `table`. Pure.
    init(_ table: PropertyTable<PlaneID>, of plane: PlaneID) {
        (id, self.table, framebuffer) = (plane, table, table.id("FB_ID"))
    }

    /// Shows the upper left part of a framebuffer unscaled at `place` of a CRTC, opaque except for its own alpha.
    func show(
        _ image: FramebufferID, at place: PixelRectangle, on crtcID: CRTCID, zpos position: UInt64?, in request: inout AtomicRequest
    ) {
        let source = PixelRectangle(x: 0, y: 0, width: place.width, height: place.height)
        show(PlaneImage(framebuffer: image, source: source, place: place), on: crtcID, zpos: position, in: &request)
    }

    /// Shows part of a framebuffer in a rectangle of a CRTC, opaque except for its own alpha. Sets everything that an earlier picture on
    /// the plane may have changed.
    func show(_ image: PlaneImage, on crtcID: CRTCID, zpos position: UInt64?, in request: inout AtomicRequest) {
        let (source, place) = (image.source, image.place)
        request.set(id, framebuffer, UInt64(image.framebuffer.rawValue))
        set("CRTC_ID", UInt64(crtcID.rawValue), in: &request)
        set("SRC_X", UInt64(source.x) << 16, in: &request)
        set("SRC_Y", UInt64(source.y) << 16, in: &request)
        set("SRC_W", UInt64(source.width) << 16, in: &request)
        set("SRC_H", UInt64(source.height) << 16, in: &request)
        // Signed; the kernel takes them as 64 bits.
        set("CRTC_X", UInt64(bitPattern: Int64(place.x)), in: &request)
        set("CRTC_Y", UInt64(bitPattern: Int64(place.y)), in: &request)
        set("CRTC_W", UInt64(place.width), in: &request)
        set("CRTC_H", UInt64(place.height), in: &request)
        request.setIfOffered(id, table.id("rotation"), Self.rotation(image.orientation))
        if let colour = image.colour, let encoding = colour.planeEncoding {
            choose("COLOR_ENCODING", encoding, in: &request)
            choose("COLOR_RANGE", colour.planeRange, in: &request)
        }
        request.setIfOffered(id, table.id("alpha"), 0xffff)
        choose("pixel blend mode", "Pre-multiplied", in: &request)
        if let position { stack(at: position, in: &request) }
    }

    private func set(_ name: String, _ value: UInt64, in request: inout AtomicRequest) { request.set(id, table.id(name), value) }

    /// Sets a property to one of its named values, if the plane offers it.
    private func choose(_ name: String, _ value: String, in request: inout AtomicRequest) {
        if let value = table[name]?.choices[value] { set(name, value, in: &request) }
    }

    /// Sets the plane's position among the planes, if it is settable.
    func stack(at position: UInt64, in request: inout AtomicRequest) {
        if table["zpos"]?.isImmutable == false { set("zpos", position, in: &request) }
    }

    /// Shows another framebuffer in the same way as the one before.
    func exchange(_ image: FramebufferID, in request: inout AtomicRequest) { request.set(id, framebuffer, UInt64(image.rawValue)) }

    /// Returns the value of property `rotation` for an orientation. The kernel mirrors first and then rotates counter-clockwise;
    /// ``Orientation`` mirrors first and then rotates clockwise. Pure.
    static func rotation(_ orientation: Orientation) -> UInt64 {
        let quarters = (-orientation.rotation).rawValue / 90
        return UInt64(DRM_MODE_ROTATE_0) << UInt64(quarters) | (orientation.isMirrored ? UInt64(DRM_MODE_REFLECT_X) : 0)
    }

    /// Switches the plane off.
    func hide(in request: inout AtomicRequest) {
        request.set(id, framebuffer, 0)
        set("CRTC_ID", 0, in: &request)
    }

    /// Returns the properties of a plane that is off now, and saves its state so that it is off again later.
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

    /// Saves the current setup of a plane, for a later restore.
    static func keep(_ plane: PlaneID, of card: DRMCard, in saved: inout SavedPipe) {
        let table = PropertyTable(card, of: plane)
        for name in names {
            guard let property = table[name], let id = table.id(name), !property.isImmutable else { continue }
            if !saved.keeps(id, of: plane) { saved.keep(id, of: plane, property.value) }
        }
    }
}
