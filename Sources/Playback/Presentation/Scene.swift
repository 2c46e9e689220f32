import KioskMedia
import KioskVocabulary

/// The decoded pictures that an output shows: a background, and layers on it from back to front. Everything drawn lies in front of them
/// (``Overlay``), and changes without them.
///
/// The engine makes a scene for each frame and keeps it as long as it may have to be prepared again; an output borrows it
/// (``SceneOutput/prepare(_:)``). The layers lie in the scene itself, so a scene of pictures allocates nothing.
package struct Scene: ~Copyable, Sendable {
    /// The most layers a scene can have.
    package static let capacity = 4

    /// The colour behind all layers and of the bars beside pictures, as 0xRRGGBB; nil for the output's own (`[display] background`).
    package var background: UInt32?
    /// How many layers there are.
    package private(set) var count = 0
    /// The rearmost first; nil from `count` on.
    private var layers: InlineArray<4, Layer?>

    /// A bare background.
    package init(background: UInt32? = nil) {
        self.background = background
        layers = InlineArray { _ in nil }
    }

    /// Puts a layer in front of all layers of the same or a lower ``Layer/order``. Traps when the scene is full.
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

    /// Fits the picture of the layer in front another way.
    mutating func refit(_ gravity: VideoGravity) { if count > 0 { layers[count - 1]?.gravity = gravity } }

    /// Calls `body` with the layer at `index`, 0 for the rearmost. Traps when there is none.
    package func withLayer<Result, Failure: Error>(
        at index: Int, _ body: (borrowing Layer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch layers[index] {
        case .some(let layer): return try body(layer)
        case .none: preconditionFailure("a scene of \(count) layers has no layer \(index)")
        }
    }

    /// The same layers once more, of the same pictures; nil where memory is short.
    func shared() -> Scene? {
        var copy = Scene(background: background)
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

    /// Whether one of its pictures comes from the pool of a hardware decoder.
    package var isPooled: Bool { (0..<count).contains { withLayer(at: $0) { $0.frame.isPooled } } }

    /// Bytes of decoded pictures that the scene keeps alive.
    package var byteCount: Int { (0..<count).reduce(0) { sum, index in sum + withLayer(at: index) { $0.frame.byteCount } } }
}

/// One picture of a ``Scene``. It takes the whole screen: the bars beside it belong to it.
package struct Layer: ~Copyable, Sendable {
    /// The frame, in its own format.
    package let frame: VideoFrame
    /// How it is fitted to the whole screen.
    package var gravity: VideoGravity
    /// The part of the frame that is seen, in its own stored pixels; nil for all of it.
    package var crop: PixelRectangle?
    /// The clockwise rotation of the frame on the screen; comes on top of its own orientation.
    package var rotation = Rotation.none
    /// How much of the layer is seen, 0…1; what is left is what lies behind it.
    package var alpha = 1.0
    /// Layers of a higher order lie in front.
    package var order = 0

    /// A layer that shows all of `frame`, upright and opaque.
    package init(_ frame: consuming VideoFrame, gravity: VideoGravity, alpha: Double = 1, order: Int = 0) {
        self.frame = frame
        (self.gravity, self.alpha, self.order) = (gravity, alpha, order)
    }

    /// The same once more, of the same picture; nil where memory is short.
    fileprivate func shared() -> Layer? {
        guard let frame = frame.shared() else { return nil }
        var copy = Layer(frame, gravity: gravity, alpha: alpha, order: order)
        (copy.crop, copy.rotation) = (crop, rotation)
        return copy
    }
}

/// A drawn picture in ordinary memory, such as text or a button. It does not change once it is made; another drawing is another surface.
package final class Surface: Sendable {
    /// Pixels across and down; at least 1.
    package let width: Int, height: Int
    /// Row by row without gaps: 0xAARRGGBB, the colours multiplied by alpha already (DRM's ARGB8888, cairo's ARGB32).
    package let pixels: [UInt32]
    /// Whether nothing is seen through it: what lies under it need not be drawn.
    package let isOpaque: Bool

    /// A surface of `width` x `height` pixels. Traps when `pixels` has another count. Whether nothing is seen through it is looked for where it is not known.
    package convenience init(_ picture: SubtitlePicture) { self.init(width: picture.width, height: picture.height, pixels: picture.pixels) }

    package init(width: Int, height: Int, pixels: [UInt32], isOpaque: Bool? = nil) {
        precondition(width > 0 && height > 0 && pixels.count == width * height, "\(pixels.count) pixels are not \(width)x\(height)")
        self.width = width
        self.height = height
        self.pixels = pixels
        self.isOpaque = isOpaque ?? pixels.allSatisfy { $0 >= 0xff00_0000 }
    }
}
