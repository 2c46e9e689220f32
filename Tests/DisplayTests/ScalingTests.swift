import CKioskFFmpeg
import KioskMedia
import Testing

@testable import KioskDisplayCore

/// Reductions: each pixel is the mean of its source pixels.
@Suite struct ScalingTests {
    /// Returns a picture with different values in each plane and in the padding of its rows.
    private static func picture(_ format: AVPixelFormat, _ width: Int, _ height: Int) throws -> VideoFrame {
        guard let picture = VideoFrame.blank(format, width: width, height: height, hasRoom: true) else { throw NoMemory() }
        var seed: UInt32 = 7
        for (place, (plane, stride)) in planes(picture.planes).enumerated() {
            for index in 0..<stride * rows(place, format, height) {
                seed = seed &* 1_664_525 &+ 1_013_904_223
                plane[index] = UInt8(seed >> 24)
            }
        }
        return picture
    }

    private struct NoMemory: Error {}

    /// Returns the number of rows of a plane.
    private static func rows(_ plane: Int, _ format: AVPixelFormat, _ height: Int) -> Int {
        plane > 0 && format == AV_PIX_FMT_YUV420P ? height / 2 : height
    }

    private static func planes(_ planes: PicturePlanes) -> [(UnsafeMutablePointer<UInt8>, Int)] {
        [(planes.data.0, planes.strides.0), (planes.data.1, planes.strides.1), (planes.data.2, planes.strides.2)]
            .compactMap { data, stride in data.map { ($0, Int(stride)) } }
    }

    /// Widths below, at and above the width of a vector.
    @Test(arguments: [(2, 2), (16, 4), (30, 6), (46, 2), (160, 90)], [AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P])
    func halves(size: (Int, Int), format: AVPixelFormat) throws {
        let (width, height) = size
        let source = try Self.picture(format, 2 * width, 2 * height), target = try Self.picture(format, width, height)
        let flags = ScaleContext.filter(from: (2 * width, 2 * height), to: (width, height))
        #expect(flags == SWS_AREA)
        guard let context = ScaleContext.make(from: (format, 2 * width, 2 * height), to: (format, width, height), flags: flags) else {
            throw NoMemory()
        }
        let before = Self.planes(target.planes).enumerated().map { place, plane in
            (0..<plane.1 * Self.rows(place, format, height)).map { plane.0[$0] }
        }
        context.run(from: source.planes, to: target.planes)
        for (index, ((from, step), (to, stride))) in zip(Self.planes(source.planes), Self.planes(target.planes)).enumerated() {
            let columns = index > 0 && format != AV_PIX_FMT_YUV444P ? width / 2 : width
            for y in 0..<Self.rows(index, format, height) {
                for x in 0..<stride {
                    // Padding beside the picture stays unchanged.
                    var wanted = before[index][y * stride + x]
                    if x < columns {
                        let place = 2 * y * step + 2 * x
                        let sum = [place, place + 1, place + step, place + step + 1].reduce(0) { $0 + Int(from[$1]) }
                        wanted = UInt8((sum + 2) / 4)
                    }
                    if to[y * stride + x] != wanted {
                        Issue.record("plane \(index) of \(width)×\(height) at \(x), \(y): \(to[y * stride + x]), not \(wanted)")
                        return
                    }
                }
            }
        }
        // Keeps the memory of both alive until here.
        _ = (source.planes, target.planes)
    }

    /// Odd sizes, other formats and other ratios use libswscale. A pattern of single pixels becomes gray, not stripes.
    @Test(arguments: [(384, 216), (128, 72), (96, 54), (127, 71)]) func fineStripesBecomeGray(size: (Int, Int)) throws {
        let (width, height) = size
        let source = try Self.picture(AV_PIX_FMT_YUV420P, 768, 432), target = try Self.picture(AV_PIX_FMT_YUV420P, width, height)
        let (luma, step) = Self.planes(source.planes)[0]
        for y in 0..<432 { for x in 0..<768 { luma[y * step + x] = (x + y) % 2 == 0 ? 16 : 235 } }
        let flags = ScaleContext.filter(from: (768, 432), to: size)
        let format = AV_PIX_FMT_YUV420P
        guard let context = ScaleContext.make(from: (format, 768, 432), to: (format, width, height), flags: flags) else { throw NoMemory() }
        context.run(from: source.planes, to: target.planes)
        let (result, stride) = Self.planes(target.planes)[0]
        let values = (0..<height).flatMap { y in (0..<width).map { Int(result[y * stride + $0]) } }
        // Keeps the memory of both alive until here.
        _ = (source.planes, target.planes)
        #expect(values.allSatisfy { abs($0 - 125) <= 20 }, "\(values.min() ?? 0) to \(values.max() ?? 0)")
    }

    @Test func enlargementsAndSmallReductionsStaySharp() {
        #expect(ScaleContext.filter(from: (1280, 720), to: (1920, 1080)) == SWS_BICUBIC)
        #expect(ScaleContext.filter(from: (1920, 1080), to: (1600, 900)) == SWS_BICUBIC)
        #expect(ScaleContext.filter(from: (1920, 1080), to: (1280, 720)) == SWS_AREA)
        #expect(ScaleContext.filter(from: (1920, 1080), to: (1280, 720), isDeep: true) == SWS_AREA | SWS_ACCURATE_RND)
        // Reduced in width only.
        #expect(ScaleContext.filter(from: (1920, 1080), to: (960, 1080)) == SWS_BICUBIC)
        #expect(ScaleContext.filter(from: (3840, 2160), to: (640, 360)) == SWS_AREA | SWS_ACCURATE_RND)
    }
}
