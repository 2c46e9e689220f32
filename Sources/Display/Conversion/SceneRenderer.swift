import KioskPlayback
import KioskVocabulary

/// Draws scenes into memory, as a display of that size without planes shows them: for films that kiosk writes instead of showing.
///
/// Not thread-safe.
package final class SceneRenderer {
    /// Pixels across and down.
    package let width: Int, height: Int
    private let background: UInt32
    private let painter = ScenePainter()
    private let buffer: MemoryBuffer

    /// Creates a renderer of pictures of `width` x `height` pixels, at least 1 x 1. `background` is for scenes without their own.
    package init(width: Int, height: Int, background: Color) {
        (self.width, self.height) = (max(width, 1), max(height, 1))
        self.background = background.rgb
        buffer = MemoryBuffer(width: self.width, height: self.height, format: .xrgb8888)
    }

    /// Draws a scene with its overlay, and replaces the scene before. A frame that cannot be converted becomes background and is logged
    /// once.
    package func draw(_ scene: borrowing Scene, under overlay: Overlay = Overlay()) {
        let placed = overlay.pictures.isEmpty ? nil : PlacedOverlay(overlay, rotation: .none, width: width, height: height, before: nil)
        painter.paint(scene, rotation: .none, background: background, under: placed, into: buffer)
    }

    /// Calls `body` with the XRGB8888 pixels and the stride in bytes.
    package func withPixels<Result, Failure: Error>(
        _ body: (UnsafeRawPointer, _ stride: Int) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawPointer(buffer.pixels.base), buffer.pixels.stride)
    }
}
