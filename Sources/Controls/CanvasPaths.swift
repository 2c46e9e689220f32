import CKioskCairo
import KioskPlayback
import KioskVocabulary
import Synchronization

// The drawings of applications: paths, pictures and texts. Their numbers are clamped: after a number that is not finite, cairo draws no more.
extension Canvas {
    /// Adds a rectangle with round corners to the path.
    package func addRectangle(_ x: Double, _ y: Double, _ width: Double, _ height: Double, radius: Double) {
        let (x, y, width, height) = (Self.place(x), Self.place(y), max(Self.place(width), 0), max(Self.place(height), 0))
        if radius > 0 {
            roundedPath(x, y, width, height, Self.place(radius))
        } else {
            unsafe cairo_rectangle(raw, x, y, width, height)
        }
    }

    /// Adds a circle to the path.
    package func addCircle(_ x: Double, _ y: Double, _ radius: Double) {
        unsafe cairo_new_sub_path(raw)
        unsafe cairo_arc(raw, Self.place(x), Self.place(y), max(Self.place(radius), 0), 0, 2 * .pi)
        unsafe cairo_close_path(raw)
    }

    /// Adds lines from point to point to the path; `isClosed` if the last one leads to the first point.
    package func addLines(_ points: [(x: Double, y: Double)], isClosed: Bool) {
        unsafe cairo_new_sub_path(raw)
        for point in points { unsafe cairo_line_to(raw, Self.place(point.x), Self.place(point.y)) }
        if isClosed { unsafe cairo_close_path(raw) }
    }

    /// Fills the path, and begins another one.
    package func fillPath(_ paint: Paint) {
        set(paint)
        unsafe cairo_fill(raw)
    }

    /// Draws a line along the path, and begins another one.
    package func strokePath(_ paint: Paint, width: Double) {
        set(paint)
        unsafe cairo_set_line_width(raw, max(Self.place(width), 0))
        unsafe cairo_set_line_cap(raw, CAIRO_LINE_CAP_ROUND)
        unsafe cairo_set_line_join(raw, CAIRO_LINE_JOIN_ROUND)
        unsafe cairo_stroke(raw)
    }

    /// Draws a picture into a rectangle.
    package func draw(_ surface: Surface, _ x: Double, _ y: Double, _ width: Double, _ height: Double, opacity: Double) {
        let scales = (Self.place(width) / Double(surface.width), Self.place(height) / Double(surface.height))
        // cairo cannot invert a scale of nothing.
        guard scales.0 > 1e-4, scales.1 > 1e-4 else { return }
        unsafe cairo_new_path(raw)
        unsafe cairo_save(raw)
        unsafe cairo_translate(raw, Self.place(x), Self.place(y))
        unsafe cairo_scale(raw, scales.0, scales.1)
        unsafe surface.pixels.withUnsafeBufferPointer { pixels in
            // cairo only reads from the source surface.
            let memory = unsafe UnsafeMutableRawPointer(mutating: pixels.baseAddress!).assumingMemoryBound(to: UInt8.self)
            let source = unsafe cairo_image_surface_create_for_data(
                memory, CAIRO_FORMAT_ARGB32, Int32(surface.width), Int32(surface.height), Int32(surface.width * 4))
            unsafe cairo_rectangle(raw, 0, 0, Double(surface.width), Double(surface.height))
            unsafe cairo_clip(raw)
            unsafe cairo_set_source_surface(raw, source, 0, 0)
            // The edge of a picture that is drawn larger does not fade.
            unsafe cairo_pattern_set_extend(cairo_get_source(raw), CAIRO_EXTEND_PAD)
            unsafe cairo_paint_with_alpha(raw, opacity)
            set(.black(1))
            unsafe cairo_surface_destroy(source)
        }
        unsafe cairo_restore(raw)
    }

    /// Returns a number as far as drawings reach.
    private static func place(_ number: Double) -> Double { number.isFinite ? min(max(number, -1e5), 1e5) : 0 }
}

/// A text of an application, in one or several lines.
package struct TextBlock: Hashable, Sendable {
    /// The side at which lines begin.
    package enum Alignment: Hashable, Sendable {
        case leading, center, trailing

        fileprivate var pango: UInt32 {
            switch self {
            case .leading: kPangoAlignLeft
            case .center: kPangoAlignCenter
            case .trailing: kPangoAlignRight
            }
        }
    }

    package var text: String
    /// Families as fontconfig understands them.
    package var font: String
    /// The size of the font in pixels, and the width of lines; nil for lines as long as they are.
    package var size: Double, width: Double?
    package var isBold = false
    package var alignment = Alignment.leading

    package init(_ text: String, font: String, size: Double, width: Double? = nil) {
        // The longest text that anybody reads: pango's time grows with it.
        self.text = String(text.prefix(10_000))
        self.font = font
        self.size = size.isFinite ? min(max(size, 1), 4000) : 1
        self.width = width.map { $0.isFinite ? min(max($0, 1), 1e5) : 1e5 }
    }

    /// Typesetters by font, which load the list of fonts only once. A few: an application has few fonts.
    private static let typesetters = Mutex<[String: SharedTypesetter]>([:])

    private final class SharedTypesetter: @unchecked Sendable {
        // Sendable because its typesetter is used only with `lock` held.
        let typesetter: Typesetter
        let lock = Mutex(())

        init(font: String) { typesetter = Typesetter(font: font) }
    }

    private func withLayout<Result: Sendable>(_ body: (OpaquePointer, (left: Double, width: Double, height: Double)) -> Result) -> Result? {
        let shared = Self.typesetters.withLock { all in
            let shared = all[font] ?? SharedTypesetter(font: font)
            if all.count > 8 { all = [:] }
            all[font] = shared
            return shared
        }
        return shared.lock.withLock { _ in
            unsafe shared.typesetter.withLines(text, size: size, isBold: isBold, width: width, alignment: alignment.pango, body)
        }
    }

    /// The width and the height in pixels; nothing without any font. Blocks while the first text of a process looks up the fonts.
    package var measure: (width: Double, height: Double) { unsafe withLayout { ($1.width, $1.height) } ?? (0, 0) }

    /// Draws it with its top left corner at a place. Without a width, `x` is the middle or the right end of a text that is aligned so.
    package func draw(_ paint: Paint, _ x: Double, _ y: Double, on canvas: borrowing Canvas) {
        guard x.isFinite, y.isFinite, abs(x) < 1e5, abs(y) < 1e5 else { return }
        _ = unsafe withLayout { layout, extents in
            let offset: Double =
                switch alignment {
                case _ where width != nil: 0
                case .leading: 0
                case .center: extents.width / 2
                case .trailing: extents.width
                }
            unsafe canvas.show(layout, paint, x - offset, y)
        }
    }
}

extension Canvas {
    fileprivate func show(_ layout: OpaquePointer, _ paint: Paint, _ x: Double, _ y: Double) {
        set(paint)
        unsafe cairo_move_to(raw, x, y)
        unsafe pango_cairo_show_layout(raw, layout)
        unsafe cairo_new_path(raw)
    }
}
