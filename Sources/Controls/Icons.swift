import CCairo

// The signs on the buttons, white. All are drawn in a circle of `radius` around `x`, `y`.
extension Canvas {
    func draw(_ icon: Icon, at x: Double, _ y: Double, radius: Double) {
        set(.white(1))
        unsafe cairo_set_line_join(raw, CAIRO_LINE_JOIN_ROUND)
        unsafe cairo_set_line_cap(raw, CAIRO_LINE_CAP_ROUND)
        switch icon {
        case .play: outline(x + radius * 0.06, y, radius, pen: radius * 0.22, (-0.45, -0.8), (0.85, 0), (-0.45, 0.8))
        case .pause:
            for side in [-0.42, 0.42] {
                rounded(x + side * radius - radius * 0.17, y - radius * 0.8, radius * 0.34, radius * 1.6, radius * 0.12, .white(1))
            }
        case .replay: circle(x, y, radius: radius * 0.86, width: radius * 0.22, forward: true)
        case .skip(let forward, _): circle(x, y, radius: radius, width: radius * 0.19, forward: forward)
        case .previous: toItem(x, y, radius, isNext: false)
        case .next: toItem(x, y, radius, isNext: true)
        case .copying:
            rounded(x - radius * 0.1, y - radius * 0.95, radius * 0.2, radius * 0.8, radius * 0.1, .white(1))
            outline(x, y, radius, pen: radius * 0.16, (-0.45, -0.2), (0.45, -0.2), (0, 0.4))
            rounded(x - radius * 0.75, y + radius * 0.75, radius * 1.5, radius * 0.2, radius * 0.1, .white(1))
        case .shelf: draw(.grid, x, y, radius, .white(1))
        case .speaker(let waves, let isMuted): speaker(x, y, radius, isMuted ? 0 : waves, isCrossed: isMuted)
        }
    }

    /// A filled outline with round corners: `points` around (`x`, `y`), in units of `radius`, are the middles of a pen `pen` wide.
    private func outline(_ x: Double, _ y: Double, _ radius: Double, pen: Double, _ points: (Double, Double)...) {
        unsafe cairo_new_path(raw)
        for point in points { unsafe cairo_line_to(raw, x + point.0 * radius, y + point.1 * radius) }
        unsafe cairo_close_path(raw)
        unsafe cairo_set_line_width(raw, pen)
        unsafe cairo_fill_preserve(raw)
        unsafe cairo_stroke(raw)
    }

    /// An arrow that goes once round and ends at the top, with its head in the gap.
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

    /// A triangle that touches a bar.
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
