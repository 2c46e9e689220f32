import CKioskCairo
import CKioskQRCode
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Logging

/// Draws each overlay as one surface: text with pango, pictures at their size, QR codes with libqrencode. Belongs to one thread.
final class OverlayDrawing {
    private final class Font {
        let typesetter: Typesetter
        init(_ name: String) { typesetter = Typesetter(font: name) }
    }

    private var fonts: [String: Font] = [:]
    /// Whether the log has said that libqrencode is missing.
    private var hasSaid = false

    /// Draws a text with lines `height` pixels high, no wider than `width`; nil for blank text or without a font.
    func text(_ text: String, _ look: OverlayLook, height: Int, width: Int) -> Surface? {
        if text.allSatisfy(\.isWhitespace) { return nil }
        // A line is a quarter higher than the font.
        let size = max(Double(height) * 0.8, 4)
        let edge = look.outline == nil ? 0 : max(1, (size / 16).rounded())
        let padding = look.background == nil ? edge : max(edge, (Double(height) * 0.3).rounded())
        let room = max(Double(width) - 2 * padding, size)
        return unsafe font(look).typesetter.withLines(text, size: size, width: room, alignment: look.anchor.alignment) { layout, drawn in
            let (left, across, down) = drawn
            return Canvas.surface(Int(across + 2 * padding), Int(down + 2 * padding)) { canvas in
                if let background = look.background {
                    let opacity = Double(look.backgroundOpacity) / 100
                    canvas.rounded(
                        0, 0, Double(canvas.width), Double(canvas.height), (padding * 0.6).rounded(), .color(background, opacity))
                }
                unsafe draw(layout, padding - left, padding, edge, look, on: canvas)
            }
        }
    }

    // MARK: Tickers

    /// Returns the height of a ticker's strip whose lines are `height` pixels high.
    func tickerHeight(_ look: OverlayLook, height: Int) -> Int { height + 2 * Int((Double(height) * 0.15).rounded()) }

    /// Draws the background of a ticker; transparent if it has none.
    func tickerBackground(_ ticker: Ticker) -> Surface {
        Canvas.surface(ticker.place.width, ticker.place.height) { canvas in
            guard let background = ticker.look.background else { return }
            canvas.set(.color(background, Double(ticker.look.backgroundOpacity) / 100))
            unsafe cairo_paint(canvas.raw)
        }
    }

    /// Draws the next tile of a ticker, and returns the length of its run; nil if there is no font.
    func tile(_ ticker: Ticker, of need: TickerStrip.Need) -> (Surface, length: Int)? {
        let size = max(Double(ticker.size) * 0.8, 4)
        let edge = ticker.look.outline == nil ? 0 : max(1, (size / 16).rounded())
        return unsafe font(ticker.look).typesetter.withLine(Self.run(need.text, ticker.isMirrored), size: size) {
            layout, length, baseline in
            let width = min(TickerStrip.tileWidth, length - need.offset)
            // All letters stand on one line, whatever their fonts.
            let y = Double(ticker.place.height) / 2 + size * 0.36 - baseline
            let x = ticker.isMirrored ? width + need.offset - length : -need.offset
            let surface = Canvas.surface(width, ticker.place.height) { canvas in
                unsafe draw(layout, Double(x), y.rounded(), edge, ticker.look, on: canvas)
            }
            return (surface, length)
        }
    }

    /// Returns a text and the separator after it. Marks without a width keep the separator at the end in the ticker's reading direction.
    private static func run(_ text: String, _ isMirrored: Bool) -> String {
        let mark = isMirrored ? "\u{200f}" : "\u{200e}"
        return "\(mark)\(text)\(mark)\u{2003}•\u{2003}"
    }

    /// Returns whether the first letter with a direction belongs to a script that is read from right to left.
    func isReadFromTheRight(_ text: String, _ look: OverlayLook) -> Bool { font(look).typesetter.isReadFromTheRight(text) }

    private func font(_ look: OverlayLook) -> Font {
        let font = fonts[look.font] ?? Font(look.font)
        fonts[look.font] = font
        return font
    }

    /// Draws letters with their outline.
    private func draw(
        _ layout: OpaquePointer, _ x: Double, _ y: Double, _ edge: Double, _ look: OverlayLook, on canvas: borrowing Canvas
    ) {
        unsafe cairo_move_to(canvas.raw, x, y)
        if let outline = look.outline {
            unsafe pango_cairo_layout_path(canvas.raw, layout)
            canvas.set(.color(outline, 1))
            unsafe cairo_set_line_width(canvas.raw, 2 * edge)
            unsafe cairo_set_line_join(canvas.raw, CAIRO_LINE_JOIN_ROUND)
            unsafe cairo_stroke(canvas.raw)
            unsafe cairo_move_to(canvas.raw, x, y)
        }
        canvas.set(.color(look.color, 1))
        unsafe pango_cairo_show_layout(canvas.raw, layout)
    }

    // MARK: Pictures

    /// Draws a picture `height` pixels high, or lower if it would be wider than `width`. Its pixels are premultiplied.
    func picture(_ picture: SmallPicture, height: Int, width: Int) -> Surface? {
        guard picture.width > 0, picture.height > 0, height > 0, width > 0 else { return nil }
        let scale = min(Double(height) / Double(picture.height), Double(width) / Double(picture.width))
        let size = (
            max(1, Int((Double(picture.width) * scale).rounded())), max(1, Int((Double(picture.height) * scale).rounded()))
        )
        if size == (picture.width, picture.height) { return Surface(width: size.0, height: size.1, pixels: picture.pixels) }
        return Canvas.surface(size.0, size.1) { canvas in
            unsafe picture.pixels.withUnsafeBufferPointer { pixels in
                // cairo only reads from the source surface.
                let memory = unsafe UnsafeMutableRawPointer(mutating: pixels.baseAddress!).assumingMemoryBound(to: UInt8.self)
                let source = unsafe cairo_image_surface_create_for_data(
                    memory, CAIRO_FORMAT_ARGB32, Int32(picture.width), Int32(picture.height), Int32(picture.width * 4))
                unsafe cairo_scale(canvas.raw, Double(size.0) / Double(picture.width), Double(size.1) / Double(picture.height))
                unsafe cairo_set_source_surface(canvas.raw, source, 0, 0)
                unsafe cairo_pattern_set_filter(cairo_get_source(canvas.raw), CAIRO_FILTER_BEST)
                // Otherwise cairo mixes the edges with the transparent area beyond them.
                unsafe cairo_pattern_set_extend(cairo_get_source(canvas.raw), CAIRO_EXTEND_PAD)
                unsafe cairo_paint(canvas.raw)
                canvas.set(.black(1))
                unsafe cairo_surface_destroy(source)
            }
        }
    }

    /// Draws a QR code of about `height` pixels, with the margin of four modules that readers need. Each module is a whole number of
    /// pixels. Returns nil if the text is too long for a code, or if libqrencode is not installed.
    func code(_ text: String, height: Int) -> Surface? {
        var modules = [UInt8](repeating: 0, count: Int(KIOSK_QR_LONGEST_SIDE * KIOSK_QR_LONGEST_SIDE))
        let side = unsafe modules.withUnsafeMutableBufferPointer { unsafe Int(kiosk_qr_encode(text, $0.baseAddress)) }
        guard side > 0 else {
            if kiosk_qr_is_available() == 0, !hasSaid {
                hasSaid = true
                log.warning("libqrencode is not installed: kiosk shows no QR codes; install libqrencode4")
            }
            return nil
        }
        let whole = side + 8
        let scale = max(1, height / whole)
        return Canvas.surface(whole * scale, whole * scale) { canvas in
            canvas.fill(.white)
            canvas.set(.black(1))
            for y in 0..<side {
                for x in 0..<side where modules[y * side + x] & 1 == 1 {
                    unsafe cairo_rectangle(
                        canvas.raw, Double((x + 4) * scale), Double((y + 4) * scale), Double(scale), Double(scale))
                }
            }
            unsafe cairo_fill(canvas.raw)
        }
    }
}

extension OverlayAnchor {
    /// The alignment of lines to each other.
    fileprivate var alignment: UInt32 {
        switch shares.x {
        case 0: kPangoAlignLeft
        case 1: kPangoAlignRight
        default: kPangoAlignCenter
        }
    }
}
