import CKioskCairo
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The visible part of the list of subtitles and sound, with everything that it depends on. Lengths are pixels.
struct MediaSelectionPicture: Hashable, Sendable {
    /// A line that is at least partly visible.
    struct Line: Hashable, Sendable {
        var text: String
        /// The distance from the picture's top; negative if the line is cut off there.
        var y: Int
        var isHeading = false, isSelected = false, isPressed = false, isFocused = false
    }

    var width: Int, height: Int, lineHeight: Int, millimetre: Double
    var lines: [Line]
    /// The scroll bar's thumb.
    var thumb: Thumb?

    struct Thumb: Hashable, Sendable { var y: Int, height: Int }

    private static let textSize = 4.2, headingSize = 3.6, textLeft = 10.0, textRight = 4.0, radius = 3.0

    /// Draws it. Clips each line to its height: text can stack marks to any height.
    func draw(_ theme: Theme, _ typesetter: borrowing Typesetter) -> Surface {
        func pixels(_ length: Double) -> Int { max(1, Int((length * millimetre).rounded())) }
        return Canvas.surface(width, height) { canvas in
            let (w, h, radius) = (Double(width), Double(height), Double(pixels(Self.radius)))
            canvas.rounded(0, 0, w, h, radius, .black(0.86))
            canvas.clipped(0, 0, w, h, radius) {
                for line in lines {
                    let (top, inset) = (Double(line.y), Double(pixels(1)))
                    canvas.clipped(0, top, w, Double(lineHeight), 0) {
                        if line.isPressed { canvas.rounded(inset, top, w - 2 * inset, Double(lineHeight), radius * 0.7, .white(0.28)) }
                        if line.isFocused {
                            canvas.ring(
                                inset, top, w - 2 * inset, Double(lineHeight), radius * 0.7, Double(pixels(0.6)), .color(theme.accent, 1))
                        }
                        if line.isSelected {
                            let middle = top + Double(lineHeight) / 2
                            canvas.draw(.check, Double(pixels(5.5)), middle, Double(pixels(1.6)), .color(theme.accent, 1))
                        }
                        let left = pixels(line.isHeading ? Self.textRight : Self.textLeft)
                        // All lines begin at the left, beside their marks; right-to-left text would begin at the right.
                        let alignment = typesetter.isReadFromTheRight(line.text) ? Part.Text.Alignment.trailing : .leading
                        let text = Part.Text(
                            text: line.text, size: pixels(line.isHeading ? Self.headingSize : Self.textSize), isBold: !line.isHeading,
                            shade: line.isHeading ? 60 : 100, alignment: alignment, hasEllipsis: true,
                            width: max(1, width - left - pixels(Self.textRight)),
                            height: lineHeight)
                        typesetter.draw(text, on: canvas, Double(left), top)
                    }
                }
            }
            if let thumb {
                let across = Double(pixels(0.8))
                canvas.rounded(
                    w - across - Double(pixels(1)), Double(thumb.y), across, Double(thumb.height), across / 2, .white(0.4))
            }
        }
    }
}

extension MediaSelectionPanel {
    /// Returns its visible part at a time.
    func picture(at time: HostTime) -> MediaSelectionPicture {
        let geometry = geometry
        let places = lines.indices.map { (line: $0, place: place(ofLine: $0, at: time)) }
        let seen = places.filter { $0.place.y + $0.place.height > box.y && $0.place.y < box.y + box.height }
        return MediaSelectionPicture(
            width: box.width, height: box.height, lineHeight: geometry.pixels(Self.lineHeight), millimetre: geometry.density,
            lines: seen.map { line, place in
                let y = place.y - box.y
                switch lines[line] {
                case .heading(let text): return .init(text: text, y: y, isHeading: true)
                case .option(let option, _, let isSelected):
                    let isPressed = touch.map { $0.line == line && $0.isOn && !$0.scrolls } ?? false
                    return .init(text: option.displayName, y: y, isSelected: isSelected, isPressed: isPressed, isFocused: focus == line)
                }
            }, thumb: thumb(at: time))
    }

    private func thumb(at time: HostTime) -> MediaSelectionPicture.Thumb? {
        guard scroll.limit > 0 else { return nil }
        let inset = geometry.pixels(3), track = max(1, box.height - 2 * inset)
        let height = max(Double(track) * Double(box.height) / (scroll.limit + Double(box.height)), min(geometry.density * 6, Double(track)))
        let share = min(max(scroll.position(at: time) / scroll.limit, 0), 1)
        return .init(y: inset + Int((share * (Double(track) - height)).rounded()), height: Int(height.rounded()))
    }
}
