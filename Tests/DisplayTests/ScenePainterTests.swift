import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

@Suite struct ScenePainterTests {
    private let width = 40, height = 24
    private let background: UInt32 = 0x10_2030

    private func paint(
        _ scene: borrowing Scene, under pictures: [Overlay.Picture] = [], rotation: Rotation = .none, format: ScanoutFormat = .xrgb8888
    ) -> ScreenPixels {
        let buffer = MemoryBuffer(width: width, height: height, format: format)
        ScenePainter().paint(scene, rotation: rotation, background: background, under: placed(pictures, rotation), into: buffer)
        return ScreenPixels(buffer)
    }

    private func placed(_ pictures: [Overlay.Picture], _ rotation: Rotation = .none) -> PlacedOverlay {
        PlacedOverlay(Overlay(pictures: pictures), rotation: rotation, width: width, height: height, before: nil)
    }

    private func gray(_ luma: Int, gravity: VideoGravity = .resize, alpha: Double = 1, order: Int = 0) -> Layer {
        Layer(Pictures.solid(luma, 128, 128, width, height), gravity: gravity, alpha: alpha, order: order)
    }

    /// Returns a surface of one premultiplied colour.
    private func surface(_ pixel: UInt32, _ width: Int = 8, _ height: Int = 4) -> Surface {
        Surface(width: width, height: height, pixels: Array(repeating: pixel, count: width * height))
    }

    @Test func noLayerIsTheBackground() {
        #expect(paint(Scene())[39, 23] == background)
        #expect(paint(Scene(background: 0xaa_bbcc))[0, 0] == 0xaa_bbcc)
    }

    @Test(arguments: [(0.0, 0x00), (0.25, 0x3f), (0.5, 0x7f), (1, 0xff)] as [(Double, UInt32)])
    func aFadeMixesTwoPictures(share: Double, level: UInt32) {
        var scene = Scene()
        scene.add(gray(16))
        scene.add(gray(235, alpha: share))
        #expect(near(paint(scene)[20, 12], level * 0x1_0101))
    }

    /// A picture that fades in covers the old picture with its bars, too.
    @Test func barsFadeWithTheirPicture() {
        var scene = Scene(background: 0x00_00ff)
        scene.add(gray(235))
        scene.add(Layer(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect, alpha: 0.5))
        let pixels = paint(scene)
        #expect(near(pixels[1, 12], 0x7f_7fff) && near(pixels[20, 12], 0x7f_7f7f))
    }

    @Test func aPictureThatIsNotOpaqueLiesOnTheBackground() {
        var scene = Scene(background: 0xff_0000)
        scene.add(gray(235, alpha: 0.5))
        #expect(near(paint(scene)[20, 12], 0xff_7f7f))
    }

    @Test(arguments: [ScanoutFormat.xrgb8888, .xbgr8888, .rgb565]) func surfacesLieOverAPicture(_ format: ScanoutFormat) {
        var scene = Scene()
        scene.add(gray(235))
        let pixels = paint(
            scene,
            under: [
                .init(surface: surface(0x8000_8000), x: 4, y: 2), .init(surface: surface(0xffff_0000), x: 20, y: 2, alpha: 0.25),
            ], format: format)
        let tolerance = format == .rgb565 ? 8 : 3
        #expect(near(pixels[4, 2], 0x7f_ff7f, tolerance) && near(pixels[11, 5], 0x7f_ff7f, tolerance))
        #expect(near(pixels[20, 2], 0xff_bfbf, tolerance))
        for (x, y) in [(3, 2), (12, 2), (4, 1), (4, 6), (39, 23)] { #expect(near(pixels[x, y], 0xff_ffff, tolerance), "\(x) \(y)") }
    }

    @Test func theOrderIsNotThatOfAdding() {
        var scene = Scene()
        scene.add(gray(235, order: 2))
        scene.add(gray(16))
        scene.add(gray(16, alpha: 0.5, order: 3))
        scene.add(gray(126, order: 2))
        let orders = (0..<scene.count).map { scene.withLayer(at: $0) { $0.order } }
        #expect(orders == [0, 2, 2, 3])
        #expect(near(paint(scene)[5, 5], 0x40_4040))
    }

    @Test func whatIsOutsideIsCutOff() {
        let places = [(-4, -2), (36, 22), (50, 5), (5, -9)]
        let pixels = paint(Scene(), under: places.map { Overlay.Picture(surface: surface(0xffff_ffff), x: $0.0, y: $0.1) })
        #expect(pixels[3, 1] == 0xff_ffff && pixels[36, 22] == 0xff_ffff && pixels[39, 23] == 0xff_ffff)
        #expect(pixels[4, 1] == background && pixels[35, 22] == background && pixels[5, 0] == background)
    }

    /// Red, green above blue, white, on rotated screens.
    @Test(
        arguments: [
            (.none, (2, 2), [0xff0000, 0x00ff00, 0x0000ff, 0xffffff]), (.clockwise90, (22, 2), [0x0000ff, 0xff0000, 0xffffff, 0x00ff00]),
            (.clockwise180, (22, 6), [0xffffff, 0x0000ff, 0x00ff00, 0xff0000]),
            (.clockwise270, (2, 6), [0x00ff00, 0xffffff, 0xff0000, 0x0000ff]),
        ] as [(Rotation, (Int, Int), [UInt32])])
    func surfacesAreTurned(_ rotation: Rotation, _ corner: (Int, Int), _ expected: [UInt32]) {
        let colours: [UInt32] = [0xffff_0000, 0xff00_ff00, 0xff00_00ff, 0xffff_ffff]
        let drawn = Surface(width: 16, height: 16, pixels: (0..<256).map { colours[$0 / 128 * 2 + $0 % 16 / 8] })
        let pixels = paint(Scene(), under: [.init(surface: drawn, x: 2, y: 2)], rotation: rotation)
        let (left, top) = corner
        let corners = [(0, 0), (15, 0), (0, 15), (15, 15)].map { pixels[left + $0.0, top + $0.1] }
        #expect(corners == expected, "\(corners.map { String($0, radix: 16) })")
        #expect(pixels[left - 1, top] == background && pixels[left + 16, top + 15] == background)
    }

    @Test func partOfAPicture() {
        var picture = Layer(Pictures.quarters(40, 24), gravity: .resize)
        picture.crop = PixelRectangle(x: 0, y: 12, width: 20, height: 12)
        var scene = Scene()
        scene.add(picture)
        let pixels = paint(scene)
        #expect(near(pixels[20, 3], 0x00_00ff) && near(pixels[39, 23], 0x00_00ff, 8))
    }

    /// Painting the same buffer again leaves no traces of the previous scene.
    @Test func nothingIsLeftOfTheSceneBefore() {
        let painter = ScenePainter()
        let buffer = MemoryBuffer(width: width, height: height, format: .xrgb8888)
        let busy = placed([.init(surface: surface(0xffff_ffff), x: 0, y: 0)])
        let plain = Scene(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect)
        var fade = Scene()
        fade.add(Layer(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect))
        fade.add(Layer(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect, alpha: 0.5))
        func painted(_ scene: borrowing Scene, under overlay: PlacedOverlay? = nil) -> UInt32 {
            painter.paint(scene, rotation: .none, background: background, under: overlay, into: buffer)
            return ScreenPixels(buffer)[2, 2]
        }
        #expect(painted(plain) == background)
        #expect(painted(plain, under: busy) == 0xff_ffff)
        #expect(painted(plain) == background)
        #expect(painted(plain, under: busy) == 0xff_ffff)
        #expect(near(painted(fade), background, 1))
        #expect(painted(Scene()) == background)
    }
}
