import CKioskDRM
import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// The layers that planes would have to show for a picture, and the obstacles.
@Suite struct PicturePlanTests {
    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var format = AV_PIX_FMT_YUV420P
        var size = (1280, 720)
        var aspect: (Int32, Int32) = (0, 1)
        var orientation = Orientation.up
        var gravity = VideoGravity.resizeAspect
        var rotation = Rotation.none
        var paths: [PicturePath] = [.copy]
        /// The candidates, as `copy YU12 1280x720: 0,0 1280x720 → 0,0 1920x1080`. A rotated one has `turned`; one with a visible background
        /// has `over background`.
        var expected: [String]
    }

    static let full = "0,0 1920x1080"

    static let cases = [
        Case(
            testDescription: "what covers the screen",
            expected: [
                "copy YU12 1280x720: 0,0 1280x720 → \(full)", "copy NV12 1280x720: 0,0 1280x720 → \(full)",
                "copy YU12 1280x720: 0,0 1280x720 → \(full) over background", "copy NV12 1280x720: 0,0 1280x720 → \(full) over background",
            ]),
        Case(
            testDescription: "bars beside it", format: AV_PIX_FMT_NV12, size: (960, 720),
            expected: ["copy NV12 960x720: 0,0 960x720 → 240,0 1440x1080 over background"]),
        Case(
            testDescription: "fill cuts off what is beyond, in the plane", format: AV_PIX_FMT_NV12, size: (960, 720),
            gravity: .resizeAspectFill,
            expected: [
                "copy NV12 960x720: 0,90 960x540 → \(full)", "copy NV12 960x720: 0,90 960x540 → \(full) over background",
            ]),
        Case(
            testDescription: "stretch", format: AV_PIX_FMT_NV12, size: (960, 720), gravity: .resize,
            expected: ["copy NV12 960x720: 0,0 960x720 → \(full)", "copy NV12 960x720: 0,0 960x720 → \(full) over background"]),
        Case(
            testDescription: "pixels that are not square", format: AV_PIX_FMT_NV12, size: (720, 576), aspect: (16, 15),
            expected: ["copy NV12 720x576: 0,0 720x576 → 240,0 1440x1080 over background"]),
        Case(
            testDescription: "upright film on a lying screen", format: AV_PIX_FMT_NV12, size: (1920, 1080),
            orientation: Orientation(rotation: .clockwise90),
            expected: ["copy NV12 1920x1080: 0,0 1920x1080 → 656,0 608x1080 turned 90 over background"]),
        Case(
            testDescription: "a screen on its side", format: AV_PIX_FMT_NV12, size: (1080, 1920), rotation: .clockwise90,
            expected: [
                "copy NV12 1080x1920: 0,0 1080x1920 → \(full) turned 90",
                "copy NV12 1080x1920: 0,0 1080x1920 → \(full) turned 90 over background",
            ]),
        Case(
            testDescription: "turned by both", format: AV_PIX_FMT_NV12, orientation: Orientation(rotation: .clockwise270, isMirrored: true),
            rotation: .clockwise90,
            expected: [
                "copy NV12 1280x720: 0,0 1280x720 → \(full) mirrored",
                "copy NV12 1280x720: 0,0 1280x720 → \(full) mirrored over background",
            ]),
        Case(
            testDescription: "scaled before it is turned", format: AV_PIX_FMT_NV12, size: (720, 1280), rotation: .clockwise90,
            paths: [.scale],
            expected: ["YU12", "NV12"].map { "scale \($0) 1080x1920: 0,0 1080x1920 → \(full) turned 90" }
                + ["YU12", "NV12"].map { "scale \($0) 1080x1920: 0,0 1080x1920 → \(full) turned 90 over background" }),
        Case(
            testDescription: "scaled between bars", format: AV_PIX_FMT_YUV422P, size: (640, 480), paths: [.scale],
            expected: ["scale YU16 1440x1080: 0,0 1440x1080 → 240,0 1440x1080 over background"]),
        Case(
            testDescription: "10 bits", format: AV_PIX_FMT_YUV420P10LE, size: (1920, 1080),
            expected: ["copy P010 1920x1080: 0,0 1920x1080 → \(full)", "copy P010 1920x1080: 0,0 1920x1080 → \(full) over background"]),
        Case(
            testDescription: "the best way first", format: AV_PIX_FMT_NV12, size: (960, 720), paths: [.dmabuf, .copy, .scale],
            expected: [
                "copy NV12 960x720: 0,0 960x720 → 240,0 1440x1080 over background",
                "scale YU12 1440x1080: 0,0 1440x1080 → 240,0 1440x1080 over background",
                "scale NV12 1440x1080: 0,0 1440x1080 → 240,0 1440x1080 over background", "dmabuf: it is not a decoder's memory",
            ]),
        Case(
            testDescription: "RGB is converted", format: AV_PIX_FMT_RGB24, paths: [.copy, .scale],
            expected: ["copy: no plane takes its format", "scale: no plane takes its format"]),
        Case(
            testDescription: "alpha is converted", format: AV_PIX_FMT_YUVA420P, paths: [.copy, .scale],
            expected: ["copy: no plane takes its format", "scale: no plane takes its format"]),
        Case(testDescription: "a layout that no plane has", format: AV_PIX_FMT_YUV411P, expected: ["copy: no plane takes its format"]),
    ]

    @Test(arguments: cases) func plan(_ test: Case) throws {
        let frame = Pictures.make(test.format, test.size.0, test.size.1, orientation: test.orientation) { _, _, _ in 0 }
        frame.av.pointee.sample_aspect_ratio = AVRational(num: test.aspect.0, den: test.aspect.1)
        let shape = PictureShape(
            frame, crop: nil, own: .none, gravity: test.gravity, rotation: test.rotation, background: 0, screenWidth: 1920,
            screenHeight: 1080)
        let plan = PicturePlan(try #require(shape), test.paths, width: 1920, height: 1080)
        let found = plan.candidates.map(\.text) + plan.refusals.map { "\($0.path.rawValue): \($0.reason)" }
        #expect(found == test.expected)
    }

    @Test func coloursThatNoPlaneMakes() throws {
        let frame = Pictures.solid(100, 128, 128, 64, 36)
        frame.av.pointee.colorspace = AVCOL_SPC_FCC
        let shape = PictureShape(
            frame, crop: nil, own: .none, gravity: .resize, rotation: .none, background: 0, screenWidth: 64, screenHeight: 36)
        let plan = PicturePlan(try #require(shape), [.copy], width: 64, height: 36)
        #expect(plan.candidates.isEmpty && plan.refusals.map(\.reason) == ["no plane makes its colours"])
    }

    @Test func whatMayBeTaken() {
        #expect(PicturePath.allowed(.automatic, driver: "vc4") == [.dmabuf, .direct, .copy, .scale])
        #expect(PicturePath.allowed(.automatic, driver: "vkms").isEmpty && PicturePath.allowed(.convert, driver: "vc4").isEmpty)
        #expect(PicturePath.allowed(.copy, driver: "vkms") == [.copy, .scale] && PicturePath.allowed(.scale, driver: "vc4") == [.scale])
    }

    @Test func coloursOfAPlane() {
        let names = { (names: [String]) in
            Property(id: 1, value: 0, choices: Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, UInt64($0)) }))
        }
        let table = PropertyTable<PlaneID>([
            "COLOR_ENCODING": names(["ITU-R BT.601 YCbCr", "ITU-R BT.709 YCbCr"]), "COLOR_RANGE": names(["YCbCr limited range"]),
        ])
        #expect(
            ColourDescription.offered(by: table) == [
                ColourDescription(matrix: SWS_CS_ITU601, isFullRange: false), ColourDescription(matrix: SWS_CS_ITU709, isFullRange: false),
            ])
        // Without these properties: every matrix, in limited range.
        #expect(
            ColourDescription.offered(by: PropertyTable([:]))
                == Set([SWS_CS_ITU601, SWS_CS_ITU709, SWS_CS_BT2020].map { ColourDescription(matrix: $0, isFullRange: false) }))
    }

    /// The kernel rotates counter-clockwise: its 90 degrees are our 270.
    @Test func turnsAsTheKernelHasThem() {
        #expect(PlaneProperties.rotation(.up) == 1 && PlaneProperties.rotation(Orientation(rotation: .clockwise90)) == 8)
        #expect(PlaneProperties.rotation(Orientation(rotation: .clockwise180)) == 4)
        #expect(PlaneProperties.rotation(Orientation(rotation: .clockwise270, isMirrored: true)) == 18)
    }
}

extension PicturePlan.Candidate {
    fileprivate var text: String {
        func size(_ r: PixelRectangle) -> String { "\(r.x),\(r.y) \(r.width)x\(r.height)" }
        let orientation = layer.orientation
        return "\(path.rawValue) \(format?.description ?? "-") \(width)x\(height): \(size(source)) → \(size(layer.destination))"
            + (orientation.isMirrored ? " mirrored" : "")
            + (orientation.rotation == .none ? "" : " turned \(orientation.rotation.rawValue)")
            + (hasBackground ? " over background" : "")
    }
}
