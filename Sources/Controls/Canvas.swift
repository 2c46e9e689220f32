import CKioskCairo
import Glibc
import KioskPlayback
import KioskVocabulary

/// A colour to paint with.
package enum Paint {
    case black(Double)
    case white(Double)
    case color(Color, Double)

    fileprivate var parts: (Double, Double, Double, Double) {
        switch self {
        case .black(let alpha): (0, 0, 0, alpha)
        case .white(let alpha): (1, 1, 1, alpha)
        case .color(let color, let alpha): (Double(color.red) / 255, Double(color.green) / 255, Double(color.blue) / 255, alpha)
        }
    }
}

/// A picture under construction, transparent at first. Owns a `cairo_t` and its surface, which uses the memory of the later ``Surface``.
@safe package struct Canvas: ~Copyable {
    let raw: OpaquePointer
    private let target: OpaquePointer
    let width: Int, height: Int

    /// Returns a surface with the drawing of `body`.
    package static func surface(_ width: Int, _ height: Int, _ body: (borrowing Canvas) -> Void) -> Surface {
        let (width, height) = (max(1, width), max(1, height))
        let pixels = unsafe [UInt32](unsafeUninitializedCapacity: width * height) { memory, count in
            unsafe memory.initialize(repeating: 0)
            count = width * height
            let canvas = unsafe Canvas(memory.baseAddress!, width, height)
            body(canvas)
        }
        return Surface(width: width, height: height, pixels: pixels)
    }

    /// Returns black that is darkest at one edge and fades to nothing at the other. The curve is smooth at its end: a linear one would show
    /// its end as an edge.
    static func shade(_ width: Int, _ height: Int, _ alpha: Double, fromTop: Bool) -> Surface {
        let (width, height) = (max(1, width), max(1, height))
        let pixels = unsafe [UInt32](unsafeUninitializedCapacity: width * height) { memory, count in
            for y in 0..<height {
                let part = (Double(y) + 0.5) / Double(height)
                let rest = fromTop ? 1 - part : part
                let opacity = alpha * (0.45 * rest + 0.55 * rest * rest * (3 - 2 * rest))
                unsafe (memory.baseAddress! + y * width).initialize(repeating: UInt32((opacity * 255).rounded()) << 24, count: width)
            }
            count = width * height
        }
        return Surface(width: width, height: height, pixels: pixels)
    }

    private init(_ memory: UnsafeMutablePointer<UInt32>, _ width: Int, _ height: Int) {
        (self.width, self.height) = (width, height)
        unsafe target = unsafe cairo_image_surface_create_for_data(
            UnsafeMutableRawPointer(memory).assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_ARGB32, Int32(width), Int32(height),
            Int32(width * 4))
        unsafe raw = unsafe cairo_create(target)
    }

    deinit {
        unsafe cairo_destroy(raw)
        unsafe cairo_surface_flush(target)
        unsafe cairo_surface_destroy(target)
    }

    // MARK: Shapes

    func set(_ paint: Paint) {
        let (red, green, blue, alpha) = paint.parts
        unsafe cairo_set_source_rgba(raw, red, green, blue, alpha)
    }

    func disc(_ x: Double, _ y: Double, _ radius: Double, _ paint: Paint) {
        set(paint)
        unsafe cairo_new_path(raw)
        unsafe cairo_arc(raw, x, y, radius, 0, 2 * .pi)
        unsafe cairo_fill(raw)
    }

    func rounded(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ radius: Double, _ paint: Paint) {
        set(paint)
        roundedPath(x, y, width, height, radius)
        unsafe cairo_fill(raw)
    }

    /// Draws within a rounded rectangle only.
    func clipped(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ radius: Double, _ body: () -> Void) {
        unsafe cairo_save(raw)
        roundedPath(x, y, width, height, radius)
        unsafe cairo_clip(raw)
        body()
        unsafe cairo_restore(raw)
    }

    /// Fills the whole canvas.
    func fill(_ color: Color) {
        set(.color(color, 1))
        unsafe cairo_paint(raw)
    }

    /// Draws a line along the inside of a rounded rectangle.
    func ring(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ radius: Double, _ line: Double, _ paint: Paint) {
        set(paint)
        roundedPath(x + line / 2, y + line / 2, width - line, height - line, radius - line / 2)
        unsafe cairo_set_line_width(raw, line)
        unsafe cairo_stroke(raw)
    }

    func roundedPath(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ radius: Double) {
        let r = max(0, min(radius, width / 2, height / 2))
        unsafe cairo_new_path(raw)
        unsafe cairo_arc(raw, x + width - r, y + r, r, -.pi / 2, 0)
        unsafe cairo_arc(raw, x + width - r, y + height - r, r, 0, .pi / 2)
        unsafe cairo_arc(raw, x + r, y + height - r, r, .pi / 2, .pi)
        unsafe cairo_arc(raw, x + r, y + r, r, .pi, 1.5 * .pi)
        unsafe cairo_close_path(raw)
    }

    /// Draws a picture in a rounded rectangle, in its own aspect ratio, on a colour.
    func picture(_ surface: Surface, _ x: Int, _ y: Int, _ width: Int, _ height: Int, radius: Double, ground: Color = .black) {
        unsafe cairo_save(raw)
        roundedPath(Double(x), Double(y), Double(width), Double(height), radius)
        unsafe cairo_clip(raw)
        set(.color(ground, 1))
        unsafe cairo_paint(raw)
        let scales = (Double(width) / Double(surface.width), Double(height) / Double(surface.height))
        // If only a thin black line would remain beside the picture, fills the rectangle.
        let isNearly = abs(scales.0 / scales.1 - 1) < 0.03
        let scale = isNearly ? max(scales.0, scales.1) : min(scales.0, scales.1)
        let (drawnWidth, drawnHeight) = (Double(surface.width) * scale, Double(surface.height) * scale)
        unsafe cairo_translate(raw, Double(x) + (Double(width) - drawnWidth) / 2, Double(y) + (Double(height) - drawnHeight) / 2)
        unsafe cairo_scale(raw, scale, scale)
        unsafe surface.pixels.withUnsafeBufferPointer { pixels in
            // cairo only reads from the source surface.
            let memory = unsafe UnsafeMutableRawPointer(mutating: pixels.baseAddress!).assumingMemoryBound(to: UInt8.self)
            let source = unsafe cairo_image_surface_create_for_data(
                memory, CAIRO_FORMAT_ARGB32, Int32(surface.width), Int32(surface.height), Int32(surface.width * 4))
            unsafe cairo_set_source_surface(raw, source, 0, 0)
            unsafe cairo_paint(raw)
            set(.black(1))
            unsafe cairo_surface_destroy(source)
        }
        unsafe cairo_restore(raw)
    }

    /// Draws the rays of a wheel; the ray at `step` of 12 is the brightest.
    func wheel(_ x: Double, _ y: Double, radius: Double, step: Int) {
        unsafe cairo_set_line_cap(raw, CAIRO_LINE_CAP_ROUND)
        unsafe cairo_set_line_width(raw, radius * 0.16)
        for ray in 0..<12 {
            let angle = 2 * Double.pi * Double(ray) / 12 - .pi / 2
            let age = (step - ray + 24) % 12
            set(.white(1 - 0.85 * Double(age) / 11))
            let (dx, dy) = (cos(angle) * radius, sin(angle) * radius)
            unsafe cairo_move_to(raw, x + 0.55 * dx, y + 0.55 * dy)
            unsafe cairo_line_to(raw, x + 0.92 * dx, y + 0.92 * dy)
            unsafe cairo_stroke(raw)
        }
    }
}
