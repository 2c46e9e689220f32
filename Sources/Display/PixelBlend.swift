import Playback

/// Puts pictures over each other, in ordinary memory: scan-out memory may be write-combined, and is only ever written, once and in order.
/// So what is beneath is always read from ordinary memory, and only the result may go to scan-out memory.
struct PixelBlend {
    /// Writes a mixture of two pictures of the same size and format to `target`; `share`, 0…1, is the upper one's. `target` may be `lower`.
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

    /// 0…1 in 256ths.
    private static func weight(_ share: Double) -> UInt16 { UInt16((min(max(share, 0), 1) * 256).rounded()) }

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

    /// Draws `bitmap` over what is in `target`, which is ordinary memory; what lies outside is cut off. `alpha`, 0…1, is that of the whole
    /// bitmap.
    static func draw(_ bitmap: SurfaceBitmap, alpha: Double, over target: PixelMemory) {
        let place = bitmap.place
        let (left, right) = (max(place.x, 0), min(place.x + place.width, target.width))
        guard left < right else { return }
        let weight = UInt32(weight(alpha))
        for y in max(place.y, 0)..<max(min(place.y + place.height, target.height), max(place.y, 0)) {
            bitmap.pixels.withUnsafeBufferPointer { pixels in
                let source = pixels.baseAddress! + (y - place.y) * place.width + (left - place.x)
                let row = target.address(left, y)
                for x in 0..<right - left {
                    let over = faded(source[x], weight)
                    switch target.format {
                    case .xrgb8888:
                        let under = row.load(fromByteOffset: 4 * x, as: UInt32.self)
                        row.storeBytes(of: blended(over, under), toByteOffset: 4 * x, as: UInt32.self)
                    case .xbgr8888:
                        let under = ScanoutFormat.exchanged(row.load(fromByteOffset: 4 * x, as: UInt32.self))
                        let pixel = ScanoutFormat.xbgr8888.pixel(blended(over, under) & 0xff_ffff)
                        row.storeBytes(of: pixel, toByteOffset: 4 * x, as: UInt32.self)
                    case .rgb565:
                        let under = ScanoutFormat.rgb(of565: row.load(fromByteOffset: 2 * x, as: UInt16.self))
                        let pixel = ScanoutFormat.rgb565.pixel(blended(over, under) & 0xff_ffff)
                        row.storeBytes(of: UInt16(truncatingIfNeeded: pixel), toByteOffset: 2 * x, as: UInt16.self)
                    }
                }
            }
        }
    }

    /// A premultiplied pixel at `weight` 256ths of itself.
    private static func faded(_ pixel: UInt32, _ weight: UInt32) -> UInt32 {
        if weight == 256 { return pixel }
        return (((pixel & 0xff_00ff) &* weight) >> 8 & 0xff_00ff) | ((pixel >> 8 & 0xff_00ff) &* weight & 0xff00_ff00)
    }

    /// A premultiplied pixel over an opaque one: every channel c + d * (255 - a) / 255, two at a time. No channel of `over` is above its
    /// alpha, so none overflows.
    private static func blended(_ over: UInt32, _ under: UInt32) -> UInt32 {
        let rest = 255 - over >> 24
        if rest == 255 { return under | 0xff00_0000 }
        func scaled(_ pair: UInt32) -> UInt32 {
            let product = pair &* rest &+ 0x80_0080
            return (product &+ (product >> 8 & 0xff_00ff)) >> 8 & 0xff_00ff
        }
        return (over &+ (scaled(under & 0xff_00ff) | scaled(under >> 8 & 0xff) << 8)) | 0xff00_0000
    }
}
