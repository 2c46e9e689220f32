import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

struct PictureConverterTests {
    private func draw(
        _ frame: borrowing VideoFrame, _ width: Int = 64, _ height: Int = 36, gravity: VideoGravity = .resize, rotation: Rotation = .none,
        background: UInt32 = 0x102030, format: ScanoutFormat = .xrgb8888
    ) throws -> ScreenPixels {
        let buffer = MemoryBuffer(width: width, height: height, format: format)
        try PictureConverter().draw(frame, gravity: gravity, rotation: rotation, background: background, into: buffer)
        return ScreenPixels(buffer)
    }

    struct Colour: CustomTestStringConvertible {
        var testDescription: String
        var yuv: (Int, Int, Int)
        var height: Int
        var space = AVCOL_SPC_UNSPECIFIED
        var range = AVCOL_RANGE_UNSPECIFIED
        var format = AV_PIX_FMT_YUV420P
        var rgb: UInt32
    }

    static let colours = [
        Colour(testDescription: "709 red, told", yuv: (63, 102, 240), height: 36, space: AVCOL_SPC_BT709, rgb: 0xff0000),
        Colour(testDescription: "709 green, by size", yuv: (173, 42, 26), height: 720, rgb: 0x00ff00),
        Colour(testDescription: "601 red, by size", yuv: (81, 90, 240), height: 576, rgb: 0xff0000),
        Colour(testDescription: "601 green, told", yuv: (145, 54, 34), height: 720, space: AVCOL_SPC_SMPTE170M, rgb: 0x00ff00),
        Colour(testDescription: "2020 red", yuv: (74, 97, 240), height: 36, space: AVCOL_SPC_BT2020_NCL, rgb: 0xff0000),
        Colour(testDescription: "limited white", yuv: (235, 128, 128), height: 36, range: AVCOL_RANGE_MPEG, rgb: 0xffffff),
        Colour(testDescription: "limited black", yuv: (16, 128, 128), height: 36, rgb: 0x000000),
        Colour(testDescription: "full white", yuv: (255, 128, 128), height: 36, range: AVCOL_RANGE_JPEG, rgb: 0xffffff),
        Colour(testDescription: "full gray", yuv: (16, 128, 128), height: 36, range: AVCOL_RANGE_JPEG, rgb: 0x101010),
        Colour(testDescription: "yuvj is full", yuv: (16, 128, 128), height: 36, format: AV_PIX_FMT_YUVJ420P, rgb: 0x101010),
        Colour(testDescription: "yuvj 601 red", yuv: (76, 85, 255), height: 36, format: AV_PIX_FMT_YUVJ444P, rgb: 0xfe0000),
        Colour(testDescription: "4:2:2", yuv: (81, 90, 240), height: 36, format: AV_PIX_FMT_YUV422P, rgb: 0xff0000),
        Colour(testDescription: "4:4:4", yuv: (81, 90, 240), height: 36, format: AV_PIX_FMT_YUV444P, rgb: 0xff0000),
        Colour(testDescription: "4:1:1", yuv: (81, 90, 240), height: 36, format: AV_PIX_FMT_YUV411P, rgb: 0xff0000),
        Colour(testDescription: "gray is full", yuv: (130, 0, 0), height: 36, format: AV_PIX_FMT_GRAY8, rgb: 0x828282),
        Colour(
            testDescription: "gray, told limited", yuv: (235, 0, 0), height: 36, range: AVCOL_RANGE_MPEG, format: AV_PIX_FMT_GRAY8,
            rgb: 0xffffff),
    ]

    /// The colour is the same for scaled, unscaled, rotated and upright pictures.
    @Test(arguments: colours)
    func colour(_ test: Colour) throws {
        let frame = Pictures.solid(test.yuv.0, test.yuv.1, test.yuv.2, 64, test.height, test.format)
        frame.av.pointee.colorspace = test.space
        frame.av.pointee.color_range = test.range
        for (width, height, rotation) in [
            (64, test.height, Rotation.none), (96, 54, .none), (54, 96, .clockwise90), (31, 17, .clockwise180),
        ] {
            let pixels = try draw(frame, width, height, rotation: rotation)
            for (x, y) in [(0, 0), (width - 1, 0), (width / 2, height / 2), (0, height - 1), (width - 1, height - 1)] {
                #expect(near(pixels[x, y], test.rgb), "\(String(pixels[x, y], radix: 16)) at \(x),\(y) of \(width)x\(height)")
            }
        }
    }

    @Test func tenBits() throws {
        for format in [AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_YUV444P12LE] {
            let scale = format == AV_PIX_FMT_YUV444P12LE ? 16 : 4
            let frame = Pictures.make(format, 64, 36, bytes: 2) { plane, _, _ in [81, 90, 240][plane] * scale }
            #expect(near(try draw(frame)[20, 20], 0xff0000))
            #expect(near(try draw(frame, 100, 50)[99, 49], 0xff0000))
        }
        let frame = Pictures.make(AV_PIX_FMT_P010LE, 64, 36, bytes: 2) { plane, x, _ in (plane == 0 ? 81 : x % 2 == 0 ? 90 : 240) << 8 }
        #expect(near(try draw(frame)[20, 20], 0xff0000))
    }

    @Test func semiPlanarAndPacked() throws {
        let nv12 = Pictures.make(AV_PIX_FMT_NV12, 64, 36) { plane, x, _ in plane == 0 ? 81 : x % 2 == 0 ? 90 : 240 }
        #expect(near(try draw(nv12)[63, 35], 0xff0000))
        let yuyv = Pictures.make(AV_PIX_FMT_YUYV422, 64, 36) { _, x, _ in [81, 90, 81, 240][x % 4] }
        #expect(near(try draw(yuyv, 48, 48, gravity: .resizeAspectFill)[47, 0], 0xff0000))
    }

    @Test func alphaOverBackground() throws {
        // Transparent green beside half-transparent red: no green may show, not even at the edge.
        let frame = Pictures.make(AV_PIX_FMT_RGBA, 64, 36) { _, x, _ in x / 4 < 32 ? [0, 255, 0, 0][x % 4] : [255, 0, 0, 128][x % 4] }
        for (width, height) in [(64, 36), (128, 72), (40, 20)] {
            let pixels = try draw(frame, width, height, background: 0x0000ff)
            #expect(near(pixels[1, 1], 0x0000ff))
            #expect(near(pixels[width - 2, height - 2], 0x80007f, 4))
            for x in 0..<width { #expect(pixels[x, height / 2] >> 8 & 255 <= 6) }
        }
        let yuva = Pictures.make(AV_PIX_FMT_YUVA420P, 64, 36) { plane, _, _ in [81, 90, 240, 0][plane] }
        #expect(near(try draw(yuva, background: 0x123456)[30, 30], 0x123456))
    }

    @Test func palette() throws {
        let frame = Pictures.make(AV_PIX_FMT_PAL8, 64, 36) { _, x, _ in x < 32 ? 1 : 2 }
        frame.av.pointee.data.1!.withMemoryRebound(to: UInt32.self, capacity: 256) {
            $0.update(repeating: 0, count: 256)
            $0[1] = 0xff00_ff00
            $0[2] = 0x00ff_0000
        }
        let pixels = try draw(frame)
        #expect(near(pixels[5, 5], 0x00ff00))
        #expect(near(pixels[60, 5], 0x102030))
    }

    /// The place of each quarter of the picture, for every orientation, scaled and not.
    @Test func rotations() throws {
        let (r, g, b, w): (UInt32, UInt32, UInt32, UInt32) = (0xff0000, 0x00ff00, 0x0000ff, 0xffffff)
        // Top left, top right, bottom left, bottom right.
        let expected: [(Orientation, [UInt32])] = [
            (.up, [r, g, b, w]),
            (Orientation(rotation: .clockwise90), [b, r, w, g]),
            (Orientation(rotation: .clockwise180), [w, b, g, r]),
            (Orientation(rotation: .clockwise270), [g, w, r, b]),
            (Orientation(isMirrored: true), [g, r, w, b]),
            (Orientation(rotation: .clockwise90, isMirrored: true), [w, g, b, r]),
            (Orientation(rotation: .clockwise180, isMirrored: true), [b, w, r, g]),
            (Orientation(rotation: .clockwise270, isMirrored: true), [r, b, g, w]),
        ]
        for format in [ScanoutFormat.xrgb8888, .xbgr8888, .rgb565] {
            for (orientation, corners) in expected {
                for (width, height) in [(40, 24), (24, 40), (67, 33)] {
                    let frame = Pictures.quarters(40, 24, orientation: orientation)
                    let pixels = try draw(frame, width, height, format: format)
                    let found = [pixels[1, 1], pixels[width - 2, 1], pixels[1, height - 2], pixels[width - 2, height - 2]]
                    #expect(zip(found, corners).allSatisfy { near($0, $1, 10) }, "\(orientation) \(width)x\(height)")
                }
            }
        }
    }

    /// Compares every pixel of a rotated copy with the definition. The sizes: smaller than the squares rotated in registers, no multiple of
    /// them, and larger than a cache block. Pixels have 1, 2 and 4 bytes.
    @Test(arguments: [(37, 21), (3, 5), (64, 16), (130, 67), (17, 200)]) func turnIsExact(width: Int, height: Int) {
        func check<Pixel: FixedWidthInteger & UnsignedInteger>(_ type: Pixel.Type) {
            let size = MemoryLayout<Pixel>.size
            let source = (0..<(width * height)).map { Pixel(truncatingIfNeeded: $0 &* 40503) }
            for rotation in Rotation.allCases {
                for isMirrored in [false, true] {
                    let orientation = Orientation(rotation: rotation, isMirrored: isMirrored)
                    let (outWidth, outHeight) = rotation.swapsAxes ? (height, width) : (width, height)
                    // One row more than is written, and padding after each row; both must stay unchanged.
                    let stride = outWidth + 3
                    var out = [Pixel](repeating: 77, count: stride * (outHeight + 1))
                    var rows = out
                    var strip = [Pixel](repeating: 0, count: PixelRotation.stripBytes(width: outWidth, bytesPerPixel: size) / size)
                    source.withUnsafeBytes { source in
                        out.withUnsafeMutableBytes {
                            PixelRotation.copy(
                                source.baseAddress!, stride: width * size, width: width, height: height, bytesPerPixel: size,
                                orientation: orientation,
                                to: $0.baseAddress!, stride: stride * size)
                        }
                        strip.withUnsafeMutableBytes { strip in
                            PixelRotation.rotateRows(
                                of: source.baseAddress!, stride: width * size, width: width, height: height, bytesPerPixel: size,
                                orientation: orientation,
                                strip: strip.baseAddress!
                            ) { y, row in
                                for x in 0..<outWidth { rows[y * stride + x] = row.load(fromByteOffset: x * size, as: Pixel.self) }
                            }
                        }
                    }
                    var wanted = [Pixel](repeating: 77, count: stride * (outHeight + 1))
                    for y in 0..<height {
                        for x in 0..<width {
                            let mirrored = isMirrored ? width - 1 - x : x
                            let place =
                                switch rotation {
                                case .none: (mirrored, y)
                                case .clockwise90: (height - 1 - y, mirrored)
                                case .clockwise180: (width - 1 - mirrored, height - 1 - y)
                                case .clockwise270: (y, width - 1 - mirrored)
                                }
                            wanted[place.1 * stride + place.0] = source[y * width + x]
                        }
                    }
                    #expect(out == wanted, "\(orientation), \(size) bytes")
                    #expect(rows == wanted, "\(orientation), \(size) bytes, row by row")
                }
            }
        }
        check(UInt8.self)
        check(UInt16.self)
        check(UInt32.self)
    }

    /// A rotated picture matches the upright one pixel by pixel, whether its planes or its pixels are rotated. libswscale's code for the
    /// ends of rows may round differently.
    @Test(arguments: [(64, 48), (50, 34), (33, 21)]) func turnedPictureIsTheUprightOne(width: Int, height: Int) throws {
        for format in [AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV422P] {
            func frame(_ orientation: Orientation) -> VideoFrame {
                Pictures.make(format, width, height, orientation: orientation) { plane, x, y in
                    plane == 0 ? 40 + (x * 37 + y * 59) % 160 : 88 + (x * 29 + y * 43 + plane * 17) % 80
                }
            }
            let upright = try draw(frame(.up), width, height)
            for rotation in Rotation.allCases {
                for isMirrored in [false, true] {
                    let (outWidth, outHeight) = rotation.swapsAxes ? (height, width) : (width, height)
                    let turned = try draw(frame(Orientation(rotation: rotation, isMirrored: isMirrored)), outWidth, outHeight)
                    var wrong = 0
                    for y in 0..<height {
                        for x in 0..<width {
                            let mirrored = isMirrored ? width - 1 - x : x
                            let place =
                                switch rotation {
                                case .none: (mirrored, y)
                                case .clockwise90: (height - 1 - y, mirrored)
                                case .clockwise180: (width - 1 - mirrored, height - 1 - y)
                                case .clockwise270: (y, width - 1 - mirrored)
                                }
                            if !near(turned[place.0, place.1], upright[x, y], 3) { wrong += 1 }
                        }
                    }
                    #expect(wrong == 0, "\(rotation) \(isMirrored) \(String(cString: av_get_pix_fmt_name(format)))")
                }
            }
        }
    }

    /// Bars are pure background up to the picture, at every width: libswscale's overshoot must not reach them.
    @Test func barsStayClean() throws {
        for width in 30...50 {
            let frame = Pictures.solid(235, 128, 128, width, 36)
            let pixels = try draw(frame, 160, 36, gravity: .resizeAspect, background: 0x00aa00)
            let left = (160 - (width + 1) / 2 * 2) / 2
            for x in 0..<160 where x < left - 1 || x > left + width + 1 {
                for y in [0, 17, 35] { #expect(pixels[x, y] == 0x00aa00, "\(x),\(y) beside a picture \(width) wide") }
            }
            #expect(near(pixels[80, 18], 0xffffff))
        }
    }

    /// A buffer that held a larger picture gets new bars; otherwise the bars are not redrawn.
    @Test func barsFollowTheLayout() throws {
        let converter = PictureConverter()
        let buffer = MemoryBuffer(width: 64, height: 36, format: .xrgb8888)
        let pixels = ScreenPixels(buffer)
        try converter.draw(Pictures.solid(235, 128, 128, 64, 36), gravity: .resize, rotation: .none, background: 0x0000ff, into: buffer)
        let square = Pictures.solid(16, 128, 128, 36, 36)
        try converter.draw(square, gravity: .resizeAspect, rotation: .none, background: 0x0000ff, into: buffer)
        #expect(pixels[0, 0] == 0x0000ff && pixels[63, 35] == 0x0000ff && near(pixels[32, 18], 0))
        buffer.pixels.fill(PixelRectangle(x: 0, y: 0, width: 1, height: 1), with: 0xff0000)
        try converter.draw(square, gravity: .resizeAspect, rotation: .none, background: 0x0000ff, into: buffer)
        #expect(pixels[0, 0] == 0xff0000)
        buffer.clear(to: 0x00ff00)
        #expect(pixels[0, 0] == 0x00ff00 && pixels[32, 18] == 0x00ff00)
    }

    /// Red and blue are swapped, on every path through the converter.
    @Test(arguments: [64, 32]) func xbgr8888(width: Int) throws {
        for (colour, y, u, v) in [(0xff0000, 81, 90, 240), (0x0000ff, 41, 240, 110)] {
            let pixels = try draw(Pictures.solid(y, u, v, 64, 36), width, 18, format: .xbgr8888)
            #expect(near(pixels[width / 2, 9], UInt32(colour), 6))
        }
        let quarters = try draw(Pictures.quarters(64, 36), 64, 36, format: .xbgr8888)
        #expect([quarters[2, 2], quarters[60, 2], quarters[2, 33], quarters[60, 33]] == [0xff0000, 0x00ff00, 0x0000ff, 0xffffff])
        #expect(ScanoutFormat.xbgr8888.pixel(0x010203) == 0xff03_0201)
    }

    @Test func rgb565() throws {
        let pixels = try draw(Pictures.quarters(64, 36), 64, 36, format: .rgb565)
        #expect(pixels[1, 1] == 0xff0000 && pixels[62, 1] == 0x00ff00 && pixels[1, 34] == 0x0000ff && pixels[62, 34] == 0xffffff)
        #expect(ScanoutFormat.rgb565.pixel(0xffffff) == 0xffff && ScanoutFormat.rgb565.pixel(0x08_04_08) == 0x0821)
    }

    /// Sizes that break fast paths: odd, tiny, extreme.
    @Test func oddSizes() throws {
        for (width, height) in [(1, 1), (1, 10_000), (10_000, 1), (3, 5), (35, 17), (721, 405), (2, 2)] {
            for format in [AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12, AV_PIX_FMT_YUV444P] {
                let frame = Pictures.make(format, width, height) { plane, _, _ in plane == 0 ? 235 : 128 }
                for gravity in VideoGravity.allCases {
                    for rotation in [Rotation.none, .clockwise90] {
                        let pixels = try draw(frame, 65, 37, gravity: gravity, rotation: rotation)
                        #expect(near(pixels[32, 18], 0xffffff), "\(width)x\(height) \(gravity) \(rotation)")
                    }
                }
            }
        }
    }

    @Test func fillCutsEvenly() throws {
        // Thirds: red, white, blue; a third of the width is visible.
        let frame = Pictures.make(AV_PIX_FMT_RGB24, 96, 36) { _, x, _ in [[255, 0, 0], [255, 255, 255], [0, 0, 255]][x / 96][x % 3] }
        let pixels = try draw(frame, 32, 36, gravity: .resizeAspectFill)
        for x in [0, 16, 31] { #expect(near(pixels[x, 18], 0xffffff)) }
    }

    @Test func refusals() {
        let converter = PictureConverter()
        let buffer = MemoryBuffer(width: 64, height: 36, format: .xrgb8888)
        let huge = Pictures.solid(16, 128, 128, 2, 2)
        huge.av.pointee.width = 16_384
        huge.av.pointee.height = 16_385
        #expect(throws: PictureConverter.Refusal.tooLarge(width: 16_384, height: 16_385)) {
            try converter.draw(huge, gravity: .resize, rotation: .none, background: 0, into: buffer)
        }
        huge.av.pointee.width = 2
        huge.av.pointee.height = 2
        huge.av.pointee.format = AV_PIX_FMT_VAAPI.rawValue
        #expect(throws: PictureConverter.Refusal.unsupported(format: "vaapi")) {
            try converter.draw(huge, gravity: .resize, rotation: .none, background: 0, into: buffer)
        }
        huge.av.pointee.format = -1
        #expect(throws: PictureConverter.Refusal.unsupported(format: "-1")) {
            try converter.draw(huge, gravity: .resize, rotation: .none, background: 0, into: buffer)
        }
        huge.av.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    }

    /// The converter draws every format that libswscale reads: none crashes it.
    @Test func everyFormat() throws {
        var format = AVPixelFormat(0)
        var drawn = 0
        while format.rawValue < AV_PIX_FMT_NB.rawValue {
            defer { format = AVPixelFormat(format.rawValue + 1) }
            guard sws_isSupportedInput(format) != 0, let description = av_pix_fmt_desc_get(format),
                description.pointee.flags & UInt64(AV_PIX_FMT_FLAG_HWACCEL) == 0
            else { continue }
            let frame = Pictures.make(format, 48, 32) { _, _, _ in 128 }
            for rotation in [Rotation.none, .clockwise90] {
                _ = try draw(frame, 64, 36, gravity: .resizeAspectFill, rotation: rotation)
                _ = try draw(frame, 48, 32, rotation: rotation)
            }
            drawn += 1
        }
        #expect(drawn > 150)
    }
}
