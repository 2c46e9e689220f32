import KioskMedia
import KioskVocabulary

/// What an output shows: a background, and layers on it from back to front.
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
    mutating func refit(_ gravity: VideoGravity) {
        guard count > 0, let front = layers[count - 1].take() else { return }
        layers[count - 1] = .some(front.fitted(gravity))
    }

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
    package var isPooled: Bool {
        (0..<count).contains { index in
            withLayer(at: index) { layer in
                switch layer.content {
                case .video(let video): video.frame.isPooled
                case .surface: false
                }
            }
        }
    }

    /// Bytes of decoded pictures that the scene keeps alive.
    package var byteCount: Int {
        (0..<count).reduce(0) { sum, index in
            withLayer(at: index) { layer in
                switch layer.content {
                case .video(let video): sum + video.frame.byteCount
                case .surface: sum
                }
            }
        }
    }
}

/// One picture of a ``Scene``.
package struct Layer: ~Copyable, Sendable {
    /// A decoded frame, and how it is fitted to the screen.
    package struct Video: ~Copyable, Sendable {
        /// The frame, in its own format.
        package let frame: VideoFrame
        /// How it is fitted to the whole screen.
        package let gravity: VideoGravity

        /// The frame alone.
        fileprivate consuming func intoFrame() -> VideoFrame { frame }
    }

    /// What a layer shows, and where.
    package enum Content: ~Copyable, Sendable {
        /// A decoded frame. The layer takes the whole screen: the bars beside the picture belong to it.
        case video(Video)
        /// A drawn surface, scaled to a rectangle of the screen as a viewer sees it: before the output's rotation, in pixels. What lies
        /// outside the screen is cut off.
        case surface(Surface, destination: PixelRectangle)

        /// A decoded frame, fitted to the whole screen as `gravity` says.
        package static func video(_ frame: consuming VideoFrame, gravity: VideoGravity) -> Content {
            .video(Video(frame: frame, gravity: gravity))
        }
    }

    /// What it shows, and where.
    package let content: Content
    /// The part of the content that is seen, in its own stored pixels; nil for all of it.
    package var crop: PixelRectangle?
    /// The clockwise turn of the content on the screen; comes on top of a frame's own orientation.
    package var rotation = Rotation.none
    /// How much of the layer is seen, 0…1; what is left is what lies behind it. Multiplied with a surface's own alpha.
    package var alpha = 1.0
    /// Layers of a higher order lie in front.
    package var order = 0

    /// A layer that shows all of `content`, upright and opaque.
    package init(_ content: consuming Content, alpha: Double = 1, order: Int = 0) {
        self.content = content
        self.alpha = alpha
        self.order = order
    }

    /// The same, its picture fitted as `gravity` says.
    fileprivate consuming func fitted(_ gravity: VideoGravity) -> Layer {
        let (crop, rotation, alpha, order) = (crop, rotation, alpha, order)
        var layer: Layer
        let content = content
        switch consume content {
        case .video(let video): layer = Layer(.video(video.intoFrame(), gravity: gravity), alpha: alpha, order: order)
        case .surface(let surface, let destination):
            layer = Layer(.surface(surface, destination: destination), alpha: alpha, order: order)
        }
        (layer.crop, layer.rotation) = (crop, rotation)
        return layer
    }

    /// The same once more, of the same picture; nil where memory is short.
    fileprivate func shared() -> Layer? {
        var copy: Layer
        switch content {
        case .video(let video):
            guard let frame = video.frame.shared() else { return nil }
            copy = Layer(.video(frame, gravity: video.gravity), alpha: alpha, order: order)
        case .surface(let surface, let destination):
            copy = Layer(.surface(surface, destination: destination), alpha: alpha, order: order)
        }
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
    package init(width: Int, height: Int, pixels: [UInt32], isOpaque: Bool? = nil) {
        precondition(width > 0 && height > 0 && pixels.count == width * height, "\(pixels.count) pixels are not \(width)x\(height)")
        self.width = width
        self.height = height
        self.pixels = pixels
        self.isOpaque = isOpaque ?? pixels.allSatisfy { $0 >= 0xff00_0000 }
    }
}
