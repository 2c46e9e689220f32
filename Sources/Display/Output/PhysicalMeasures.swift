import CKioskDRM

/// The physical size of a display, checked: many displays state none or a wrong one.
struct PhysicalMeasures: Hashable {
    /// Millimetres, as scanned out.
    var width: Double, height: Double

    /// Some displays state an aspect ratio as their size, in centimetres or millimetres.
    private static let shapes: [PhysicalMeasures] = [(160, 90), (160, 100), (16, 9), (16, 10)].map { .init(width: $0.0, height: $0.1) }

    /// Returns the first of `candidates` that is plausible for a display of `pixels`; nil if none is. Plausible are up to 5 m, 0.3 to 25
    /// pixels a millimetre, and pixels that are square within a quarter. Pure.
    static func believable(_ candidates: [PhysicalMeasures], pixels: (width: Int, height: Int)) -> PhysicalMeasures? {
        candidates.first { size in
            guard size.width > 0, size.height > 0, max(size.width, size.height) <= 5000, !shapes.contains(size) else { return false }
            let (across, down) = (Double(pixels.width) / size.width, Double(pixels.height) / size.height)
            return (0.3...25).contains(across) && (0.3...25).contains(down) && (0.8...1.25).contains(across / down)
        }
    }
}

extension PhysicalMeasures {
    /// Reads the size from a display's EDID: that of the first detailed timing, exact to the millimetre. nil if there is none. Pure.
    init?(edid: [UInt8]) {
        guard edid.count >= 128, edid.starts(with: [0, 255, 255, 255, 255, 255, 255, 0]), edid[54] != 0 || edid[55] != 0 else { return nil }
        (width, height) = (Double(Int(edid[66]) | Int(edid[68] & 0xf0) << 4), Double(Int(edid[67]) | Int(edid[68] & 0x0f) << 8))
        if width == 0 || height == 0 { return nil }
    }
}
