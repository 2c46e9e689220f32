import CKioskPlatform
import Glibc
import KioskPlatform
import KioskPlayback

/// A drawn picture as a file in memory, so that a clip of the film can be made of it: a 24-bit BMP, which needs no encoder. It is gone with the
/// value.
final class PictureFile: Sendable {
    private let file: Descriptor

    /// Its path, for processes of this user as long as this one runs.
    var path: String { "/proc/\(getpid())/fd/\(file.raw)" }

    /// Throws where there is no memory for it.
    init(_ surface: Surface) throws(ExportError) {
        let bytes = Self.bitmap(surface)
        file = Descriptor(bytes.withUnsafeBytes { kiosk_memory_file("title", $0.baseAddress, $0.count) })
        if file.raw < 0 { throw .card("\(SystemError())") }
    }

    /// The bytes of a BMP with the pixels of `surface`, whose alpha is left out.
    static func bitmap(_ surface: Surface) -> [UInt8] {
        let stride = (surface.width * 3 + 3) / 4 * 4
        var bytes: [UInt8] = [0x42, 0x4d]
        func append(_ value: Int, _ size: Int) { for byte in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * byte))) } }
        let size = stride * surface.height
        bytes.reserveCapacity(54 + size)
        // At the end 72 dots an inch, and no palette.
        for (value, length) in [
            (54 + size, 4), (0, 4), (54, 4), (40, 4), (surface.width, 4), (surface.height, 4), (1, 2), (24, 2), (0, 4), (size, 4),
            (2835, 4),
            (2835, 4), (0, 8),
        ] { append(value, length) }
        for y in (0..<surface.height).reversed() {
            for x in 0..<surface.width { append(Int(surface.pixels[y * surface.width + x]), 3) }
            append(0, stride - surface.width * 3)
        }
        return bytes
    }
}
