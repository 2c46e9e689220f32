import CCairo
import KioskPlayback
import KioskVocabulary

/// A sign on the shelf.
enum ShelfSign: Hashable, Sendable {
    case search, cross, check, film, note, still, warning, portrait, sound, erase, grid
}

// The signs of the shelf, in a circle of `radius` around a place, and shapes that only it draws.
extension Canvas {
    /// Fills all of it.
    func fill(_ color: Color) {
        set(.color(color, 1))
        unsafe cairo_paint(raw)
    }

    /// A line along the inside of a rounded rectangle.
    func ring(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ radius: Double, _ line: Double, _ paint: Paint) {
        set(paint)
        roundedPath(x + line / 2, y + line / 2, width - line, height - line, radius - line / 2)
        unsafe cairo_set_line_width(raw, line)
        unsafe cairo_stroke(raw)
    }

    func draw(_ sign: ShelfSign, _ x: Double, _ y: Double, _ r: Double, _ paint: Paint) {
        set(paint)
        unsafe cairo_set_line_cap(raw, CAIRO_LINE_CAP_ROUND)
        unsafe cairo_set_line_join(raw, CAIRO_LINE_JOIN_ROUND)
        unsafe cairo_set_line_width(raw, r * 0.26)
        unsafe cairo_new_path(raw)
        func line(_ points: (Double, Double)...) {
            for (index, point) in points.enumerated() {
                if index == 0 {
                    unsafe cairo_move_to(raw, x + point.0 * r, y + point.1 * r)
                } else {
                    unsafe cairo_line_to(raw, x + point.0 * r, y + point.1 * r)
                }
            }
            unsafe cairo_stroke(raw)
        }
        func frame(_ halfWidth: Double, _ halfHeight: Double) {
            roundedPath(x - halfWidth * r, y - halfHeight * r, 2 * halfWidth * r, 2 * halfHeight * r, r * 0.2)
            unsafe cairo_stroke(raw)
        }
        switch sign {
        case .search:
            unsafe cairo_arc(raw, x - r * 0.15, y - r * 0.15, r * 0.75, 0, 2 * .pi)
            unsafe cairo_stroke(raw)
            line((0.4, 0.4), (1, 1))
        case .cross:
            line((-1, -1), (1, 1))
            line((-1, 1), (1, -1))
        case .check: line((-0.9, 0), (-0.25, 0.7), (0.95, -0.7))
        case .film:
            frame(1.25, 0.9)
            line((-0.65, -0.9), (-0.65, 0.9))
            line((0.65, -0.9), (0.65, 0.9))
            for side in [-0.95, 0.95] { for row in [-0.3, 0.3] { line((side - 0.12, row), (side + 0.12, row)) } }
        case .note:
            line((-0.3, 0.75), (-0.3, -0.9), (0.8, -1.1), (0.8, 0.5))
            disc(x - r * 0.6, y + r * 0.75, r * 0.36, paint)
            disc(x + r * 0.5, y + r * 0.55, r * 0.36, paint)
        case .still:
            frame(1.2, 0.95)
            line((-0.9, 0.55), (-0.3, -0.15), (0.1, 0.3), (0.4, 0), (0.9, 0.55))
            disc(x + r * 0.5, y - r * 0.45, r * 0.18, paint)
        case .warning:
            line((0, -1), (1.1, 0.9), (-1.1, 0.9), (0, -1))
            line((0, -0.3), (0, 0.2))
            disc(x, y + r * 0.56, r * 0.14, paint)
        case .portrait: frame(0.6, 0.95)
        case .sound:
            unsafe cairo_move_to(raw, x - r, y - r * 0.35)
            for point in [(-0.5, -0.35), (0.1, -0.85), (0.1, 0.85), (-0.5, 0.35), (-1, 0.35)] {
                unsafe cairo_line_to(raw, x + point.0 * r, y + point.1 * r)
            }
            unsafe cairo_close_path(raw)
            unsafe cairo_fill(raw)
            unsafe cairo_arc(raw, x, y, r * 0.65, -0.8, 0.8)
            unsafe cairo_stroke(raw)
        case .erase:
            line((-1.5, 0), (-0.7, -0.9), (1.2, -0.9), (1.2, 0.9), (-0.7, 0.9), (-1.5, 0))
            line((-0.2, -0.4), (0.6, 0.4))
            line((-0.2, 0.4), (0.6, -0.4))
        case .grid:
            for row in [-0.9, 0.1] {
                for column in [-0.9, 0.1] { rounded(x + column * r, y + row * r, r * 0.8, r * 0.8, r * 0.18, paint) }
            }
        }
    }
}
