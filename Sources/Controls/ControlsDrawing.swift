import KioskPlayback
import KioskVocabulary

/// Draws parts as surfaces. It draws each part once, as long as it is visible, and frees surfaces that have gone. While no part is visible,
/// it keeps the last surfaces for the next time. Belongs to one thread.
struct ControlsDrawing: ~Copyable {
    private let theme: Theme
    private let typesetter: Typesetter
    private let shelf: ShelfDrawing
    private var surfaces: [Part: Surface] = [:]
    /// The number of surfaces drawn so far.
    private(set) var drawn = 0

    /// Loads fonts; the first time, or after an installation of fonts, that can take a second.
    init(_ theme: Theme) {
        self.theme = theme
        typesetter = Typesetter(font: theme.font)
        shelf = ShelfDrawing(theme: theme)
    }

    /// Whether it draws as `other` has it.
    func has(_ other: Theme) -> Bool { (other.accent, other.font) == (theme.accent, theme.font) }

    /// Returns the overlay for `parts`, on the screen `geometry`.
    mutating func overlay(_ parts: [PlacedPart], on geometry: ScreenGeometry) -> Overlay {
        if !parts.isEmpty {
            let seen = Set(parts.map(\.part))
            let isShelf = seen.contains { if case .shelf = $0 { true } else { false } }
            surfaces = surfaces.filter { seen.contains($0.key) || isShelf && $0.key.standsForCards }
        }
        let pictures = parts.map { placed in
            Overlay.Picture(surface: surface(placed.part), x: placed.x, y: placed.y, alpha: placed.alpha)
        }
        return Overlay(pictures: pictures, width: geometry.width, height: geometry.height)
    }

    /// Draws parts in advance, except for the scrims. They are quick to fill but large: 4 MB on a 4K screen, which a box without touches
    /// can save.
    mutating func prepare(_ parts: [PlacedPart]) {
        for placed in parts {
            if case .scrim = placed.part { continue }
            _ = surface(placed.part)
        }
    }

    /// The bytes of the surfaces in memory.
    var byteCount: Int { surfaces.values.reduce(0) { $0 + $1.width * $1.height * 4 } }

    private mutating func surface(_ part: Part) -> Surface {
        if let surface = surfaces[part] { return surface }
        let surface = draw(part)
        surfaces[part] = surface
        drawn += 1
        return surface
    }

    /// Draws one part.
    func draw(_ part: Part) -> Surface {
        switch part {
        case .scrim(let width, let height, let isTop):
            return Canvas.shade(width, height, isTop ? 0.55 : 0.72, fromTop: isTop)
        case .text(let text):
            return Canvas.surface(text.width, text.height) { canvas in
                typesetter.draw(text, on: canvas)
            }
        case .slider(let slider):
            return Canvas.surface(slider.width, slider.height) { canvas in draw(slider, on: canvas) }
        case .button(let icon, let diameter, let isPressed):
            return Canvas.surface(diameter, diameter) { canvas in
                let middle = Double(diameter) / 2
                canvas.disc(middle, middle, middle, .black(0.42))
                if isPressed { canvas.disc(middle, middle, middle, .white(0.28)) }
                draw(icon, at: middle, middle, radius: Double(diameter) * (isPressed ? 0.25 : 0.275), on: canvas)
            }
        case .icon(let icon, let size, let area, let isPressed):
            return Canvas.surface(area, area) { canvas in
                let middle = Double(area) / 2
                if isPressed { canvas.disc(middle, middle, middle, .white(0.28)) }
                draw(icon, at: middle, middle, radius: Double(size) / 2, on: canvas)
            }
        case .spinner(let diameter, let wheel, let step):
            return Canvas.surface(diameter, diameter) { canvas in
                let middle = Double(diameter) / 2
                canvas.disc(middle, middle, middle, .black(0.35))
                canvas.wheel(middle, middle, radius: Double(wheel) / 2, step: step)
            }
        case .mediaSelection(let picture): return picture.draw(theme, typesetter)
        case .shelf(let part): return shelf.draw(part, typesetter)
        case .toast(let width, let height, let level, let icon):
            return Canvas.surface(width, height) { canvas in drawToast(width, height, level, icon, on: canvas) }
        case .notice(let width, let height, let text):
            return Canvas.surface(width, height) { canvas in
                canvas.rounded(0, 0, Double(width), Double(height), Double(height) / 2, .black(0.65))
                let label = Part.Text(text: text, size: Int(Double(height) * 0.4), isBold: true, width: width - height, height: height)
                typesetter.drawCentered(label, x: Double(width) / 2, y: Double(height) / 2, isShaded: false, on: canvas)
            }
        case .preview(let width, let height, let border, let radius, let size, let text, let picture):
            return Canvas.surface(width, height) { canvas in
                canvas.rounded(0, 0, Double(width), Double(height), Double(radius), border > 0 ? .white(1) : .black(0.55))
                let inner = (width: width - 2 * border, height: height - 2 * border)
                if let picture {
                    canvas.picture(picture.surface, border, border, inner.width, inner.height, radius: Double(radius - border))
                }
                let label = Part.Text(text: text, size: size, isBold: true, width: inner.width, height: Int(Double(size) * 1.6))
                let y = picture == nil ? height / 2 : height - border - Int(Double(size) * 0.8)
                typesetter.drawCentered(label, x: Double(width) / 2, y: Double(y), isShaded: picture != nil, on: canvas)
            }
        }
    }

    private func draw(_ slider: Part.Slider, on canvas: borrowing Canvas) {
        let (left, y, bar) = (Double(slider.inset), Double(slider.height) / 2, Double(slider.bar))
        func line(_ length: Int, _ color: Paint) {
            canvas.rounded(left, y - bar / 2, max(Double(length), bar), bar, bar / 2, color)
        }
        line(slider.width - 2 * slider.inset, .white(0.28))
        if slider.loaded > slider.played { line(slider.loaded, .white(0.45)) }
        if slider.played > 0 { line(slider.played, slider.isAccented ? .color(theme.accent, 1) : .white(1)) }
        if slider.knob > 0 { canvas.disc(left + Double(slider.played), y, Double(slider.knob) / 2, .white(1)) }
    }

    private func drawToast(_ width: Int, _ height: Int, _ level: Int, _ icon: Icon, on canvas: borrowing Canvas) {
        let (w, h) = (Double(width), Double(height))
        canvas.rounded(0, 0, w, h, h / 2, .black(0.55))
        draw(icon, at: h * 0.62, h / 2, radius: h * 0.2, on: canvas)
        let (left, right, bar) = (h * 1.08, w - h * 0.54, h * 0.092)
        canvas.rounded(left, h / 2 - bar / 2, right - left, bar, bar / 2, .white(0.3))
        if level > 0 {
            canvas.rounded(left, h / 2 - bar / 2, max((right - left) * Double(min(level, 100)) / 100, bar), bar, bar / 2, .white(1))
        }
    }

    private func draw(_ icon: Icon, at x: Double, _ y: Double, radius: Double, on canvas: borrowing Canvas) {
        canvas.draw(icon, x, y, radius)
        if case .skip(_, let seconds?) = icon {
            let text = "\(seconds)"
            let size = Int((radius * (text.count > 2 ? 0.66 : 0.86)).rounded())
            let label = Part.Text(text: text, size: max(size, 1), isBold: true, width: Int(radius * 2), height: Int(radius * 2))
            typesetter.drawCentered(label, x: x, y: y, isShaded: false, on: canvas)
        }
    }
}
