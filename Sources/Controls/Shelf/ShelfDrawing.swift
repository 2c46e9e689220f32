import CKioskCairo
import KioskPlayback
import KioskVocabulary

/// Draws the shelf. The thread `shelf` draws cards a row at a time, opaque: a frame of a scroll then only copies them.
struct ShelfDrawing: ~Copyable {
    /// The colours behind everything, behind the head, behind missing pictures, and of fields.
    private static let ground = Color(red: 0x10, green: 0x12, blue: 0x15), bar = Color(red: 0x19, green: 0x1c, blue: 0x21)
    private static let hollow = Color(red: 0x1d, green: 0x21, blue: 0x27), field = Color(red: 0x2a, green: 0x2f, blue: 0x37)
    private static let trouble = Color(red: 0xff, green: 0xb0, blue: 0x5c)

    let theme: Theme

    // MARK: Cards

    /// Draws a row of cards, as wide as the screen.
    func row(_ cards: [ShelfCard], _ layout: ShelfLayout, _ typesetter: borrowing Typesetter) -> Surface {
        Canvas.surface(layout.geometry.width, layout.pitch) { canvas in
            canvas.fill(Self.ground)
            for (column, card) in cards.enumerated() { draw(card, Double(layout.x(ofColumn: column)), layout, typesetter, on: canvas) }
        }
    }

    private func draw(
        _ card: ShelfCard, _ x: Double, _ layout: ShelfLayout, _ typesetter: borrowing Typesetter, on canvas: borrowing Canvas
    ) {
        let geometry = layout.geometry
        let (width, height) = (layout.cardWidth, layout.pictureHeight)
        let radius = Double(geometry.pixels(2))
        canvas.rounded(x, 0, Double(width), Double(height), radius, .color(Self.hollow, 1))
        if let picture = card.picture {
            canvas.picture(picture.surface, Int(x), 0, width, height, radius: radius, ground: Self.hollow)
        } else {
            let icon: Icon =
                card.hasProblem ? .warning : card.entry.kind == .sound ? .note : card.entry.kind == .image ? .still : .film
            let paint = card.hasProblem ? Paint.color(Self.trouble, 0.9) : .white(0.22)
            canvas.draw(icon, x + Double(width) / 2, Double(height) / 2, Double(min(width, height)) * 0.17, paint)
        }
        drawBadges(card, x, layout, typesetter, on: canvas)
        let textTop = Double(height + geometry.pixels(ShelfLayout.textGap))
        let titleHeight = geometry.pixels(ShelfLayout.titleHeight), detailHeight = geometry.pixels(ShelfLayout.detailHeight)
        let title = Part.Text(
            text: card.title, size: geometry.pixels(ShelfLayout.titleSize), isBold: true, shade: card.hasProblem ? 60 : 96,
            hasEllipsis: true, width: width, height: titleHeight)
        typesetter.draw(title, on: canvas, x, textTop)
        let detail = Part.Text(
            text: card.detail, size: geometry.pixels(ShelfLayout.detailSize), shade: 55, hasEllipsis: true, width: width,
            height: detailHeight)
        typesetter.draw(detail, on: canvas, x, textTop + Double(titleHeight), color: card.hasProblem ? Self.trouble : nil)
    }

    /// Draws the duration at the right, portrait and sound at the left, the mark of a chosen card at the top.
    private func drawBadges(
        _ card: ShelfCard, _ x: Double, _ layout: ShelfLayout, _ typesetter: borrowing Typesetter, on canvas: borrowing Canvas
    ) {
        let geometry = layout.geometry
        let size = Double(geometry.pixels(4.6)), inset = Double(geometry.pixels(1.4))
        let y = Double(layout.pictureHeight) - inset - size
        if let duration = card.duration {
            let text = geometry.pixels(3.1)
            let width = Double(duration.count) * Double(text) * 0.58 + size * 0.7
            let left = x + Double(layout.cardWidth) - inset - width
            canvas.rounded(left, y, width, size, size * 0.28, .black(0.68))
            typesetter.drawCentered(
                Part.Text(text: duration, size: text, isBold: true, hasEllipsis: true, width: Int(width), height: Int(size)),
                x: left + width / 2, y: y + size / 2, isShaded: false, on: canvas)
        }
        var left = x + inset
        func badge(_ sign: Icon) {
            canvas.rounded(left, y, size, size, size * 0.28, .black(0.68))
            canvas.draw(sign, left + size / 2, y + size / 2, size * 0.33, .white(0.95))
            left += size + inset * 0.6
        }
        if card.isPortrait { badge(.portrait) }
        if card.hasSound == true, card.entry.kind == .video { badge(.sound) }
        if card.isChosen {
            let radius = size * 0.62
            canvas.disc(x + Double(layout.cardWidth) - inset - radius, inset + radius, radius, .color(theme.accent, 1))
            canvas.draw(.check, x + Double(layout.cardWidth) - inset - radius, inset + radius, radius * 0.5, .white(1))
        }
    }

    // MARK: The rest

    /// Draws a part.
    func draw(_ part: ShelfPart, _ typesetter: borrowing Typesetter) -> Surface {
        switch part {
        case .drawn(let picture): return picture.surface
        case .empty(let layout, let cards):
            return Canvas.surface(layout.geometry.width, layout.pitch) { canvas in
                canvas.fill(Self.ground)
                let radius = Double(layout.geometry.pixels(2))
                for column in 0..<cards {
                    let x = Double(layout.x(ofColumn: column)), width = Double(layout.cardWidth)
                    canvas.rounded(x, 0, width, Double(layout.pictureHeight), radius, .color(Self.hollow, 1))
                    let line = Double(layout.geometry.pixels(2.6))
                    let y = Double(layout.pictureHeight + layout.geometry.pixels(ShelfLayout.textGap + 1.6))
                    canvas.rounded(x, y, width * 0.6, line, line / 2, .color(Self.hollow, 1))
                }
            }
        case .head(let head): return draw(head, typesetter)
        case .ring(let width, let height, let radius, let line):
            return Canvas.surface(width, height) { canvas in
                canvas.ring(0, 0, Double(width), Double(height), Double(radius), Double(line), .color(theme.accent, 1))
            }
        case .glow(let width, let height, let radius):
            return Canvas.surface(width, height) { $0.rounded(0, 0, Double(width), Double(height), Double(radius), .white(0.22)) }
        case .thumb(let width, let height):
            return Canvas.surface(width, height) {
                $0.rounded(0, 0, Double(width), Double(height), Double(width) / 2, .white(0.35))
            }
        case .panel(let text, let layout, let chosen): return draw(text, layout, chosen, typesetter)
        case .keyboard(let layout): return drawKeyboard(layout, typesetter)
        case .note(let text, let width, let height, let size):
            return Canvas.surface(width, height) { canvas in
                let label = Part.Text(text: text, size: size, shade: 60, hasEllipsis: true, width: width, height: height)
                typesetter.drawCentered(label, x: Double(width) / 2, y: Double(height) / 2, isShaded: false, on: canvas)
            }
        }
    }

    private func draw(_ head: ShelfHead, _ typesetter: borrowing Typesetter) -> Surface {
        let layout = head.layout, geometry = layout.geometry
        return Canvas.surface(layout.head.width, layout.head.height) { canvas in
            canvas.fill(Self.bar)
            if let field = layout.buttons[.search], let clear = layout.buttons[.clearSearch] {
                let (x, y, height) = (Double(field.x), Double(field.y), Double(field.height))
                let width = Double(clear.x + clear.width - field.x)
                let isLit = head.isTyping || head.pressed == .search
                canvas.rounded(x, y, width, height, height / 2, .color(Self.field, 1))
                if isLit { canvas.ring(x, y, width, height, height / 2, max(2, height * 0.05), .color(theme.accent, 1)) }
                canvas.draw(.search, x + height * 0.5, y + height / 2, height * 0.19, .white(0.6))
                let room = max(1, Int(width - height * (head.text.isEmpty ? 1.2 : 2)))
                let caret = head.isTyping ? "|" : ""
                let label = Part.Text(
                    text: head.text.isEmpty ? (head.isTyping ? caret : "Search") : head.text + caret, size: geometry.pixels(4.4),
                    shade: head.text.isEmpty ? 50 : 100, hasEllipsis: true, width: room, height: field.height)
                typesetter.draw(label, on: canvas, x + height * 0.92, y)
                if !head.text.isEmpty {
                    canvas.draw(.cross, Double(clear.x) + height / 2, y + height / 2, height * 0.15, .white(0.8))
                }
            }
            if layout.count.width > geometry.pixels(12) {
                let label = Part.Text(
                    text: head.count, size: geometry.pixels(4), shade: 62, hasEllipsis: true, width: layout.count.width,
                    height: layout.count.height)
                typesetter.draw(label, on: canvas, Double(layout.count.x), Double(layout.count.y))
            }
            if let button = layout.buttons[.film] {
                let (x, y, width, height) = (Double(button.x), Double(button.y), Double(button.width), Double(button.height))
                let color: Paint = head.clips > 0 ? .color(theme.accent, head.pressed == .film ? 0.7 : 1) : .color(Self.field, 1)
                canvas.rounded(x, y, width, height, height / 2, color)
                canvas.draw(.film, x + height * 0.62, y + height / 2, height * 0.22, .white(0.95))
                let label = Part.Text(
                    text: head.percent.map { "\($0) %" } ?? "\(head.clips)", size: geometry.pixels(4.2), isBold: true, hasEllipsis: true,
                    width: Int(width - height), height: button.height)
                typesetter.drawCentered(label, x: x + height + (width - height * 1.3) / 2, y: y + height / 2, isShaded: false, on: canvas)
            }
            if let button = layout.buttons[.close] {
                let radius = Double(button.height) / 2
                let (x, y) = (Double(button.x) + radius, Double(button.y) + radius)
                canvas.disc(x, y, radius, head.pressed == .close ? .white(0.3) : .color(Self.field, 1))
                canvas.draw(.cross, x, y, radius * 0.34, .white(0.9))
            }
        }
    }

    private func draw(
        _ text: ShelfPanelText, _ layout: ShelfLayout, _ chosen: Int?, _ typesetter: borrowing Typesetter
    ) -> Surface {
        let geometry = layout.geometry
        let places = layout.panel(lines: text.lines.count, hasProgress: text.percent != nil, buttons: text.buttons.count)
        return Canvas.surface(places.box.width, places.box.height) { canvas in
            let radius = Double(geometry.pixels(4))
            canvas.rounded(0, 0, Double(places.box.width), Double(places.box.height), radius, .color(Self.field, 1))
            canvas.ring(0, 0, Double(places.box.width), Double(places.box.height), radius, max(1, radius * 0.06), .white(0.12))
            let chosenLine = text.chosenClip.flatMap(text.line(ofClip:))
            for (index, line) in ([text.title] + text.lines).enumerated() {
                let place = places.lines[index]
                if index == chosenLine {
                    let inset = Double(geometry.pixels(2))
                    canvas.rounded(
                        Double(place.x) - inset, Double(place.y), Double(place.width) + 2 * inset, Double(place.height), inset,
                        .color(theme.accent, 1))
                }
                let label = Part.Text(
                    text: line, size: geometry.pixels(index == 0 ? 5.2 : 3.8), isBold: index == 0,
                    shade: index == 0 || index == chosenLine ? 100 : 72, hasEllipsis: true, width: place.width, height: place.height)
                typesetter.draw(label, on: canvas, Double(place.x), Double(place.y))
            }
            if let percent = text.percent {
                let (bar, height) = (places.bar, Double(places.bar.height))
                canvas.rounded(Double(bar.x), Double(bar.y), Double(bar.width), height, height / 2, .white(0.18))
                let length = max(height, Double(bar.width) * Double(min(max(percent, 0), 100)) / 100)
                canvas.rounded(Double(bar.x), Double(bar.y), length, height, height / 2, .color(theme.accent, 1))
            }
            for (index, button) in text.buttons.enumerated() {
                let place = places.buttons[index]
                let (x, y, width, height) = (Double(place.x), Double(place.y), Double(place.width), Double(place.height))
                let corner = Double(geometry.pixels(2.4))
                canvas.rounded(x, y, width, height, corner, button.isMain ? .color(theme.accent, 1) : .white(0.13))
                if index == chosen { canvas.ring(x, y, width, height, corner, max(2, corner * 0.3), .white(1)) }
                let label = Part.Text(
                    text: button.label, size: geometry.pixels(4.1), isBold: true, width: place.width - geometry.pixels(3),
                    height: place.height)
                typesetter.drawCentered(label, x: x + width / 2, y: y + height / 2, isShaded: false, on: canvas)
            }
        }
    }

    private func drawKeyboard(_ layout: ShelfLayout, _ typesetter: borrowing Typesetter) -> Surface {
        let keyboard = layout.keyboard, geometry = layout.geometry
        return Canvas.surface(keyboard.box.width, keyboard.box.height) { canvas in
            canvas.fill(Self.bar)
            for (key, place) in keyboard.keys {
                let (x, y) = (Double(place.x - keyboard.box.x), Double(place.y - keyboard.box.y))
                let (width, height) = (Double(place.width), Double(place.height))
                canvas.rounded(
                    x, y, width, height, Double(geometry.pixels(1.6)), key == .done ? .color(theme.accent, 1) : .color(Self.field, 1))
                let text =
                    switch key {
                    case .character(let character): String(character)
                    case .erase: "⌫"
                    case .space: ""
                    case .done: "Done"
                    }
                if case .erase = key {
                    canvas.draw(.erase, x + width / 2, y + height / 2, height * 0.2, .white(0.9))
                } else {
                    let size = min(geometry.pixels(4.8), Int(height * 0.55))
                    let label = Part.Text(text: text, size: max(1, size), hasEllipsis: true, width: place.width, height: place.height)
                    typesetter.drawCentered(label, x: x + width / 2, y: y + height / 2, isShaded: false, on: canvas)
                }
            }
        }
    }
}
