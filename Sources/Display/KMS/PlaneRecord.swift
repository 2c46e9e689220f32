import CKioskDRM
import KioskMedia
import KioskVocabulary

/// A plane as the kernel describes it.
struct PlaneRecord: Hashable {
    enum Kind { case primary, overlay, cursor }

    /// The position of a plane among the planes of its CRTC: a greater number is in front.
    enum Stacking: Hashable {
        /// Not settable.
        case fixed(UInt64)
        /// Settable.
        case range(ClosedRange<UInt64>)
        /// The kernel does not state it: primary planes are behind overlays, and overlays are in the order of their ids.
        case unknown
    }

    var id: PlaneID
    var type: Kind
    /// Bit n: can be on the n-th CRTC.
    var possibleCRTCs: UInt32
    /// The CRTC it is on now.
    var crtc = CRTCID.none
    /// Fourcc codes, in the driver's order.
    var formats: [UInt32]
    /// The format modifiers of each format (property `IN_FORMATS`). The plane takes a format that is missing here only with a linear
    /// layout.
    var modifiers: [UInt32: Set<UInt64>] = [:]
    /// False if it is known to show pictures unscaled only. The kernel does not state it; a test commit tells.
    var canScale = true
    /// The rotations and reflections that it supports.
    var orientations: Set<Orientation> = [.up]
    var stacking = Stacking.unknown
    /// Whether it can show a picture translucent as a whole (property `alpha`).
    var hasAlpha = false
    /// The YUV colour descriptions that it supports.
    var colours = ColourDescription.offered(by: PropertyTable([:]))

    /// Whether it takes a picture of this format and modifier; nil is the driver's own layout.
    func takes(_ format: UInt32, _ modifier: UInt64?) -> Bool {
        formats.contains(format) && modifier.map { modifiers[format, default: [kDRM_FORMAT_MOD_LINEAR]].contains($0) } ?? true
    }

    /// Whether it can be on the CRTC, and is on no other.
    func isFree(for crtc: CRTCID, bit: UInt32) -> Bool { possibleCRTCs & bit != 0 && (self.crtc == .none || self.crtc == crtc) }
}

extension PlaneRecord {
    init(_ card: DRMCard, _ plane: drmModePlane) {
        id = PlaneID(rawValue: plane.plane_id)
        possibleCRTCs = plane.possible_crtcs
        crtc = CRTCID(rawValue: plane.crtc_id)
        formats = Array(UnsafeBufferPointer(start: plane.formats, count: Int(plane.count_formats)))
        let properties = PropertyTable(card, of: id)
        switch properties.value("type") {
        case UInt64(DRM_PLANE_TYPE_PRIMARY): type = .primary
        case UInt64(DRM_PLANE_TYPE_CURSOR): type = .cursor
        default: type = .overlay
        }
        if let blob = card.blob(properties.value("IN_FORMATS")) { modifiers = Self.modifiers(inFormats: blob) }
        orientations = Self.orientations(properties["rotation"])
        hasAlpha = properties.id("alpha") != nil
        colours = ColourDescription.offered(by: properties)
        if let zpos = properties["zpos"] {
            let isMovable = !zpos.isImmutable && zpos.range.map { $0.lowerBound < $0.upperBound } ?? false
            stacking = isMovable ? .range(zpos.range!) : .fixed(zpos.value)
        }
    }

    /// Reads the kernel's table of formats and modifiers, a `struct drm_format_modifier_blob`; empty if the bytes are none. Pure.
    static func modifiers(inFormats blob: [UInt8]) -> [UInt32: Set<UInt64>] {
        blob.withUnsafeBytes { bytes in
            let headSize = MemoryLayout<drm_format_modifier_blob>.size
            guard bytes.count >= headSize else { return [:] }
            let head = bytes.loadUnaligned(as: drm_format_modifier_blob.self)
            let (formats, layouts) = (Int(head.formats_offset), Int(head.modifiers_offset))
            let (formatCount, layoutCount) = (Int(head.count_formats), Int(head.count_modifiers))
            let layoutSize = MemoryLayout<drm_format_modifier>.stride
            guard bytes.count >= formats + 4 * formatCount, bytes.count >= layouts + layoutSize * layoutCount else { return [:] }
            var found: [UInt32: Set<UInt64>] = [:]
            for index in 0..<layoutCount {
                let layout = bytes.loadUnaligned(fromByteOffset: layouts + layoutSize * index, as: drm_format_modifier.self)
                for bit in 0..<64 where layout.formats & 1 << UInt64(bit) != 0 && Int(layout.offset) + bit < formatCount {
                    let format = bytes.loadUnaligned(fromByteOffset: formats + 4 * (Int(layout.offset) + bit), as: UInt32.self)
                    found[format, default: []].insert(layout.modifier)
                }
            }
            return found
        }
    }

    /// Returns the orientations that a property `rotation` offers. The kernel mirrors first and then rotates counter-clockwise;
    /// ``Orientation`` mirrors first and then rotates clockwise. Pure.
    static func orientations(_ property: Property?) -> Set<Orientation> {
        guard let property else { return [.up] }
        var orientations: Set<Orientation> = []
        for rotation in Rotation.allCases where property.choices["rotate-\((-rotation).rawValue)"] != nil {
            orientations.insert(Orientation(rotation: rotation))
            if property.choices["reflect-x"] != nil { orientations.insert(Orientation(rotation: rotation, isMirrored: true)) }
        }
        return orientations.isEmpty ? [.up] : orientations
    }
}
