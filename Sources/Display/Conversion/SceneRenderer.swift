import KioskPlayback
import KioskVocabulary

/// Draws scenes into memory, as a display of that size without planes shows them: for films that kiosk writes instead of showing.
///
/// A film can also have its pictures at places of their own (``PicturePlacer``). A display has no such layers, so they are no part of a
/// scene.
///
/// Not thread-safe.
package final class SceneRenderer {
    /// Pixels across and down.
    package let width: Int, height: Int
    private let background: UInt32
    private let painter = ScenePainter()
    private let buffer: MemoryBuffer
    /// The upper picture of a fade, and the placers of the pictures of a scene, the front one's first.
    private var upper: MemoryBuffer?
    private var placers = [PicturePlacer()]
    private var line: MemoryBuffer?

    /// Creates a renderer of pictures of `width` x `height` pixels, at least 1 x 1. `background` is for scenes without their own.
    package init(width: Int, height: Int, background: Color) {
        (self.width, self.height) = (max(width, 1), max(height, 1))
        self.background = background.rgb
        buffer = MemoryBuffer(width: self.width, height: self.height, format: .xrgb8888)
    }

    /// Draws a scene with its overlay, and replaces the scene before. A frame that cannot be converted becomes background and is logged
    /// once.
    package func draw(_ scene: borrowing Scene, under overlay: Overlay = Overlay()) {
        painter.paint(scene, rotation: .none, background: background, under: placed(overlay), into: buffer)
    }

    /// Draws a scene whose pictures have places of their own, the rearmost first, and replaces the scene before. Each picture is complete
    /// with the background around it before a fade mixes the two.
    package func draw(_ scene: borrowing Scene, at placements: [PicturePlacement]) {
        if placements.allSatisfy({ $0 == .plain }) { return draw(scene) }
        let background = scene.background ?? background
        while placers.count < scene.count { placers.append(PicturePlacer()) }
        buffer.layout = nil
        buffer.clear(to: background)
        buffer.layout = nil
        for index in 0..<scene.count {
            let placement = placements.indices ~= index ? placements[index] : .plain
            let placer = placers[scene.count - 1 - index]
            scene.withLayer(at: index) { layer in
                if index == 0 {
                    placer.draw(
                        layer, at: placement, opacity: placement.opacity * layer.alpha, background: background, over: buffer.pixels)
                } else {
                    let upper = upper ?? MemoryBuffer(width: width, height: height, format: .xrgb8888)
                    self.upper = upper
                    upper.layout = nil
                    upper.clear(to: background)
                    placer.draw(layer, at: placement, opacity: placement.opacity, background: background, over: upper.pixels)
                    PixelBlend.mix(upper.pixels, over: buffer.pixels, share: layer.alpha, into: buffer.pixels)
                }
            }
        }
    }

    /// Draws the pictures of a scene over what has been drawn, without its background.
    package func add(_ scene: borrowing Scene, at placement: PicturePlacement, by placer: PicturePlacer) {
        buffer.layout = nil
        for index in 0..<scene.count {
            scene.withLayer(at: index) { layer in
                placer.draw(
                    layer, at: placement, opacity: placement.opacity * layer.alpha, background: scene.background ?? background,
                    over: buffer.pixels)
            }
        }
    }

    /// Draws an overlay over what has been drawn.
    package func add(_ overlay: Overlay) {
        guard let placed = placed(overlay) else { return }
        let line = line ?? MemoryBuffer(width: width, height: 1, format: .xrgb8888)
        self.line = line
        buffer.layout = nil
        let writer = ScanoutWriter(target: buffer.pixels, overlay: placed, line: line.pixels.base)
        for y in 0..<height { writer.write(buffer.pixels.address(0, y), x: 0, y: y, count: width) }
    }

    private func placed(_ overlay: Overlay) -> PlacedOverlay? {
        overlay.pictures.isEmpty ? nil : PlacedOverlay(overlay, rotation: .none, width: width, height: height, before: nil)
    }

    /// Calls `body` with the XRGB8888 pixels and the stride in bytes.
    package func withPixels<Result, Failure: Error>(
        _ body: (UnsafeRawPointer, _ stride: Int) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawPointer(buffer.pixels.base), buffer.pixels.stride)
    }
}
