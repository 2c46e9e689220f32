import Testing

@testable import KioskDisplayCore

@Suite struct PixelBlendTests {
    /// Returns the mix of one colour over another, at the last pixel of a screen. Its rows are no multiple of any vector.
    private func mixture(_ upper: UInt32, over lower: UInt32, share: Double, format: ScanoutFormat) -> UInt32 {
        func solid(_ rgb: UInt32) -> MemoryBuffer {
            let buffer = MemoryBuffer(width: 37, height: 3, format: format)
            buffer.clear(to: rgb)
            return buffer
        }
        let (screen, over, under) = (solid(0), solid(upper), solid(lower))
        PixelBlend.mix(over.pixels, over: under.pixels, share: share, into: screen.pixels)
        let address = screen.pixels.address(36, 2)
        return switch format {
        case .xrgb8888, .xbgr8888: address.load(as: UInt32.self) & 0xff_ffff
        case .rgb565: UInt32(address.load(as: UInt16.self))
        }
    }

    @Test(arguments: [(0.0, 0x20_40ff), (0.25, 0x28_58bf), (0.5, 0x30_707f), (1, 0x40_a000)] as [(Double, UInt32)])
    func thirtyTwoBits(share: Double, expected: UInt32) {
        #expect(mixture(0x40_a000, over: 0x20_40ff, share: share, format: .xrgb8888) == expected)
    }

    @Test(arguments: [(0.0, 0xf800), (0.5, 0x7be0), (1, 0x07e0)] as [(Double, UInt32)])
    func sixteenBits(share: Double, expected: UInt32) {
        #expect(mixture(0x00_ff00, over: 0xff_0000, share: share, format: .rgb565) == expected)
    }
}
