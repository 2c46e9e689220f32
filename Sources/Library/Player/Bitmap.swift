package import KioskPlayback

/// A drawn picture in memory, such as text or a button. It never changes: another drawing is another bitmap.
public struct Bitmap: Hashable, Sendable {
    package let surface: Surface

    /// Pixels across.
    public var width: Int { surface.width }
    /// Pixels down.
    public var height: Int { surface.height }
    /// Row by row: 0xAARRGGBB, premultiplied.
    public var pixels: [UInt32] { surface.pixels }

    /// Creates the bitmap of a drawing of the engine.
    package init(_ surface: Surface) { self.surface = surface }

    /// Creates a bitmap of `width` x `height` pixels: 0xAARRGGBB row by row without gaps, premultiplied (cairo's ARGB32). nil if the number
    /// of pixels is wrong, or zero, or a side is longer than 16384.
    public init?(width: Int, height: Int, pixels: [UInt32]) {
        guard width > 0, height > 0, width <= 16384, height <= 16384, pixels.count == width * height else { return nil }
        surface = Surface(width: width, height: height, pixels: pixels)
    }

    /// Creates a bitmap from pixels that `draw` returns, called with x and y, row by row. nil unless each side has 1 to 16384 pixels.
    public init?(width: Int, height: Int, draw: (_ x: Int, _ y: Int) -> UInt32) {
        guard 1...16384 ~= width, 1...16384 ~= height else { return nil }
        var pixels: [UInt32] = []
        pixels.reserveCapacity(width * height)
        for y in 0..<height { for x in 0..<width { pixels.append(draw(x, y)) } }
        self.init(width: width, height: height, pixels: pixels)
    }

    /// Returns whether they are the same drawing.
    public static func == (a: Bitmap, b: Bitmap) -> Bool { a.surface === b.surface }
    /// Hashes the identity of the drawing.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(surface)) }
}

/// A bitmap over the pictures of a ``VideoOutput``.
public struct OverlayPicture: Hashable, Sendable {
    /// The bitmap to draw.
    public var bitmap: Bitmap
    /// Pixels from the left edge of the display, as a viewer sees it.
    public var x: Int
    /// Pixels from its top edge.
    public var y: Int
    /// Its opacity, 0…1.
    public var alpha: Double

    /// Creates an overlay with the bitmap's top left corner at `x`, `y`.
    public init(_ bitmap: Bitmap, x: Int, y: Int, alpha: Double = 1) {
        (self.bitmap, self.x, self.y, self.alpha) = (bitmap, x, y, alpha)
    }

    var engine: Overlay.Picture { Overlay.Picture(surface: bitmap.surface, x: x, y: y, alpha: alpha) }
}
