import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// Surfaces made of camera pictures.
struct SurfaceConverterTests {
    /// Returns the colours in the corners: upper left, upper right, lower left, lower right.
    private func corners(_ surface: Surface) -> [UInt32] {
        let (w, h) = (surface.width, surface.height)
        return [(2, 2), (w - 3, 2), (2, h - 3), (w - 3, h - 3)].map { surface.pixels[$1 * w + $0] }
    }

    /// Rotated clockwise, then mirrored.
    @Test(arguments: Rotation.allCases, [false, true]) func picturesAreTurnedAndMirrored(rotation: Rotation, isMirrored: Bool) throws {
        let (red, green, blue, white): (UInt32, UInt32, UInt32, UInt32) = (0xffff_0000, 0xff00_ff00, 0xff00_00ff, 0xffff_ffff)
        let upright =
            switch rotation {
            case .none: [red, green, blue, white]
            case .clockwise90: [blue, red, white, green]
            case .clockwise180: [white, blue, green, red]
            case .clockwise270: [green, white, red, blue]
            }
        let expected = isMirrored ? [1, 0, 3, 2].map { upright[$0] } : upright
        let converter = SurfaceConverter()
        let size = rotation.swapsAxes ? (36, 64) : (64, 36)
        let same = converter.surface(Pictures.quarters(64, 36), width: size.0, height: size.1, rotation: rotation, isMirrored: isMirrored)
        let surface = try #require(same)
        #expect(corners(surface) == expected)
        let larger = converter.surface(
            Pictures.quarters(64, 36), width: size.0 * 3, height: size.1 * 3, rotation: rotation, isMirrored: isMirrored)
        let large = try #require(larger)
        #expect(corners(large) == expected && large.width == size.0 * 3)
    }

    /// The formats of cameras. The surfaces are opaque.
    @Test func formatsOfCameras() throws {
        let converter = SurfaceConverter()
        for format in [
            AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422, AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ420P,
            AV_PIX_FMT_YUV444P, AV_PIX_FMT_GRAY8, AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_BGR0,
        ] {
            for (width, height) in [(48, 32), (96, 64), (50, 34)] {
                for isMirrored in [false, true] {
                    let picture = Pictures.make(format, 48, 32) { _, x, _ in format == AV_PIX_FMT_BGR0 && x % 4 == 3 ? 0 : 128 }
                    let made = converter.surface(picture, width: width, height: height, rotation: .none, isMirrored: isMirrored)
                    let surface = try #require(made)
                    #expect(surface.isOpaque && surface.pixels.allSatisfy { $0 >> 24 == 255 && near($0, 0x808080, 8) }, "\(format)")
                }
            }
        }
    }

    /// The converter reuses the pixels of a surface only after its last reference is gone.
    @Test func pixelsAreUsedAgain() throws {
        let converter = SurfaceConverter()
        func make(_ luma: Int) throws -> Surface {
            let made = converter.surface(Pictures.solid(luma, 128, 128, 64, 36), width: 64, height: 36, rotation: .none, isMirrored: true)
            return try #require(made)
        }
        func address(_ surface: Surface) -> UnsafeRawPointer? { surface.pixels.withUnsafeBytes { $0.baseAddress } }
        var seen: Set<UnsafeRawPointer?> = []
        for luma in 20..<120 { seen.insert(address(try make(luma))) }
        #expect(seen.count <= 2, "each picture took memory of its own")
        let kept = try make(235)
        for luma in 20..<40 { _ = try make(luma) }
        #expect(kept.pixels.allSatisfy { near($0, 0xffffff) }, "a picture changed while it was shown")
    }
}
