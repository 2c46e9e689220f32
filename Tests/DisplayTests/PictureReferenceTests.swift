import CKioskFFmpeg
import Foundation
import KioskMedia
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskDisplayCore

/// Compares pictures with a floating-point reference that shares no code with the converter: matrices from the standards' coefficients,
/// geometry from exact rectangles. The pictures are so smooth that the choice of filter does not matter. These tests judge the path
/// `convert`; ``PlaneReferenceTests`` judges the memory that the other paths write, and BedTests.Geometry its display by planes.
@Suite struct PictureReferenceTests {
    /// Returns luma, 0…1, and chroma, −0.5…0.5, at a place of the picture, 0…1 in both directions. All corners differ.
    static func colour(_ x: Double, _ y: Double) -> (y: Double, u: Double, v: Double) {
        (0.3 + 0.25 * x + 0.15 * y, 0.12 * (x - 0.5), 0.12 * (y - 0.5) + 0.05 * (0.5 - x))
    }

    /// The least PSNR of a smooth picture, in dB. For more than 8 bits, libswscale adds noise of half a code against banding.
    static func leastRatio(_ depth: Int) -> Double { depth > 8 ? 44.9 : 45 }
    /// The greatest error of a bar, in codes.
    static func mostCodes(_ depth: Int) -> Int { depth > 8 ? 3 : 2 }

    struct Matrix: CustomTestStringConvertible {
        var testDescription: String
        var space: AVColorSpace
        var red: Double, blue: Double

        /// Returns R'G'B', 0…255: ITU-R BT.601 2.5, BT.709 3, BT.2020 table 4.
        func rgb(_ c: (y: Double, u: Double, v: Double)) -> (Double, Double, Double) {
            let (r, b) = (c.y + 2 * (1 - red) * c.v, c.y + 2 * (1 - blue) * c.u)
            return (255 * r, 255 * (c.y - red * r - blue * b) / (1 - red - blue), 255 * b)
        }

        func yuv(_ r: Double, _ g: Double, _ b: Double) -> (y: Double, u: Double, v: Double) {
            let y = red * r + (1 - red - blue) * g + blue * b
            return (y, (b - y) / (2 * (1 - blue)), (r - y) / (2 * (1 - red)))
        }
    }

    static let matrices = [
        Matrix(testDescription: "601", space: AVCOL_SPC_SMPTE170M, red: 0.299, blue: 0.114),
        Matrix(testDescription: "709", space: AVCOL_SPC_BT709, red: 0.2126, blue: 0.0722),
        Matrix(testDescription: "2020", space: AVCOL_SPC_BT2020_NCL, red: 0.2627, blue: 0.0593),
    ]

    static let formats: [(AVPixelFormat, Int)] = [
        (AV_PIX_FMT_NV12, 8), (AV_PIX_FMT_YUV420P, 8), (AV_PIX_FMT_P010LE, 10), (AV_PIX_FMT_YUV420P10LE, 10), (AV_PIX_FMT_YUV422P, 8),
    ]

    /// Returns a picture in a format: `colour` gives luma and chroma of each place. Chroma is sited in the middle of its samples.
    static func picture(
        _ format: (AVPixelFormat, Int), _ width: Int, _ height: Int, _ matrix: Matrix, isFull: Bool,
        _ colour: (Double, Double) -> (y: Double, u: Double, v: Double)
    ) -> VideoFrame {
        let (av, depth) = format
        let (semi, shift) = (av_pix_fmt_count_planes(av) == 2, av == AV_PIX_FMT_P010LE ? 6 : 0)
        let scale = Double(1 << (depth - 8))
        let frame = Pictures.make(av, width, height, bytes: depth > 8 ? 2 : 1) { plane, x, y in
            let across = plane == 0 ? 1 : 2, down = plane == 0 || av == AV_PIX_FMT_YUV422P ? 1 : 2
            let column = plane > 0 && semi ? x / 2 : x
            let c = colour(
                (Double(column * across) + Double(across) / 2) / Double(width), (Double(y * down) + Double(down) / 2) / Double(height))
            let value =
                if plane == 0 {
                    isFull ? 255 * c.y : 16 + 219 * c.y
                } else {
                    128 + (isFull ? 255 : 224) * ((semi ? x % 2 == 0 : plane == 1) ? c.u : c.v)
                }
            return min(Int((value * scale).rounded()), (1 << depth) - 1) << shift
        }
        frame.av.pointee.colorspace = matrix.space
        frame.av.pointee.color_range = isFull ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
        return frame
    }

    /// Returns the rectangle of the whole picture on the screen, by the definition of the gravities. It may extend beyond the screen.
    static func place(
        _ gravity: VideoGravity, _ size: (Double, Double), _ screen: (Double, Double)
    ) -> (x: Double, y: Double, width: Double, height: Double) {
        let (across, down) = (screen.0 / size.0, screen.1 / size.1)
        let (sx, sy) =
            switch gravity {
            case .resizeAspect: (min(across, down), min(across, down))
            case .resizeAspectFill: (max(across, down), max(across, down))
            case .resize: (across, down)
            }
        return ((screen.0 - size.0 * sx) / 2, (screen.1 - size.1 * sy) / 2, size.0 * sx, size.1 * sy)
    }

    struct Case: CustomTestStringConvertible {
        var gravity: VideoGravity, rotation: Rotation
        var testDescription: String { "\(gravity) \(rotation.rawValue)°" }
    }

    static let cases = VideoGravity.allCases.flatMap { gravity in Rotation.allCases.map { Case(gravity: gravity, rotation: $0) } }

    /// Returns the place in the upright picture (0…1) of a screen pixel; nil in a bar.
    private func source(_ x: Int, _ y: Int, _ test: Case, _ size: (Int, Int), _ screen: (Int, Int)) -> (x: Double, y: Double)? {
        let (px, py) = (Double(x) + 0.5, Double(y) + 0.5)
        let (w, h) = (Double(screen.0), Double(screen.1))
        // Rotated back to the viewer's screen.
        let (vx, vy, vw, vh) =
            switch test.rotation {
            case .none: (px, py, w, h)
            case .clockwise90: (py, w - px, h, w)
            case .clockwise180: (w - px, h - py, w, h)
            case .clockwise270: (h - py, px, h, w)
            }
        let area = Self.place(test.gravity, (Double(size.0), Double(size.1)), (vw, vh))
        let (sx, sy) = ((vx - area.x) / area.width, (vy - area.y) / area.height)
        return (0...1).contains(sx) && (0...1).contains(sy) ? (sx, sy) : nil
    }

    /// The screen that `convert` paints.
    @Test(arguments: cases) func geometry(_ test: Case) throws {
        // 4:3 on 16:9; every edge falls on a whole pixel.
        let (size, screen) = ((160, 120), (384, 216))
        for (index, format) in Self.formats.enumerated() {
            for isFull in [false, true] {
                // All combinations only in make test-all.
                let matrices = Proof.isThorough ? Self.matrices : [Self.matrices[(index + (isFull ? 1 : 0)) % Self.matrices.count]]
                for matrix in matrices {
                    let frame = Self.picture(format, size.0, size.1, matrix, isFull: isFull, Self.colour)
                    let buffer = MemoryBuffer(width: screen.0, height: screen.1, format: .xrgb8888)
                    try PictureConverter().draw(frame, gravity: test.gravity, rotation: test.rotation, background: 0x00ff00, into: buffer)
                    let ratio = judge(ScreenPixels(buffer), test, size, screen, matrix)
                    let name = String(cString: av_get_pix_fmt_name(format.0))
                    let range = isFull ? "full" : "limited"
                    #expect(ratio >= Self.leastRatio(format.1), "\(name) \(matrix.testDescription) \(range): \(ratio) dB")
                }
            }
        }
    }

    /// Returns the PSNR of the picture. The bars must be exact to the pixel.
    private func judge(
        _ pixels: ScreenPixels, _ test: Case, _ size: (Int, Int), _ screen: (Int, Int), _ matrix: Matrix
    ) -> Double {
        var (squares, samples, wrongBars) = (0.0, 0, 0)
        for y in 0..<screen.1 {
            for x in 0..<screen.0 {
                let pixel = pixels[x, y]
                guard let at = source(x, y, test, size, screen) else {
                    if pixel != 0x00ff00 { wrongBars += 1 }
                    continue
                }
                if pixel == 0x00ff00 { wrongBars += 1 }
                let wanted = matrix.rgb(Self.colour(at.x, at.y))
                for (value, shift) in [(wanted.0, 16), (wanted.1, 8), (wanted.2, 0)] {
                    let apart = Double(pixel >> UInt32(shift) & 255) - min(max(value, 0), 255)
                    squares += apart * apart
                }
                samples += 3
            }
        }
        #expect(wrongBars == 0)
        return 10 * log10(255 * 255 * Double(samples) / max(squares, 1))
    }

    /// Bars of 75 % and 100 %, in every matrix, range and format, scaled and not; the middle of each bar is judged.
    @Test(arguments: matrices) func colourBars(_ matrix: Matrix) throws {
        let bars: [(Double, Double, Double)] = [1, 0.75].flatMap { level in
            [(1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 0, 0)].map {
                ($0.0 * level, $0.1 * level, $0.2 * level)
            }
        }
        // Each bar is wide enough that no filter sees another bar from its middle, not even at half size: 16 chroma samples.
        var worst: [String: Int] = [:]
        for format in Self.formats {
            for isFull in [false, true] {
                let frame = Self.picture(format, 512, 64, matrix, isFull: isFull) { x, _ in
                    let bar = bars[min(Int(x * 16), 15)]
                    return matrix.yuv(bar.0, bar.1, bar.2)
                }
                for (width, height, rotation) in [(512, 64, Rotation.none), (1024, 144, .none), (64, 512, .clockwise90), (256, 32, .none)] {
                    let buffer = MemoryBuffer(width: width, height: height, format: .xrgb8888)
                    try PictureConverter().draw(frame, gravity: .resize, rotation: rotation, background: 0, into: buffer)
                    let pixels = ScreenPixels(buffer)
                    for (index, bar) in bars.enumerated() {
                        let along = (Double(index) + 0.5) / 16
                        let pixel =
                            rotation == .none
                            ? pixels[Int(along * Double(width)), height / 2] : pixels[width / 2, Int(along * Double(height))]
                        for (value, shift) in [(bar.0, 16), (bar.1, 8), (bar.2, 0)] {
                            let apart = abs(Int(pixel >> UInt32(shift) & 255) - Int((255 * value).rounded()))
                            let name = "\(String(cString: av_get_pix_fmt_name(format.0))) \(isFull ? "full" : "limited") \(width)x\(height)"
                            if apart > Self.mostCodes(format.1) { worst[name] = max(worst[name, default: 0], apart) }
                        }
                    }
                }
            }
        }
        #expect(worst.isEmpty, "\(worst)")
    }

    /// All grays: black is 0, white is 255, and none is tinted or off by two or more codes. Even and odd sizes take different code in
    /// libswscale.
    @Test(arguments: matrices) func grays(_ matrix: Matrix) throws {
        for format in Self.formats + [(AV_PIX_FMT_YUV444P, 8)] {
            for isFull in [false, true] {
                for (width, height) in [(256, 16), (255, 15), (512, 32), (511, 33), (383, 24)] {
                    // 64 steps, each wide enough that its middle is free of its neighbours.
                    let frame = Self.picture(format, 256, 16, matrix, isFull: isFull) { x, _ in ((x * 64).rounded(.down) / 63, 0, 0) }
                    for output in [ScanoutFormat.xrgb8888, .xbgr8888] {
                        let buffer = MemoryBuffer(width: width, height: height, format: output)
                        try PictureConverter().draw(frame, gravity: .resize, rotation: .none, background: 0, into: buffer)
                        let pixels = ScreenPixels(buffer)
                        let name = "\(String(cString: av_get_pix_fmt_name(format.0))) \(isFull ? "full" : "limited") \(width)x\(height)"
                        for step in 0..<64 {
                            let pixel = pixels[Int((Double(step) + 0.5) / 64 * Double(width)), height / 2] & 0xffffff
                            let (red, green, blue) = (Int(pixel >> 16), Int(pixel >> 8 & 255), Int(pixel & 255))
                            #expect(red == green && green == blue, "\(name) step \(step): \(red) \(green) \(blue)")
                            let wanted = 255 * Double(step) / 63
                            #expect(abs(Double(green) - wanted) < 2, "\(name) step \(step): \(green) for \(wanted)")
                            if step == 0 || step == 63 { #expect(green == Int(wanted), "\(name) step \(step): \(green)") }
                        }
                    }
                }
            }
        }
    }
}
