import KioskPlayback
import KioskVocabulary

/// The screen as a viewer sees it: its size in pixels, and the pixels per millimetre.
package struct ScreenGeometry: Hashable, Sendable {
    /// Pixels across and down, after the rotation; at least 1.
    package let width: Int, height: Int
    /// Pixels per millimetre.
    package let density: Double

    /// The density below which text is not legible, whatever the screen. A title of 5.2 mm is then 17 px high, times are 14 px. A display
    /// with fewer pixels per millimetre shows everything larger than its millimetres (a 65" television at 1080p has 1.3).
    static let leastDensity = 3.3
    /// The size that has to fit, in millimetres. A smaller panel shows everything smaller than its millimetres.
    static let leastWidth = 60.0, leastHeight = 50.0

    /// Creates the screen of a display.
    ///
    /// - Parameters:
    ///   - width: pixels across as a viewer sees them; likewise `height`. Less than 1 counts as 1.
    ///   - physicalWidth: millimetres across as a viewer sees them; likewise `physicalHeight`. nil if the display does not report them:
    ///     assumes the usual size for its resolution (``assumedDiagonal(pixels:)``).
    ///   - scale: how much larger than its millimetres everything is.
    package init(width: Int, height: Int, physicalWidth: Double?, physicalHeight: Double?, scale: Double = 1) {
        (self.width, self.height) = (max(1, width), max(1, height))
        let (across, down) = (Double(self.width), Double(self.height))
        let diagonal: Double
        if let physicalWidth, let physicalHeight, physicalWidth > 0, physicalHeight > 0 {
            diagonal = (physicalWidth * physicalWidth + physicalHeight * physicalHeight).squareRoot()
        } else {
            diagonal = Self.assumedDiagonal(pixels: self.width * self.height)
        }
        let density = (across * across + down * down).squareRoot() / diagonal * scale
        let most = min(across / Self.leastWidth, down / Self.leastHeight)
        self.density = min(max(density.isFinite ? density : 0, Self.leastDensity), most)
    }

    /// Creates the screen of a display in `mode` with its picture rotated by `rotation`.
    package init(mode: DisplayMode, rotation: Rotation, scale: Double = 1) {
        let (width, height) = (mode.width, mode.height)
        let (across, down) = (mode.physicalWidth, mode.physicalHeight)
        self =
            rotation.swapsAxes
            ? ScreenGeometry(width: height, height: width, physicalWidth: down, physicalHeight: across, scale: scale)
            : ScreenGeometry(width: width, height: height, physicalWidth: across, physicalHeight: down, scale: scale)
    }

    /// Returns the usual diagonal in millimetres of a display with this number of pixels. Built-in panels have 7" up to 1024x600 and 10" up
    /// to 1366x768, monitors 24" up to 1920x1200, televisions 43" beyond.
    static func assumedDiagonal(pixels: Int) -> Double {
        let inches =
            switch pixels {
            case ...620_000: 7.0
            case ...1_060_000: 10.1
            case ...2_400_000: 24.0
            default: 43.0
            }
        return inches * 25.4
    }

    /// Returns a length in millimetres in whole pixels; at least 1.
    func pixels(_ millimetres: Double) -> Int { max(1, pixel(millimetres)) }

    /// The width and the height in millimetres.
    var millimetres: (width: Double, height: Double) { (Double(width) / density, Double(height) / density) }

    /// Returns the pixel at a length in millimetres.
    func pixel(_ millimetres: Double) -> Int { Int((millimetres * density).rounded()) }

    /// Returns the pixels of a rectangle in millimetres; at least one across and down.
    func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> PixelRectangle {
        let (left, top) = (pixel(x), pixel(y))
        return PixelRectangle(x: left, y: top, width: max(1, pixel(x + width) - left), height: max(1, pixel(y + height) - top))
    }

    /// Returns the largest even size with this aspect ratio that fits, and its centred place.
    func fit(_ width: Int, _ height: Int) -> (x: Int, y: Int, width: Int, height: Int) {
        guard width > 0, height > 0 else { return (0, 0, 2, 2) }
        let scale = min(Double(self.width) / Double(width), Double(self.height) / Double(height))
        let (w, h) = (max(2, Int(Double(width) * scale) / 2 * 2), max(2, Int(Double(height) * scale) / 2 * 2))
        return ((self.width - w) / 2, (self.height - h) / 2, w, h)
    }
}
