import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The decoded pictures that an output shows: a background, and layers on it from back to front. Everything drawn lies in front
/// (``Overlay``), and changes independently.
///
/// The engine makes a scene for each frame and keeps it as long as it may have to prepare it again; an output borrows it
/// (``SceneOutput/prepare(_:)``). The layers lie in the scene itself, so a scene of pictures allocates nothing.
package struct Scene: ~Copyable, Sendable {
    /// The maximum number of layers in a scene.
    package static let capacity = 4

    /// The colour behind all layers and in the bars beside pictures, as 0xRRGGBB; nil for the output's own (`[display] background`).
    package var background: UInt32?
    /// The item time of the picture.
    package var itemTime = MediaTime.zero
    /// The number of layers.
    package private(set) var count = 0
    /// The layers, the rearmost first; nil from `count` on.
    private var layers: InlineArray<4, Layer?>

    /// Creates a scene with only a background.
    package init(background: UInt32? = nil) {
        self.background = background
        layers = InlineArray { _ in nil }
    }

    /// Adds a layer in front of all layers of the same or a lower ``Layer/order``. Traps if the scene is full.
    package mutating func add(_ layer: consuming Layer) {
        precondition(count < Self.capacity, "a scene has at most \(Self.capacity) layers")
        let order = layer.order
        layers[count] = .some(layer)
        var place = count
        while place > 0, (layers[place - 1]?.order ?? order) > order {
            layers.swapAt(place - 1, place)
            place -= 1
        }
        count += 1
    }

    /// Changes the gravity of the front layer's picture.
    mutating func refit(_ gravity: VideoGravity) { if count > 0 { layers[count - 1]?.gravity = gravity } }

    /// Calls `body` with the layer at `index`, 0 for the rearmost. Traps if there is none.
    package func withLayer<Result, Failure: Error>(
        at index: Int, _ body: (borrowing Layer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch layers[index] {
        case .some(let layer): return try body(layer)
        case .none: preconditionFailure("a scene of \(count) layers has no layer \(index)")
        }
    }

    /// Returns another scene with the same layers and pictures; nil if memory is short.
    package func shared() -> Scene? {
        var copy = Scene(background: background)
        copy.itemTime = itemTime
        for index in 0..<count {
            switch layers[index] {
            case .some(let layer):
                guard let layer = layer.shared() else { return nil }
                copy.add(layer)
            case .none: break
            }
        }
        return copy
    }

    /// Whether one of the pictures comes from the pool of a hardware decoder.
    package var isPooled: Bool { (0..<count).contains { withLayer(at: $0) { $0.frame.isPooled } } }

    /// The number of bytes of decoded pictures that the scene keeps alive.
    package var byteCount: Int { (0..<count).reduce(0) { sum, index in sum + withLayer(at: index) { $0.frame.byteCount } } }
}

/// One picture of a ``Scene``. It takes the whole screen, including the bars beside it.
package struct Layer: ~Copyable, Sendable {
    /// The frame, in its own format.
    package let frame: VideoFrame
    /// The way in which the frame fits the whole screen.
    package var gravity: VideoGravity
    /// The visible part of the frame, in its own stored pixels; nil for all of it.
    package var crop: PixelRectangle?
    /// The clockwise rotation of the frame on the screen, in addition to its own orientation.
    package var rotation = Rotation.none
    /// The layer's opacity, 0…1; the layers behind it show through.
    package var alpha = 1.0
    /// The stacking order: layers of a higher order lie in front.
    package var order = 0

    /// Creates a layer that shows all of `frame`, upright and opaque unless `alpha` is given.
    package init(_ frame: consuming VideoFrame, gravity: VideoGravity, alpha: Double = 1, order: Int = 0) {
        self.frame = frame
        (self.gravity, self.alpha, self.order) = (gravity, alpha, order)
    }

    /// Returns another layer with the same picture; nil if memory is short.
    fileprivate func shared() -> Layer? {
        guard let frame = frame.shared() else { return nil }
        var copy = Layer(frame, gravity: gravity, alpha: alpha, order: order)
        (copy.crop, copy.rotation) = (crop, rotation)
        return copy
    }
}

/// A drawn picture in ordinary memory, such as text or a button. It never changes; another drawing is another surface.
package final class Surface: Sendable {
    /// The number of pixels across and down; at least 1.
    package let width: Int, height: Int
    /// The pixels, row by row without gaps: 0xAARRGGBB, with the colours premultiplied by alpha (DRM's ARGB8888, cairo's ARGB32).
    package let pixels: [UInt32]
    /// Whether the surface is fully opaque: layers under it need not be drawn.
    package let isOpaque: Bool

    /// Creates a surface from a subtitle picture.
    package convenience init(_ picture: SubtitlePicture) { self.init(width: picture.width, height: picture.height, pixels: picture.pixels) }

    /// Creates a surface of `width` x `height` pixels. Traps if `pixels` has another count. If `isOpaque` is nil, checks the pixels.
    package init(width: Int, height: Int, pixels: [UInt32], isOpaque: Bool? = nil) {
        precondition(width > 0 && height > 0 && pixels.count == width * height, "\(pixels.count) pixels are not \(width)x\(height)")
        self.width = width
        self.height = height
        self.pixels = pixels
        self.isOpaque = isOpaque ?? pixels.allSatisfy { $0 >= 0xff00_0000 }
    }
}
