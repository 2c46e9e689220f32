/// Mixes two pictures on their way to the screen, while one item fades into the next.
///
/// Both are drawn into ordinary memory first: scan-out memory may be write-combined, and is only ever written, once and in order.
///
/// Not thread-safe; belongs to the compositor thread.
final class PictureMixer {
    /// What the pictures are drawn into.
    let lower: MemoryBuffer, upper: MemoryBuffer
    /// Draws the lower one: its layout is not the upper one's, and would have to be set up anew for every frame.
    let converter = PictureConverter()

    /// A mixer for screens like this one.
    init(like pixels: PixelMemory) {
        lower = MemoryBuffer(width: pixels.width, height: pixels.height, format: pixels.format)
        upper = MemoryBuffer(width: pixels.width, height: pixels.height, format: pixels.format)
    }

    /// Whether it is for screens like this one.
    func fits(_ pixels: PixelMemory) -> Bool {
        (upper.pixels.width, upper.pixels.height, upper.pixels.format) == (pixels.width, pixels.height, pixels.format)
    }

    /// Writes the mixture to `buffer`; `share`, 0…1, is the upper picture's.
    func mix(share: Double, into buffer: ScanoutBuffer) {
        buffer.layout = nil
        let weight = UInt16((min(max(share, 0), 1) * 256).rounded())
        for y in 0..<buffer.pixels.height {
            let (target, over, under) = (buffer.pixels.address(0, y), upper.pixels.address(0, y), lower.pixels.address(0, y))
            switch buffer.pixels.format {
            case .xrgb8888, .xbgr8888: Self.mixBytes(over, under, weight, count: 4 * buffer.pixels.width, into: target)
            case .rgb565: Self.mix565(over, under, weight, count: buffer.pixels.width, into: target)
            }
        }
    }

    private static func mixBytes(
        _ over: UnsafeMutableRawPointer, _ under: UnsafeMutableRawPointer, _ weight: UInt16, count: Int,
        into target: UnsafeMutableRawPointer
    ) {
        typealias Bytes = SIMD16<UInt8>
        var offset = 0
        while offset + 16 <= count {
            let a = SIMD16<UInt16>(truncatingIfNeeded: over.loadUnaligned(fromByteOffset: offset, as: Bytes.self))
            let b = SIMD16<UInt16>(truncatingIfNeeded: under.loadUnaligned(fromByteOffset: offset, as: Bytes.self))
            let mixed = (a &* weight &+ b &* (256 - weight)) &>> 8
            target.storeBytes(of: Bytes(truncatingIfNeeded: mixed), toByteOffset: offset, as: Bytes.self)
            offset += 16
        }
        while offset < count {
            let a = UInt16(over.load(fromByteOffset: offset, as: UInt8.self))
            let b = UInt16(under.load(fromByteOffset: offset, as: UInt8.self))
            target.storeBytes(of: UInt8((a * weight + b * (256 - weight)) >> 8), toByteOffset: offset, as: UInt8.self)
            offset += 1
        }
    }

    private static func mix565(
        _ over: UnsafeMutableRawPointer, _ under: UnsafeMutableRawPointer, _ weight: UInt16, count: Int,
        into target: UnsafeMutableRawPointer
    ) {
        let weight = UInt32(weight)
        for x in 0..<count {
            let a = UInt32(over.load(fromByteOffset: 2 * x, as: UInt16.self))
            let b = UInt32(under.load(fromByteOffset: 2 * x, as: UInt16.self))
            func mixed(_ mask: UInt32) -> UInt32 { (((a & mask) * weight + (b & mask) * (256 - weight)) >> 8) & mask }
            target.storeBytes(of: UInt16(mixed(0xf800) | mixed(0x07e0) | mixed(0x001f)), toByteOffset: 2 * x, as: UInt16.self)
        }
    }
}
