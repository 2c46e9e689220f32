import CKioskPlatform
import Glibc
import KioskPlatform
import KioskPlayback

/// A drawn picture as a file in memory, for a clip of the film: a 24-bit BMP, which needs no encoder. The file ends with the object.
final class PictureFile: Sendable {
    private let file: Descriptor

    /// The path, valid for this user's processes while this process runs.
    var path: String { "/proc/\(getpid())/fd/\(file.raw)" }

    /// Makes a file; throws if memory is lacking.
    init(_ surface: Surface) throws(ExportError) {
        let bytes = Self.bitmap(surface)
        file = Descriptor(bytes.withUnsafeBytes { kiosk_memory_file("title", $0.baseAddress, $0.count) })
        if file.raw < 0 { throw .card("\(SystemError())") }
    }

    /// Returns a BMP with the pixels of `surface`, without alpha.
    static func bitmap(_ surface: Surface) -> [UInt8] {
        let stride = (surface.width * 3 + 3) / 4 * 4
        var bytes: [UInt8] = [0x42, 0x4d]
        func append(_ value: Int, _ size: Int) { for byte in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * byte))) } }
        let size = stride * surface.height
        bytes.reserveCapacity(54 + size)
        // The last values are 72 dots an inch, and no palette.
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
