import CKioskCairo
import KioskVocabulary

// Icons. Each is drawn in a circle of radius `r` around `x`, `y`.
extension Canvas {
    func draw(_ icon: Icon, _ x: Double, _ y: Double, _ r: Double, _ paint: Paint = .white(1)) {
        set(paint)
        unsafe cairo_set_line_join(raw, CAIRO_LINE_JOIN_ROUND)
        unsafe cairo_set_line_cap(raw, CAIRO_LINE_CAP_ROUND)
        unsafe cairo_set_line_width(raw, r * 0.26)
        unsafe cairo_new_path(raw)
        func line(_ points: (Double, Double)...) {
            for point in points { unsafe cairo_line_to(raw, x + point.0 * r, y + point.1 * r) }
            unsafe cairo_stroke(raw)
        }
        func frame(_ halfWidth: Double, _ halfHeight: Double) {
            roundedPath(x - halfWidth * r, y - halfHeight * r, 2 * halfWidth * r, 2 * halfHeight * r, r * 0.2)
            unsafe cairo_stroke(raw)
        }
        switch icon {
        case .play: outline(x + r * 0.06, y, r, pen: r * 0.22, (-0.45, -0.8), (0.85, 0), (-0.45, 0.8))
        case .pause:
            for side in [-0.42, 0.42] {
                rounded(x + side * r - r * 0.17, y - r * 0.8, r * 0.34, r * 1.6, r * 0.12, .white(1))
            }
        case .replay: circle(x, y, radius: r * 0.86, width: r * 0.22, forward: true)
        case .skip(let forward, _): circle(x, y, radius: r, width: r * 0.19, forward: forward)
        case .previous: toItem(x, y, r, isNext: false)
        case .next: toItem(x, y, r, isNext: true)
        case .copying:
            rounded(x - r * 0.1, y - r * 0.95, r * 0.2, r * 0.8, r * 0.1, .white(1))
            outline(x, y, r, pen: r * 0.16, (-0.45, -0.2), (0.45, -0.2), (0, 0.4))
            rounded(x - r * 0.75, y + r * 0.75, r * 1.5, r * 0.2, r * 0.1, .white(1))
        case .shelf:
            for row in [-0.9, 0.1] {
                for column in [-0.9, 0.1] { rounded(x + column * r, y + row * r, r * 0.8, r * 0.8, r * 0.18, paint) }
            }
        case .subtitles(let areSeen):
            if areSeen {
                rounded(x - r * 1.2, y - r * 0.95, r * 2.4, r * 1.9, r * 0.3, paint)
                set(.black(0.85))
            } else {
                frame(1.1, 0.85)
            }
            unsafe cairo_set_line_width(raw, r * 0.22)
            line((-0.7, 0.02), (0.15, 0.02))
            line((0.5, 0.02), (0.7, 0.02))
            line((-0.7, 0.45), (-0.5, 0.45))
            line((-0.15, 0.45), (0.7, 0.45))
        case .speech:
            // A bubble with its tail.
            rounded(x - r * 1.2, y - r * 0.95, r * 2.4, r * 1.6, r * 0.35, paint)
            unsafe cairo_move_to(raw, x - r * 0.7, y + r * 0.5)
            unsafe cairo_line_to(raw, x - r * 0.7, y + r * 1.15)
            unsafe cairo_line_to(raw, x + r * 0.05, y + r * 0.5)
            unsafe cairo_close_path(raw)
            unsafe cairo_fill(raw)
            set(.black(0.85))
            unsafe cairo_set_line_width(raw, r * 0.22)
            line((-0.7, -0.42), (0.7, -0.42))
            line((-0.7, 0.1), (0.25, 0.1))
        case .speaker(let waves, let isMuted): speaker(x, y, r, isMuted ? 0 : waves, isCrossed: isMuted)
        case .rotate:
            circle(x, y, radius: r, width: r * 0.19, forward: true)
            unsafe cairo_set_line_width(raw, r * 0.17)
            frame(0.32, 0.5)
        case .back:
            unsafe cairo_set_line_width(raw, r * 0.3)
            line((0.4, -0.95), (-0.5, 0), (0.4, 0.95))
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
        }
    }

    /// Draws a filled outline with round corners. `points` around (`x`, `y`), in units of `radius`, are the centres of a pen `pen` wide.
    private func outline(_ x: Double, _ y: Double, _ radius: Double, pen: Double, _ points: (Double, Double)...) {
        unsafe cairo_new_path(raw)
        for point in points { unsafe cairo_line_to(raw, x + point.0 * radius, y + point.1 * radius) }
        unsafe cairo_close_path(raw)
        unsafe cairo_set_line_width(raw, pen)
        unsafe cairo_fill_preserve(raw)
        unsafe cairo_stroke(raw)
    }

    /// Draws an arrow that goes round once and ends at the top, with its head in the gap.
    private func circle(_ x: Double, _ y: Double, radius: Double, width: Double, forward: Bool) {
        let side = forward ? 1.0 : -1.0
        let top = -Double.pi / 2
        unsafe cairo_set_line_width(raw, width)
        unsafe cairo_new_path(raw)
        if forward {
            unsafe cairo_arc(raw, x, y, radius, top + 0.72, top + 2 * .pi)
        } else {
            unsafe cairo_arc_negative(raw, x, y, radius, top - 0.72, top - 2 * .pi)
        }
        unsafe cairo_stroke(raw)
        outline(x, y, radius, pen: width * 0.4, (side * 0.5, -1), (-side * 0.04, -1.36), (-side * 0.04, -0.64))
    }

    /// Draws a triangle that touches a bar.
    private func toItem(_ x: Double, _ y: Double, _ radius: Double, isNext: Bool) {
        let side = isNext ? 1.0 : -1.0
        outline(x, y, radius, pen: radius * 0.2, (-side * 0.7, -0.66), (side * 0.4, 0), (-side * 0.7, 0.66))
        let bar = radius * 0.24
        rounded(x + side * radius * 0.68 - bar / 2, y - radius * 0.78, bar, radius * 1.56, bar / 2, .white(1))
    }

    private func speaker(_ x: Double, _ y: Double, _ radius: Double, _ waves: Int, isCrossed: Bool) {
        outline(x, y, radius, pen: radius * 0.1, (-0.9, -0.3), (-0.45, -0.3), (0, -0.75), (0, 0.75), (-0.45, 0.3), (-0.9, 0.3))
        unsafe cairo_set_line_width(raw, radius * 0.17)
        for wave in 0..<waves {
            unsafe cairo_new_path(raw)
            unsafe cairo_arc(raw, x, y, radius * (0.45 + 0.4 * Double(wave)), -0.8, 0.8)
            unsafe cairo_stroke(raw)
        }
        guard isCrossed else { return }
        for side in [-1.0, 1.0] {
            unsafe cairo_new_path(raw)
            unsafe cairo_move_to(raw, x + radius * 0.35, y - side * radius * 0.28)
            unsafe cairo_line_to(raw, x + radius * 0.91, y + side * radius * 0.28)
            unsafe cairo_stroke(raw)
        }
    }
}
