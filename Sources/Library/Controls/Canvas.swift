import KioskControlsCore
import KioskPlatform
import KioskPlayback
public import KioskPlayer
import KioskVocabulary

/// A colour in sRGB with an opacity, 0…1 each; other numbers are clamped.
public struct Color: Hashable, Sendable {
    /// The parts of the colour.
    public var red: Double, green: Double, blue: Double
    /// 0 is invisible, 1 hides what is behind.
    public var opacity: Double

    /// Creates a colour from its parts.
    public init(red: Double, green: Double, blue: Double, opacity: Double = 1) {
        (self.red, self.green, self.blue, self.opacity) = (red, green, blue, opacity)
    }

    /// Usual colours.
    public static let black = Color(red: 0, green: 0, blue: 0), white = Color(red: 1, green: 1, blue: 1)
    /// Nothing.
    public static let clear = Color(red: 0, green: 0, blue: 0, opacity: 0)

    /// Returns the colour with another opacity.
    public func opacity(_ opacity: Double) -> Color { Color(red: red, green: green, blue: blue, opacity: opacity) }

    /// Creates the colour of a theme.
    init(_ color: KioskVocabulary.Color) {
        self.init(red: Double(color.red) / 255, green: Double(color.green) / 255, blue: Double(color.blue) / 255)
    }

    var engine: KioskVocabulary.Color {
        func part(_ value: Double) -> UInt8 { UInt8(saturating: value * 255) }
        return KioskVocabulary.Color(red: part(red), green: part(green), blue: part(blue))
    }

    var paint: Paint { .color(engine, opacity.isFinite ? min(max(opacity, 0), 1) : 0) }
}

/// A drawing of shapes, texts and bitmaps, for `VideoOutput.overlay`:
///
///     var canvas = Canvas(width: 400, height: 80)
///     canvas.fill(.rectangle(x: 0, y: 0, width: 400, height: 80, cornerRadius: 16), with: .black.opacity(0.6))
///     canvas.draw("Floor 3", x: 200, y: 20, font: .init(size: 32), alignment: .center)
///     display.overlay = [OverlayPicture(canvas.bitmap(), x: 40, y: 40)]
///
/// A value: it lists what to draw, and ``bitmap()`` draws. Lengths are pixels from the top left corner. Numbers beyond ±100 000 are clamped,
/// and such as are none count as zero.
public struct Canvas: Sendable {
    /// A point.
    public struct Point: Hashable, Sendable {
        /// Pixels from the left edge, and from the top.
        public var x: Double, y: Double

        /// Creates a point.
        public init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
    }

    /// A shape to fill, or to draw a line along.
    public enum Shape: Hashable, Sendable {
        /// A rectangle, with round corners if the radius is above zero.
        case rectangle(x: Double, y: Double, width: Double, height: Double, cornerRadius: Double = 0)
        /// A circle around a point.
        case circle(x: Double, y: Double, radius: Double)
        /// A straight line; it can only be stroked.
        case line(from: Point, to: Point)
        /// Straight lines between points, and back to the first.
        case polygon([Point])
    }

    /// A font.
    public struct Font: Hashable, Sendable {
        /// A family, or several with commas between them, as fontconfig knows them. If a font lacks a character, another one has it.
        public var family: String
        /// Pixels from the top of a line to the next one, nearly.
        public var size: Double
        /// Whether it is semibold.
        public var isBold: Bool

        /// Creates a font; that of the controls without a family.
        public init(_ family: String = PlayerControls.Configuration.defaultFont, size: Double, isBold: Bool = false) {
            (self.family, self.size, self.isBold) = (family, size, isBold)
        }
    }

    /// The place of a text at its `x`, and that of lines to each other.
    public enum TextAlignment: Hashable, Sendable {
        /// `x` is the left end, the middle, the right end.
        case leading, center, trailing
    }

    /// Pixels across and down.
    public let width: Int, height: Int
    private var steps: [@Sendable (borrowing KioskControlsCore.Canvas) -> Void] = []

    /// Creates a canvas on which nothing is drawn. Sides are clamped to 1…16384 pixels.
    public init(width: Int, height: Int) { (self.width, self.height) = (min(max(width, 1), 16384), min(max(height, 1), 16384)) }

    /// Fills all of it.
    public mutating func fill(_ color: Color) {
        fill(.rectangle(x: 0, y: 0, width: Double(width), height: Double(height)), with: color)
    }

    /// Fills a shape.
    public mutating func fill(_ shape: Shape, with color: Color) {
        steps.append { canvas in
            shape.add(to: canvas)
            canvas.fillPath(color.paint)
        }
    }

    /// Draws a line along a shape, with round ends and corners. The shape is the middle of the line.
    public mutating func stroke(_ shape: Shape, with color: Color, lineWidth: Double = 1) {
        steps.append { canvas in
            shape.add(to: canvas)
            canvas.strokePath(color.paint, width: lineWidth)
        }
    }

    /// Draws a text in one or several lines.
    ///
    /// - Parameters:
    /// - x: the left end of the text, its middle or its right end, by `alignment`. With a `width`: the left end of that.
    /// - y: the top of the first line.
    /// - width: breaks lines that are longer, and aligns within it; nil breaks only at the text's own line ends.
    public mutating func draw(
        _ text: String, x: Double, y: Double, width: Double? = nil, font: Font, color: Color = .white,
        alignment: TextAlignment = .leading
    ) {
        let block = Self.block(text, font, width, alignment)
        steps.append { canvas in block.draw(color.paint, x, y, on: canvas) }
    }

    /// Draws a bitmap, in its own size if none is given.
    public mutating func draw(_ bitmap: Bitmap, x: Double, y: Double, width: Double? = nil, height: Double? = nil, opacity: Double = 1) {
        let (width, height) = (width ?? Double(bitmap.width), height ?? Double(bitmap.height))
        let opacity = opacity.isFinite ? min(max(opacity, 0), 1) : 0
        steps.append { canvas in canvas.draw(bitmap.surface, x, y, width, height, opacity: opacity) }
    }

    /// Returns the size of a text in pixels; zero on a machine without fonts. The first text of a process looks up the fonts: that can take a
    /// second.
    public static func size(of text: String, width: Double? = nil, font: Font) -> (width: Double, height: Double) {
        block(text, font, width, .leading).measure
    }

    /// Returns the drawing. From any thread.
    public func bitmap() -> Bitmap {
        Bitmap(KioskControlsCore.Canvas.surface(width, height) { canvas in for step in steps { step(canvas) } })
    }

    private static func block(_ text: String, _ font: Font, _ width: Double?, _ alignment: TextAlignment) -> TextBlock {
        var block = TextBlock(text, font: font.family, size: font.size, width: width)
        block.isBold = font.isBold
        block.alignment =
            switch alignment {
            case .leading: .leading
            case .center: .center
            case .trailing: .trailing
            }
        return block
    }
}

extension Canvas.Shape {
    fileprivate func add(to canvas: borrowing KioskControlsCore.Canvas) {
        switch self {
        case .rectangle(let x, let y, let width, let height, let radius): canvas.addRectangle(x, y, width, height, radius: radius)
        case .circle(let x, let y, let radius): canvas.addCircle(x, y, radius)
        case .line(let a, let b): canvas.addLines([(a.x, a.y), (b.x, b.y)], isClosed: false)
        case .polygon(let points): canvas.addLines(points.map { ($0.x, $0.y) }, isClosed: true)
        }
    }
}
