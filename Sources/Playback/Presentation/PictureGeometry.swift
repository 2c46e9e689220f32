import KioskMedia
import KioskVocabulary

/// A rectangle of whole pixels.
package struct PixelRectangle: Hashable, Sendable {
    /// The distance from the left edge in pixels.
    package var x: Int
    /// The distance from the top edge in pixels.
    package var y: Int
    /// The number of pixels across.
    package var width: Int
    /// The number of pixels down.
    package var height: Int

    /// Creates a rectangle from its parts.
    package init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// The placement of a picture: the visible part of the stored picture, its place on the screen, and its rotation.
///
/// There are three coordinate spaces. *Stored* is the frame as decoded. The *canvas* is the screen as a viewer in front of it sees it;
/// gravity, controls and touch use it. *Scan-out* is the screen as the display driver sees it: the canvas rotated by the configured
/// rotation. A picture is cropped in stored pixels, rotated by its own orientation and fitted to the canvas. Then the whole canvas is
/// rotated into scan-out.
package struct PictureGeometry: Hashable, Sendable {
    /// The visible part of the stored picture, in stored pixels; never empty, never outside.
    package var crop: PixelRectangle
    /// The picture's place on the canvas; never empty, never outside.
    package var canvas: PixelRectangle
    /// The same place in scan-out pixels.
    package var scanout: PixelRectangle
    /// The mirroring and rotation from the stored picture to scan-out.
    package var orientation: Orientation

    /// Creates a geometry from known rectangles and an orientation.
    package init(crop: PixelRectangle, scanout: PixelRectangle, canvas: PixelRectangle, orientation: Orientation) {
        (self.crop, self.scanout, self.canvas, self.orientation) = (crop, scanout, canvas, orientation)
    }

    /// Computes the geometry of one picture on one screen.
    ///
    /// - Parameters:
    ///   - storedWidth: The pixels across as decoded, at least 1; likewise `storedHeight`.
    ///   - pixelAspectRatio: A stored pixel's width divided by its height; 0, negative, not finite or beyond 10000:1 counts as 1.
    ///   - source: The visible part of the stored picture, nil for all of it; widened to the chroma grid.
    ///   - orientation: The rotation that brings the stored picture upright.
    ///   - region: The part of the canvas to fit the picture into.
    ///   - screenWidth: The pixels across in scan-out, at least 1; likewise `screenHeight`.
    ///   - rotation: The clockwise rotation of the canvas into scan-out (`[display] rotation`).
    ///   - chromaWidth: The luma pixels across that share one chroma sample; crops keep to this grid. Likewise `chromaHeight`.
    package init(
        storedWidth: Int, storedHeight: Int, source: PixelRectangle? = nil, pixelAspectRatio: Double = 1, orientation: Orientation = .up,
        gravity: VideoGravity, region: Region = .full, screenWidth: Int, screenHeight: Int, rotation: Rotation = .none,
        chromaWidth: Int = 1, chromaHeight: Int = 1
    ) {
        let canvasSize = rotation.swapsAxes ? (screenHeight, screenWidth) : (screenWidth, screenHeight)
        let aspect = (1e-4...1e4).contains(pixelAspectRatio) ? pixelAspectRatio : 1
        let across = Self.widen(source.map { ($0.x, $0.width) }, within: storedWidth, grid: chromaWidth)
        let down = Self.widen(source.map { ($0.y, $0.height) }, within: storedHeight, grid: chromaHeight)
        let (storedWidth, storedHeight) = (across.length, down.length)
        crop = PixelRectangle(x: 0, y: 0, width: storedWidth, height: storedHeight)
        let bounds = region.pixels(width: canvasSize.0, height: canvasSize.1)
        canvas = bounds
        switch gravity {
        case .resize: break
        case .resizeAspect:
            let stored = (Double(storedWidth) * aspect, Double(storedHeight))
            let upright = orientation.rotation.swapsAxes ? (stored.1, stored.0) : stored
            canvas = Self.fit(upright, into: bounds)
        case .resizeAspectFill:
            // The bounds as the stored picture sees them: the crop comes before the rotation.
            let rotated = orientation.rotation.swapsAxes ? (bounds.height, bounds.width) : (bounds.width, bounds.height)
            let shape = Double(rotated.0) / Double(rotated.1) / aspect
            if Double(storedWidth) > Double(storedHeight) * shape {
                (crop.x, crop.width) = Self.cut(storedWidth, to: Double(storedHeight) * shape, grid: chromaWidth)
            } else {
                (crop.y, crop.height) = Self.cut(storedHeight, to: Double(storedWidth) / shape, grid: chromaHeight)
            }
        }
        (crop.x, crop.y) = (crop.x + across.start, crop.y + down.start)
        scanout = Self.rotate(canvas, on: canvasSize, by: rotation)
        self.orientation = Orientation(rotation: orientation.rotation + rotation, isMirrored: orientation.isMirrored)
    }

    /// Returns the largest rectangle of the shape `size` in the middle of `bounds`, at least one pixel each way. A side shorter than the
    /// bounds is rounded to even: bars then have equal width on the usual screens, and conversion has whole chroma samples.
    private static func fit(_ size: (Double, Double), into bounds: PixelRectangle) -> PixelRectangle {
        let scale = min(Double(bounds.width) / size.0, Double(bounds.height) / size.1)
        func side(_ length: Double, _ limit: Int) -> Int {
            let even = Int((length / 2).rounded()) * 2
            return even < limit - 1 ? max(even, 1) : min(max(Int(length.rounded()), 1), limit)
        }
        let (width, height) = (side(size.0 * scale, bounds.width), side(size.1 * scale, bounds.height))
        return PixelRectangle(
            x: bounds.x + (bounds.width - width) / 2, y: bounds.y + (bounds.height - height) / 2, width: width, height: height)
    }

    /// Returns the middle `wanted` of `length` pixels, with both ends on multiples of `grid` (the end of the picture counts as one).
    private static func cut(_ length: Int, to wanted: Double, grid: Int) -> (start: Int, length: Int) {
        let units = max(Int((min(wanted, Double(length)) / Double(grid)).rounded()), 1)
        let kept = units * grid
        guard kept < length else { return (0, length) }
        return ((length - kept) / 2 / grid * grid, kept)
    }

    /// Returns the part of `length` pixels that `wanted` covers, widened to multiples of `grid` (the end of the picture counts as one); all
    /// of it for nil. Never empty.
    private static func widen(_ wanted: (start: Int, length: Int)?, within length: Int, grid: Int) -> (start: Int, length: Int) {
        guard let wanted else { return (0, length) }
        let start = min(max(wanted.start, 0), length - 1) / grid * grid
        let end = min(max(wanted.start + wanted.length, start + 1), length)
        return (start, min((end + grid - 1) / grid * grid, length) - start)
    }

    /// Returns a canvas rectangle in scan-out pixels, for a canvas of this size (across, down) that is rotated by `rotation`.
    package static func rotate(_ r: PixelRectangle, on canvas: (Int, Int), by rotation: Rotation) -> PixelRectangle {
        switch rotation {
        case .none: r
        case .clockwise90: PixelRectangle(x: canvas.1 - r.y - r.height, y: r.x, width: r.height, height: r.width)
        case .clockwise180:
            PixelRectangle(x: canvas.0 - r.x - r.width, y: canvas.1 - r.y - r.height, width: r.width, height: r.height)
        case .clockwise270: PixelRectangle(x: r.y, y: canvas.0 - r.x - r.width, width: r.height, height: r.width)
        }
    }
}

extension Region {
    /// Returns the region in pixels of a canvas. Sides away from the edges lie on even pixels, so that chroma samples are whole.
    package func pixels(width canvasWidth: Int, height canvasHeight: Int) -> PixelRectangle {
        func side(_ start: Double, _ length: Double, _ whole: Int) -> (Int, Int) {
            func even(_ share: Double) -> Int { share >= 1 ? whole : min(Int((share * Double(whole) / 2).rounded()) * 2, whole) }
            let begin = min(even(start), max(whole - 2, 0))
            return (begin, max(even(start + length) - begin, min(2, whole - begin)))
        }
        let (across, down) = (side(x, width, canvasWidth), side(y, height, canvasHeight))
        return PixelRectangle(x: across.0, y: down.0, width: across.1, height: down.1)
    }
}
