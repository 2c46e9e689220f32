import CKioskPlatform
import Glibc
import KioskPlatform
import KioskPlayback

/// A drawn picture as a file in memory, so that a clip of the film can be made of it: a 24-bit BMP, which needs no encoder. It is gone with the
/// value.
final class PictureFile: Sendable {
    private let file: Descriptor

    /// Its path, for this process alone.
    var path: String { "/proc/self/fd/\(file.raw)" }

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
        func append(_ value: Int, size: Int) { for byte in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * byte))) } }
        bytes.reserveCapacity(54 + stride * surface.height)
        append(54 + stride * surface.height, size: 4)
        append(0, size: 4)
        append(54, size: 4)
        append(40, size: 4)
        append(surface.width, size: 4)
        append(surface.height, size: 4)
        append(1, size: 2)
        append(24, size: 2)
        append(0, size: 4)
        append(stride * surface.height, size: 4)
        // 72 dots an inch, and no palette.
        append(2835, size: 4)
        append(2835, size: 4)
        append(0, size: 8)
        for y in (0..<surface.height).reversed() {
            for x in 0..<surface.width {
                let pixel = surface.pixels[y * surface.width + x]
                bytes.append(UInt8(truncatingIfNeeded: pixel))
                bytes.append(UInt8(truncatingIfNeeded: pixel >> 8))
                bytes.append(UInt8(truncatingIfNeeded: pixel >> 16))
            }
            for _ in surface.width * 3..<stride { bytes.append(0) }
        }
        return bytes
    }
}
