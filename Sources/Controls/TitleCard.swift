import KioskPlayback
import KioskVocabulary

/// A card with a title and a smaller line below, for the beginning of a film.
package enum TitleCard {
    /// Draws a card of `width` x `height` pixels. Makes a line smaller if it is too long. Without any font there is no text, and the log
    /// says so.
    package static func draw(
        _ text: String, subtitle: String? = nil, width: Int, height: Int, font: String, background: Color, foreground: Color
    ) -> Surface {
        let typesetter = Typesetter(font: font)
        let size = min(height / 8, width / 10)
        let middle = Double(height) / 2
        func line(_ text: String, size: Int, isBold: Bool) -> Part.Text {
            Part.Text(text: text, size: max(size, 8), isBold: isBold, width: width * 17 / 20, height: height)
        }
        var lines = [(text: line(text, size: size, isBold: true), y: subtitle == nil ? middle : middle - Double(size) * 0.45)]
        if let subtitle { lines.append((line(subtitle, size: size / 2, isBold: false), middle + Double(size) * 0.7)) }
        let letters = Canvas.surface(width, height) { canvas in
            for line in lines { typesetter.drawCentered(line.text, x: Double(width) / 2, y: line.y, isShaded: false, on: canvas) }
        }
        // The letters are white; only their coverage of a pixel counts.
        return Surface(
            width: letters.width, height: letters.height,
            pixels: letters.pixels.map { pixel in
                let alpha = Int(pixel >> 24)
                func mix(_ back: UInt8, _ front: UInt8) -> UInt32 { UInt32((Int(back) * (255 - alpha) + Int(front) * alpha + 127) / 255) }
                return 0xff00_0000 | mix(background.red, foreground.red) << 16 | mix(background.green, foreground.green) << 8
                    | mix(background.blue, foreground.blue)
            })
    }
}
