import KioskPlayback
import KioskVocabulary

/// The screen that is touched: how many pixels it has, as a viewer sees them, and how many of them make a millimetre.
package struct ScreenGeometry: Hashable, Sendable {
    /// Pixels across and down, after the rotation; at least 1.
    package let width: Int, height: Int
    /// Pixels a millimetre.
    package let density: Double

    /// Text below this is not legible, whatever the screen: a title of 5.2 mm is then 17 px high, times are 14 px. Where the display has fewer
    /// pixels a millimetre (a 65" television at 1080p has 1.3), everything is drawn larger than its millimetres.
    static let leastDensity = 3.3
    /// What has to fit, in millimetres. A smaller panel has everything drawn smaller than its millimetres.
    static let leastWidth = 60.0, leastHeight = 50.0

    /// The screen of a display.
    ///
    /// - Parameters:
    ///   - width: pixels across as a viewer sees them; likewise `height`. Less than 1 counts as 1.
    ///   - physicalWidth: millimetres across as a viewer sees them; likewise `physicalHeight`. nil where the display does not say; then it is
    ///     taken for one of the usual size of its resolution (``assumedDiagonal(pixels:)``).
    package init(width: Int, height: Int, physicalWidth: Double?, physicalHeight: Double?) {
        (self.width, self.height) = (max(1, width), max(1, height))
        let (across, down) = (Double(self.width), Double(self.height))
        let diagonal: Double
        if let physicalWidth, let physicalHeight, physicalWidth > 0, physicalHeight > 0 {
            diagonal = (physicalWidth * physicalWidth + physicalHeight * physicalHeight).squareRoot()
        } else {
            diagonal = Self.assumedDiagonal(pixels: self.width * self.height)
        }
        let density = (across * across + down * down).squareRoot() / diagonal
        let most = min(across / Self.leastWidth, down / Self.leastHeight)
        self.density = min(max(density.isFinite ? density : 0, Self.leastDensity), most)
    }

    /// The screen of a display in `mode`, whose picture is rotated by `rotation` on it.
    package init(mode: DisplayMode, rotation: Rotation) {
        let (width, height) = (mode.width, mode.height)
        let (across, down) = (mode.physicalWidth, mode.physicalHeight)
        self =
            rotation.swapsAxes
            ? ScreenGeometry(width: height, height: width, physicalWidth: down, physicalHeight: across)
            : ScreenGeometry(width: width, height: height, physicalWidth: across, physicalHeight: down)
    }

    /// The usual diagonal of a display with so many pixels, in millimetres: built-in panels of 7" up to 1024x600, of 10" up to 1366x768,
    /// monitors of 24" up to 1920x1200, and televisions of 43" beyond.
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

    /// Whole pixels of a length in millimetres; at least 1.
    func pixels(_ millimetres: Double) -> Int { max(1, pixel(millimetres)) }

    /// Millimetres across and down.
    var millimetres: (width: Double, height: Double) { (Double(width) / density, Double(height) / density) }

    /// The pixel at a length in millimetres.
    func pixel(_ millimetres: Double) -> Int { Int((millimetres * density).rounded()) }

    /// The pixels of a rectangle in millimetres; at least one across and down.
    func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> PixelRectangle {
        let (left, top) = (pixel(x), pixel(y))
        return PixelRectangle(x: left, y: top, width: max(1, pixel(x + width) - left), height: max(1, pixel(y + height) - top))
    }

    /// The largest size of that shape that fits, even, and its place in the middle.
    func fit(_ width: Int, _ height: Int) -> (x: Int, y: Int, width: Int, height: Int) {
        guard width > 0, height > 0 else { return (0, 0, 2, 2) }
        let scale = min(Double(self.width) / Double(width), Double(self.height) / Double(height))
        let (w, h) = (max(2, Int(Double(width) * scale) / 2 * 2), max(2, Int(Double(height) * scale) / 2 * 2))
        return ((self.width - w) / 2, (self.height - h) / 2, w, h)
    }
}
