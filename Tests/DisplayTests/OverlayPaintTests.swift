import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// Compares an overlay blended over pictures in ordinary memory with a pixel-by-pixel reference over the finished picture.
@Suite struct OverlayPaintTests {
    private let width = 64, height = 36

    /// Returns an overlay for a screen rotated by `rotation`: pictures at the top left, overlapping in the middle, and partly outside.
    private func overlay(_ rotation: Rotation) -> Overlay {
        let canvas = rotation.swapsAxes ? (height, width) : (width, height)
        return Overlay(pictures: [
            .init(surface: Surface(0xc080_4020, canvas.0, 5), x: 0, y: 0),
            .init(surface: Surface(patternOf: 17, 11), x: 9, y: 3, alpha: 0.6),
            .init(surface: Surface(0xffff_ffff, 3, 3), x: canvas.0 - 2, y: canvas.1 - 2),
            .init(surface: Surface(0xffff_ffff, 3, 3), x: 2, y: 2, alpha: 0),
            .init(surface: Surface(0xffff_ffff, 3, 3), x: canvas.0, y: 8),
        ])
    }

    private func placed(_ overlay: Overlay, _ rotation: Rotation) -> PlacedOverlay {
        PlacedOverlay(overlay, rotation: rotation, width: width, height: height, before: nil)
    }

    private enum Kind: CaseIterable { case none, whole, bars, fade, broken }

    private func scene(_ kind: Kind) -> Scene {
        var scene = Scene(background: 0x20_4060)
        switch kind {
        case .none: break
        case .whole: scene.add(Layer(Pictures.quarters(width, height), gravity: .resize))
        case .bars: scene.add(Layer(Pictures.solid(150, 90, 160, 24, 24), gravity: .resizeAspect))
        case .fade:
            scene.add(Layer(Pictures.quarters(width, height), gravity: .resize))
            scene.add(Layer(Pictures.solid(150, 90, 160, 24, 24), gravity: .resizeAspect, alpha: 0.4))
        case .broken: scene.add(Layer(VideoFrame(adopting: av_frame_alloc()!), gravity: .resize))
        }
        return scene
    }

    @Test(arguments: Rotation.allCases, [ScanoutFormat.xrgb8888, .xbgr8888, .rgb565])
    func isTheSameAsOverTheFinishedPicture(_ rotation: Rotation, _ format: ScanoutFormat) {
        let painter = ScenePainter()
        let (buffer, plain) = (
            MemoryBuffer(width: width, height: height, format: format), MemoryBuffer(width: width, height: height, format: format)
        )
        let over = placed(overlay(rotation), rotation)
        for kind in Kind.allCases {
            painter.paint(scene(kind), rotation: rotation, background: 0, into: plain)
            painter.paint(scene(kind), rotation: rotation, background: 0, under: over, into: buffer)
            let (below, result) = (ScreenPixels(plain), ScreenPixels(buffer))
            var changed = 0
            for y in 0..<height {
                for x in 0..<width {
                    let expected = over.pixel(x, y, over: below[x, y])
                    // Each picture rounds the intermediate result once; in 16 bits each rounding loses much.
                    let isRight = near(result[x, y], expected, format == .rgb565 ? 17 : 3)
                    if !isRight {
                        Issue.record("\(kind) \(x) \(y): \(String(result[x, y], radix: 16)), not \(String(expected, radix: 16))")
                    }
                    if !isRight { return }
                    if result[x, y] != below[x, y] { changed += 1 }
                }
            }
            // Otherwise the test would pass without any overlay.
            #expect(changed > 200, "\(kind)")
        }
    }

    /// Painting the same buffer with an overlay, then without, leaves no traces.
    @Test func nothingIsLeftOfAnOverlay() {
        let painter = ScenePainter()
        let (buffer, plain) = (
            MemoryBuffer(width: width, height: height, format: .xrgb8888), MemoryBuffer(width: width, height: height, format: .xrgb8888)
        )
        let over = placed(overlay(.none), .none)
        for kind in Kind.allCases {
            painter.paint(scene(kind), rotation: .none, background: 0, into: plain)
            for overlay in [nil, over, nil] {
                painter.paint(scene(kind), rotation: .none, background: 0, under: overlay, into: buffer)
            }
            let (a, b) = (ScreenPixels(plain), ScreenPixels(buffer))
            #expect((0..<width * height).allSatisfy { a[$0 % width, $0 / width] == b[$0 % width, $0 / width] }, "\(kind)")
        }
    }

    /// A surface is copied only if it is rotated.
    @Test func whatIsNotTurnedIsNotCopied() {
        let surface = Surface(patternOf: 32, 8)
        let overlay = Overlay(pictures: [.init(surface: surface, x: 4, y: 4)])
        #expect(placed(overlay, .none).byteCount == 32 * 8 * 4 && placed(overlay, .clockwise90).byteCount == 2 * 32 * 8 * 4)
        let picture = placed(overlay, .none).pictures[0]
        picture.pixels.withUnsafeBufferPointer { a in
            surface.pixels.withUnsafeBufferPointer { b in #expect(a.baseAddress == b.baseAddress) }
        }
    }

    @Test func nonsenseIsNotSeen() {
        let surface = Surface(0xffff_ffff, 4, 4)
        let places = [(Int.max, 0), (Int.min, 0), (0, Int.max), (0, Int.min)]
        for rotation in Rotation.allCases {
            let far = places.map { Overlay.Picture(surface: surface, x: $0.0, y: $0.1) }
            let faint = [.nan, -.infinity, -1].map { Overlay.Picture(surface: surface, x: 0, y: 0, alpha: $0) }
            #expect(placed(Overlay(pictures: far + faint), rotation).pictures.isEmpty)
        }
        let bright = placed(Overlay(pictures: [.init(surface: surface, x: 0, y: 0, alpha: .infinity)]), .none)
        #expect(bright.pictures.map(\.weight) == [256])
    }

    // MARK: Buffers of planes

    private func check(_ buffer: OverlayBuffer, _ overlay: PlacedOverlay, _ box: PixelRectangle) {
        for y in 0..<box.height {
            for x in 0..<box.width {
                let expected = overlay.pixel(box.x + x, box.y + y, over: 0x80_8080)
                let seen = mixed(buffer.pixels.address(x, y).load(as: UInt32.self), over: 0x80_8080)
                guard near(seen, expected, 3) else {
                    Issue.record("\(x) \(y): \(String(seen, radix: 16)), not \(String(expected, radix: 16))")
                    return
                }
            }
        }
    }

    @Test(arguments: Rotation.allCases) func onlyWhatChangesIsWritten(_ rotation: Rotation) {
        let line = MemoryBuffer(width: width, height: 1, format: .xrgb8888)
        let buffer = MemoryPlanes(width, height, overlays: 1).makeBuffer(width: width, height: height)
        let box = PixelRectangle(x: 0, y: 0, width: width, height: height)
        var overlay = overlay(rotation)
        var placed = placed(overlay, rotation)
        func draw(_ change: (inout Overlay) -> Void) -> Int {
            change(&overlay)
            placed = PlacedOverlay(overlay, rotation: rotation, width: width, height: height, before: placed)
            let written = buffer.draw(placed, in: box, line: line.pixels.base)
            check(buffer, placed, box)
            #expect(buffer.shows(placed, in: box))
            return written
        }
        #expect(draw { _ in } == width * height)
        #expect(draw { _ in } == 0)
        #expect(draw { $0.pictures[1].alpha = 0.5 } == 17 * 11)
        // The old and the new place, in one rectangle.
        #expect(draw { $0.pictures[1].x += 1 } == 18 * 11)
        #expect(draw { $0.pictures[2].surface = Surface(0x4040_4040, 3, 3) } == 4)
        #expect(draw { $0.pictures.remove(at: 1) } == 17 * 11)
        #expect(draw { $0.pictures.append(.init(surface: Surface(0xff00_ff00, 4, 4), x: 20, y: 20)) } == 16)
        // The same pictures in another order.
        #expect(draw { $0.pictures.swapAt(0, 1) } > 0)
        let part = PixelRectangle(x: 8, y: 4, width: 20, height: 20)
        #expect(!buffer.shows(placed, in: part) && buffer.draw(placed, in: part, line: line.pixels.base) == 400)
        check(buffer, placed, part)
    }
}

extension PlacedOverlay {
    /// Returns the colour of the overlay over `under`, pixel by pixel.
    func pixel(_ x: Int, _ y: Int, over under: UInt32) -> UInt32 {
        pictures.reduce(under) { under, picture in
            let place = picture.whole
            guard (place.x..<place.x + place.width).contains(x), (place.y..<place.y + place.height).contains(y) else { return under }
            let pixel = picture.pixels[(y - place.y) * place.width + x - place.x]
            let faded = [24, 16, 8, 0].reduce(UInt32(0)) { $0 | ((pixel >> $1 & 255) * picture.weight / 256) << $1 }
            return mixed(faded, over: under)
        }
    }
}
