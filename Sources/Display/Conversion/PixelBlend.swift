import KioskPlayback

/// Blends pictures in ordinary memory. Scan-out memory may be write-combined: kiosk only writes it, once and in order. So the lower picture
/// is always read from ordinary memory, and only the result may go to scan-out memory.
struct PixelBlend {
    /// Writes a mixture of two pictures of the same size and format to `target`. `share`, 0…1, is the upper one's. `target` may be `lower`.
    static func mix(_ upper: PixelMemory, over lower: PixelMemory, share: Double, into target: PixelMemory) {
        let weight = weight(share)
        for y in 0..<target.height {
            let (to, over, under) = (target.address(0, y), upper.address(0, y), lower.address(0, y))
            switch target.format {
            case .xrgb8888, .xbgr8888: mixBytes(over, under, weight, count: 4 * target.width, into: to)
            case .rgb565: mix565(over, under, weight, count: target.width, into: to)
            }
        }
    }

    /// Returns a share of 0…1 in 256ths. Negative values and NaN become 0, larger values 1.
    static func weight(_ share: Double) -> UInt16 { share > 0 ? UInt16((min(share, 1) * 256).rounded()) : 0 }

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

    /// Draws `count` premultiplied pixels 0xAARRGGBB, at `weight` 256ths, over a row in ordinary memory. A row of 32 bits has premultiplied
    /// alpha, too, and its alpha is blended like the colours: opaque pixels stay opaque.
    static func draw(
        _ source: UnsafePointer<UInt32>, count: Int, weight: UInt32, over row: UnsafeMutableRawPointer, _ format: ScanoutFormat
    ) {
        switch format {
        case .xrgb8888: draw32(source, count, weight, row, exchanges: false)
        case .xbgr8888: draw32(source, count, weight, row, exchanges: true)
        case .rgb565: draw565(source, count, weight, row)
        }
    }

    private typealias Pixels = SIMD8<UInt32>

    private static func draw32(
        _ source: UnsafePointer<UInt32>, _ count: Int, _ weight: UInt32, _ row: UnsafeMutableRawPointer, exchanges: Bool
    ) {
        func mixed(_ pixels: Pixels, _ under: Pixels) -> Pixels {
            var over = weight == 256 ? pixels : faded(pixels, weight)
            if exchanges { over = (over & 0xff00_ff00) | (over & 0xff) &<< 16 | (over &>> 16 & 0xff) }
            return blended(over, under)
        }
        let from = UnsafeRawPointer(source)
        var x = 0
        while x + 8 <= count {
            let over = from.loadUnaligned(fromByteOffset: 4 * x, as: Pixels.self)
            let under = row.loadUnaligned(fromByteOffset: 4 * x, as: Pixels.self)
            row.storeBytes(of: mixed(over, under), toByteOffset: 4 * x, as: Pixels.self)
            x += 8
        }
        while x < count {
            let under = row.load(fromByteOffset: 4 * x, as: UInt32.self)
            row.storeBytes(of: mixed(Pixels(repeating: source[x]), Pixels(repeating: under))[0], toByteOffset: 4 * x, as: UInt32.self)
            x += 1
        }
    }

    private static func draw565(_ source: UnsafePointer<UInt32>, _ count: Int, _ weight: UInt32, _ row: UnsafeMutableRawPointer) {
        for x in 0..<count where source[x] != 0 {
            let under = ScanoutFormat.rgb(of565: row.load(fromByteOffset: 2 * x, as: UInt16.self)) | 0xff00_0000
            let over = faded(Pixels(repeating: source[x]), weight)
            let pixel = ScanoutFormat.rgb565.pixel(blended(over, Pixels(repeating: under))[0] & 0xff_ffff)
            row.storeBytes(of: UInt16(truncatingIfNeeded: pixel), toByteOffset: 2 * x, as: UInt16.self)
        }
    }

    /// Returns premultiplied pixels at `weight` 256ths.
    private static func faded(_ pixels: Pixels, _ weight: UInt32) -> Pixels {
        ((pixels & 0xff_00ff) &* weight) &>> 8 & 0xff_00ff | ((pixels &>> 8 & 0xff_00ff) &* weight & 0xff00_ff00)
    }

    /// Returns premultiplied pixels over others: every channel c + d * (255 - a) / 255, two at a time. No channel of `over` exceeds its
    /// alpha, so none overflows.
    private static func blended(_ over: Pixels, _ under: Pixels) -> Pixels {
        let rest = 255 &- over &>> 24
        func scaled(_ pair: Pixels) -> Pixels {
            let product = pair &* rest &+ 0x80_0080
            return (product &+ (product &>> 8 & 0xff_00ff)) &>> 8 & 0xff_00ff
        }
        return over &+ (scaled(under & 0xff_00ff) | scaled(under &>> 8 & 0xff_00ff) &<< 8)
    }
}
