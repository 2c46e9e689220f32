import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

@Suite struct ScenePainterTests {
    private let width = 40, height = 24
    private let background: UInt32 = 0x10_2030

    private func paint(_ scene: borrowing Scene, rotation: Rotation = .none, format: ScanoutFormat = .xrgb8888) -> ScreenPixels {
        let buffer = MemoryBuffer(width: width, height: height, format: format)
        ScenePainter().paint(scene, rotation: rotation, background: background, into: buffer)
        return ScreenPixels(buffer)
    }

    private func gray(_ luma: Int, gravity: VideoGravity = .resize, alpha: Double = 1, order: Int = 0) -> Layer {
        Layer(.video(Pictures.solid(luma, 128, 128, width, height), gravity: gravity), alpha: alpha, order: order)
    }

    /// One premultiplied colour all over.
    private func surface(_ pixel: UInt32, _ width: Int = 8, _ height: Int = 4) -> Surface {
        Surface(width: width, height: height, pixels: Array(repeating: pixel, count: width * height))
    }

    private func place(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelRectangle {
        PixelRectangle(x: x, y: y, width: width, height: height)
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

    /// A picture that comes in covers what it replaces with its bars, too.
    @Test func barsFadeWithTheirPicture() {
        var scene = Scene(background: 0x00_00ff)
        scene.add(gray(235))
        scene.add(Layer(.video(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect), alpha: 0.5))
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
        scene.add(Layer(.surface(surface(0x8000_8000), destination: place(4, 2, 8, 4))))
        scene.add(Layer(.surface(surface(0xffff_0000), destination: place(20, 2, 8, 4)), alpha: 0.25))
        let pixels = paint(scene, format: format)
        let tolerance = format == .rgb565 ? 8 : 3
        #expect(near(pixels[4, 2], 0x7f_ff7f, tolerance) && near(pixels[11, 5], 0x7f_ff7f, tolerance))
        #expect(near(pixels[20, 2], 0xff_bfbf, tolerance))
        for (x, y) in [(3, 2), (12, 2), (4, 1), (4, 6), (39, 23)] { #expect(near(pixels[x, y], 0xff_ffff, tolerance), "\(x) \(y)") }
    }

    @Test func theOrderIsNotThatOfAdding() {
        var scene = Scene()
        scene.add(Layer(.surface(surface(0xff00_ff00), destination: place(0, 0, 40, 24)), order: 2))
        scene.add(gray(16))
        scene.add(Layer(.surface(surface(0xffff_0000), destination: place(0, 0, 20, 24)), order: 3))
        scene.add(Layer(.surface(surface(0xff00_00ff), destination: place(0, 0, 40, 24)), order: 2))
        let orders = (0..<scene.count).map { scene.withLayer(at: $0) { $0.order } }
        #expect(orders == [0, 2, 2, 3])
        let pixels = paint(scene)
        #expect(near(pixels[5, 5], 0xff_0000) && near(pixels[30, 5], 0x00_00ff))
    }

    @Test func whatIsOutsideIsCutOff() {
        var scene = Scene()
        for (x, y) in [(-4, -2), (36, 22), (50, 5), (5, -9)] {
            if scene.count < Scene.capacity { scene.add(Layer(.surface(surface(0xffff_ffff), destination: place(x, y, 8, 4)))) }
        }
        let pixels = paint(scene)
        #expect(pixels[3, 1] == 0xff_ffff && pixels[36, 22] == 0xff_ffff && pixels[39, 23] == 0xff_ffff)
        #expect(pixels[4, 1] == background && pixels[35, 22] == background && pixels[5, 0] == background)
    }

    /// Red, green above blue, white; seen whole, scaled, in part, and turned with its layer and with the screen.
    @Test(
        arguments: [
            (Rotation.none, Rotation.none, [0xff0000, 0x00ff00, 0x0000ff, 0xffffff]),
            (.clockwise90, .none, [0x0000ff, 0xff0000, 0xffffff, 0x00ff00]),
            (.none, .clockwise180, [0xffffff, 0x0000ff, 0x00ff00, 0xff0000]),
            (.clockwise270, .clockwise90, [0xff0000, 0x00ff00, 0x0000ff, 0xffffff]),
        ] as [(Rotation, Rotation, [UInt32])])
    func surfacesAreScaledAndTurned(_ turn: Rotation, _ rotation: Rotation, _ expected: [UInt32]) {
        let colours: [UInt32] = [0xffff_0000, 0xff00_ff00, 0xff00_00ff, 0xffff_ffff]
        let drawn = Surface(width: 8, height: 8, pixels: (0..<64).map { colours[$0 / 32 * 2 + $0 % 8 / 4] })
        var layer = Layer(.surface(drawn, destination: place(2, 2, 16, 16)))
        layer.rotation = turn
        var scene = Scene()
        scene.add(layer)
        let pixels = paint(scene, rotation: rotation)
        // Where the square is on the screen.
        let (left, top) = rotation == .clockwise180 ? (22, 6) : rotation == .clockwise90 ? (22, 2) : (2, 2)
        let corners = [(1, 1), (14, 1), (1, 14), (14, 14)].map { pixels[left + $0.0, top + $0.1] }
        #expect(zip(corners, expected).allSatisfy { near($0, $1, 6) }, "\(corners.map { String($0, radix: 16) })")
        #expect(pixels[left - 1, top] == background && pixels[left + 16, top + 15] == background)
    }

    @Test func partsOfASurfaceAndOfAPicture() {
        let drawn = Surface(width: 8, height: 4, pixels: (0..<32).map { $0 % 8 < 4 ? 0xffff_0000 : 0xff00_ff00 })
        var above = Layer(.surface(drawn, destination: place(0, 0, 4, 4)))
        above.crop = place(4, 0, 4, 4)
        var picture = Layer(.video(Pictures.quarters(40, 24), gravity: .resize))
        picture.crop = place(0, 12, 20, 12)
        var scene = Scene()
        scene.add(picture)
        scene.add(above)
        let pixels = paint(scene)
        #expect(near(pixels[1, 1], 0x00_ff00) && near(pixels[20, 3], 0x00_00ff) && near(pixels[39, 23], 0x00_00ff, 8))
    }

    /// The same buffers are painted into again and again.
    @Test func nothingIsLeftOfTheSceneBefore() {
        let painter = ScenePainter()
        let buffer = MemoryBuffer(width: width, height: height, format: .xrgb8888)
        var busy = Scene()
        busy.add(Layer(.video(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect)))
        busy.add(Layer(.surface(surface(0xffff_ffff), destination: place(0, 0, 8, 4))))
        let plain = Scene(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect)
        var fade = Scene()
        fade.add(Layer(.video(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect)))
        fade.add(Layer(.video(Pictures.solid(16, 128, 128, 24, 24), gravity: .resizeAspect), alpha: 0.5))
        func painted(_ scene: borrowing Scene) -> UInt32 {
            painter.paint(scene, rotation: .none, background: background, into: buffer)
            return ScreenPixels(buffer)[2, 2]
        }
        #expect(painted(plain) == background)
        #expect(painted(busy) == 0xff_ffff)
        #expect(painted(plain) == background)
        #expect(painted(busy) == 0xff_ffff)
        #expect(near(painted(fade), background, 1))
        #expect(painted(Scene()) == background)
    }
}
