import KioskMedia
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

struct PictureGeometryTests {
    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var stored: (Int, Int)
        var aspect = 1.0
        var orientation = Orientation.up
        var gravity: VideoGravity
        var screen: (Int, Int)
        var rotation = Rotation.none
        var chroma = (1, 1)
        var crop: PixelRectangle
        var canvas: PixelRectangle
        var scanout: PixelRectangle? = nil

        var geometry: PictureGeometry {
            PictureGeometry(
                storedWidth: stored.0, storedHeight: stored.1, pixelAspectRatio: aspect, orientation: orientation, gravity: gravity,
                screenWidth: screen.0, screenHeight: screen.1, rotation: rotation, chromaWidth: chroma.0, chromaHeight: chroma.1)
        }
    }

    static func rect(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelRectangle {
        PixelRectangle(x: x, y: y, width: width, height: height)
    }

    static let table: [Case] = [
        Case(
            testDescription: "same size", stored: (1920, 1080), gravity: .resizeAspect, screen: (1920, 1080), crop: rect(0, 0, 1920, 1080),
            canvas: rect(0, 0, 1920, 1080)),
        Case(
            testDescription: "fit: pillars", stored: (640, 480), gravity: .resizeAspect, screen: (1920, 1080), crop: rect(0, 0, 640, 480),
            canvas: rect(240, 0, 1440, 1080)),
        Case(
            testDescription: "fit: bars", stored: (1920, 800), gravity: .resizeAspect, screen: (1280, 720), crop: rect(0, 0, 1920, 800),
            canvas: rect(0, 93, 1280, 534)),
        Case(
            testDescription: "fit: PAL anamorphic", stored: (720, 576), aspect: 64.0 / 45, gravity: .resizeAspect, screen: (1920, 1080),
            crop: rect(0, 0, 720, 576), canvas: rect(0, 0, 1920, 1080)),
        Case(
            testDescription: "fit: telephone clip, turned by its matrix", stored: (1920, 1080),
            orientation: Orientation(rotation: .clockwise90), gravity: .resizeAspect, screen: (1920, 1080), crop: rect(0, 0, 1920, 1080),
            canvas: rect(656, 0, 608, 1080)),
        Case(
            testDescription: "fit: portrait screen", stored: (1920, 1080), gravity: .resizeAspect, screen: (1920, 1080),
            rotation: .clockwise90, crop: rect(0, 0, 1920, 1080), canvas: rect(0, 656, 1080, 608), scanout: rect(656, 0, 608, 1080)),
        Case(
            testDescription: "fit: one pixel on top only tells 90 from 270", stored: (4, 2), gravity: .resizeAspect, screen: (3, 4),
            rotation: .clockwise270, crop: rect(0, 0, 4, 2), canvas: rect(0, 0, 4, 2), scanout: rect(0, 0, 2, 4)),
        Case(
            testDescription: "the same, 90", stored: (4, 2), gravity: .resizeAspect, screen: (3, 4), rotation: .clockwise90,
            crop: rect(0, 0, 4, 2), canvas: rect(0, 0, 4, 2), scanout: rect(1, 0, 2, 4)),
        Case(
            testDescription: "fit: 180", stored: (4, 2), gravity: .resizeAspect, screen: (4, 3), rotation: .clockwise180,
            crop: rect(0, 0, 4, 2), canvas: rect(0, 0, 4, 2), scanout: rect(0, 1, 4, 2)),
        Case(
            testDescription: "fill: sides cut", stored: (1920, 800), gravity: .resizeAspectFill, screen: (1280, 720), chroma: (2, 2),
            crop: rect(248, 0, 1422, 800), canvas: rect(0, 0, 1280, 720)),
        Case(
            testDescription: "fill: top and bottom cut", stored: (640, 480), gravity: .resizeAspectFill, screen: (1920, 1080),
            chroma: (2, 2), crop: rect(0, 60, 640, 360), canvas: rect(0, 0, 1920, 1080)),
        Case(
            testDescription: "fill: turned, cut in stored pixels", stored: (1920, 1080), orientation: Orientation(rotation: .clockwise90),
            gravity: .resizeAspectFill, screen: (1920, 1080), chroma: (2, 2), crop: rect(656, 0, 608, 1080),
            canvas: rect(0, 0, 1920, 1080)),
        Case(
            testDescription: "fill: a sliver keeps one chroma sample", stored: (10_000, 2), gravity: .resizeAspectFill,
            screen: (1080, 1920), chroma: (2, 2), crop: rect(4998, 0, 2, 2), canvas: rect(0, 0, 1080, 1920)),
        Case(
            testDescription: "stretch", stored: (640, 480), gravity: .resize, screen: (1920, 1080), crop: rect(0, 0, 640, 480),
            canvas: rect(0, 0, 1920, 1080)),
        Case(
            testDescription: "1x10000", stored: (1, 10_000), gravity: .resizeAspect, screen: (1920, 1080), crop: rect(0, 0, 1, 10_000),
            canvas: rect(959, 0, 1, 1080)),
        Case(
            testDescription: "1x1", stored: (1, 1), gravity: .resizeAspect, screen: (1920, 1080), crop: rect(0, 0, 1, 1),
            canvas: rect(420, 0, 1080, 1080)),
        Case(
            testDescription: "aspect ratio is nonsense", stored: (640, 480), aspect: .nan, gravity: .resizeAspect, screen: (1920, 1080),
            crop: rect(0, 0, 640, 480), canvas: rect(240, 0, 1440, 1080)),
    ]

    @Test(arguments: table)
    func places(_ test: Case) {
        let geometry = test.geometry
        #expect(geometry.crop == test.crop)
        #expect(geometry.canvas == test.canvas)
        #expect(geometry.scanout == test.scanout ?? test.canvas)
    }

    @Test func theOrientationIsThatOfThePictureThenTheRotation() {
        let geometry = PictureGeometry(
            storedWidth: 4, storedHeight: 2, orientation: Orientation(rotation: .clockwise90, isMirrored: true), gravity: .resize,
            screenWidth: 8, screenHeight: 8, rotation: .clockwise270)
        #expect(geometry.orientation == Orientation(rotation: .none, isMirrored: true))
    }

    /// For any input, nothing is empty, nothing lies outside, and gravity keeps its promise.
    @Test func neverEmptyNeverOutside() {
        var random = Proof.Random(seed: 7)
        let sizes = [1, 2, 3, 5, 17, 240, 719, 1080, 1921, 4096, 10_000, 16_384]
        func inside(_ r: PixelRectangle, _ width: Int, _ height: Int) -> Bool {
            r.width > 0 && r.height > 0 && r.x >= 0 && r.y >= 0 && r.x + r.width <= width && r.y + r.height <= height
        }
        for _ in 0..<20_000 {
            let (width, height) = (sizes.randomElement(using: &random)!, sizes.randomElement(using: &random)!)
            let (screenWidth, screenHeight) = (sizes.randomElement(using: &random)!, sizes.randomElement(using: &random)!)
            let chroma = ([1, 2, 4].randomElement(using: &random)!, [1, 2].randomElement(using: &random)!)
            let aspect = [0, -1, .infinity, 1e-30, 1e30, 1, 16 / 11, 0.5].randomElement(using: &random)!
            let (gravity, rotation) = (
                VideoGravity.allCases.randomElement(using: &random)!, Rotation.allCases.randomElement(using: &random)!
            )
            let orientation = Orientation(
                rotation: Rotation.allCases.randomElement(using: &random)!, isMirrored: Bool.random(using: &random))
            let geometry = PictureGeometry(
                storedWidth: width, storedHeight: height, pixelAspectRatio: aspect, orientation: orientation, gravity: gravity,
                screenWidth: screenWidth, screenHeight: screenHeight, rotation: rotation, chromaWidth: chroma.0, chromaHeight: chroma.1)
            let canvas = rotation.swapsAxes ? (screenHeight, screenWidth) : (screenWidth, screenHeight)
            #expect(inside(geometry.crop, width, height))
            #expect(inside(geometry.canvas, canvas.0, canvas.1))
            #expect(inside(geometry.scanout, screenWidth, screenHeight))
            #expect(geometry.crop.x % chroma.0 == 0 && geometry.crop.y % chroma.1 == 0)
            if gravity != .resizeAspect { #expect(geometry.canvas.width == canvas.0 && geometry.canvas.height == canvas.1) }
            if gravity == .resizeAspect {
                #expect(geometry.canvas.width == canvas.0 || geometry.canvas.height == canvas.1)
                #expect(abs(2 * geometry.canvas.x + geometry.canvas.width - canvas.0) <= 1)
            }
        }
    }

    @Test(arguments: [
        (PixelRectangle(x: 8, y: 4, width: 16, height: 8), PixelRectangle(x: 8, y: 4, width: 16, height: 8)),
        (PixelRectangle(x: 9, y: 5, width: 14, height: 6), PixelRectangle(x: 8, y: 4, width: 16, height: 8)),
        (PixelRectangle(x: -8, y: -8, width: 10, height: 10), PixelRectangle(x: 0, y: 0, width: 2, height: 2)),
        (PixelRectangle(x: 60, y: 30, width: 40, height: 40), PixelRectangle(x: 60, y: 30, width: 4, height: 6)),
        (PixelRectangle(x: 200, y: 200, width: 4, height: 4), PixelRectangle(x: 62, y: 34, width: 2, height: 2)),
        (PixelRectangle(x: 10, y: 10, width: 0, height: -4), PixelRectangle(x: 10, y: 10, width: 2, height: 2)),
    ])
    func aPartOfThePictureIsAPictureOfItsOwn(_ source: PixelRectangle, _ seen: PixelRectangle) {
        func geometry(_ gravity: VideoGravity) -> PictureGeometry {
            PictureGeometry(
                storedWidth: 64, storedHeight: 36, source: source, gravity: gravity, screenWidth: 100, screenHeight: 100, chromaWidth: 2,
                chromaHeight: 2)
        }
        #expect(geometry(.resize).crop == seen && geometry(.resizeAspect).crop == seen)
        #expect(abs(geometry(.resizeAspect).canvas.height - 100 * seen.height / seen.width) <= 1 || seen.height > seen.width)
        let filled = geometry(.resizeAspectFill).crop
        #expect(filled.x >= seen.x && filled.y >= seen.y && filled.x + filled.width <= seen.x + seen.width)
        #expect(filled.y + filled.height <= seen.y + seen.height)
    }
}
