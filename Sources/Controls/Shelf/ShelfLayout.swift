import KioskPlayback
import KioskVocabulary

/// The positions of all parts of the shelf: a head with the search, a scrolling grid of cards below it, and over that a panel or keyboard.
/// A pure value; lengths are millimetres of screen until the last step. Every query takes as long for a million clips as for ten.
struct ShelfLayout: Hashable, Sendable {
    /// The buttons of the head.
    enum HeadButton: Hashable, Sendable, CaseIterable {
        case search, clearSearch, film, close
    }

    /// A key of the keyboard on the screen.
    enum Key: Hashable, Sendable {
        case character(Character)
        case erase, space, done
    }

    static let margin = 6.0, gap = 4.0, rowGap = 5.0
    static let titleHeight = 6.2, titleSize = 4.2, detailHeight = 5.0, detailSize = 3.3, textGap = 1.6
    static let buttonHeight = 11.0
    static let narrowWidth = 130.0

    let geometry: ScreenGeometry
    let isNarrow: Bool
    /// Whether viewers can make films.
    let hasFilm: Bool
    /// The whole head, and its parts.
    let head: PixelRectangle
    private(set) var buttons: [HeadButton: PixelRectangle] = [:]
    private(set) var count = PixelRectangle(x: 0, y: 0, width: 1, height: 1)
    /// The number of columns, and the size of a card.
    let columns: Int
    let cardWidth: Int, pictureHeight: Int, cardHeight: Int
    /// The distance from one row to the next; below, the first card's distances from the viewport's top and the screen's left.
    let pitch: Int
    let top: Int, left: Int
    private let step: Int

    init(geometry: ScreenGeometry, hasFilm: Bool) {
        (self.geometry, self.hasFilm) = (geometry, hasFilm)
        let (width, height) = geometry.millimetres
        isNarrow = width < Self.narrowWidth
        // Limits the head on a low screen.
        let rowHeight = min(17.0, height * 0.2)
        let headHeight = isNarrow ? rowHeight * 1.75 : rowHeight
        let pixel = geometry.pixel
        head = PixelRectangle(x: 0, y: 0, width: geometry.width, height: pixel(headHeight))

        let margin = min(Self.margin, width * 0.05)
        columns = min(max(Int((width / (30 + width * 0.1)).rounded()), 2), 8)
        let free = geometry.width - 2 * pixel(margin) - (columns - 1) * pixel(Self.gap)
        cardWidth = max(16, free / columns)
        pictureHeight = max(9, cardWidth * 9 / 16)
        cardHeight = pictureHeight + pixel(Self.textGap + Self.titleHeight + Self.detailHeight)
        pitch = cardHeight + pixel(Self.rowGap)
        step = cardWidth + pixel(Self.gap)
        left = (geometry.width - columns * cardWidth - (columns - 1) * pixel(Self.gap)) / 2
        top = pixel(4)

        let size = min(Self.buttonHeight, rowHeight - 4)
        func box(_ x: Double, _ y: Double, _ width: Double) -> PixelRectangle {
            PixelRectangle(x: pixel(x), y: pixel(y), width: max(1, pixel(x + width) - pixel(x)), height: pixel(size))
        }
        let y = (rowHeight - size) / 2
        var right = width - margin
        buttons[.close] = box(right - size, y, size)
        right -= size + 3
        if hasFilm {
            buttons[.film] = box(right - 2.6 * size, y, 2.6 * size)
            right -= 2.6 * size + 3
        }
        let searchWidth = isNarrow ? width - 2 * margin : min(95, (right - margin) * 0.6)
        let searchY = isNarrow ? rowHeight - 1 : y
        buttons[.search] = box(margin, searchY, searchWidth - size)
        buttons[.clearSearch] = box(margin + searchWidth - size, searchY, size)
        let countX = isNarrow ? margin : margin + searchWidth + 4
        count = box(countX, y, max(1, right - countX))
    }

    // MARK: The grid

    /// The height of the area that shows the cards.
    var viewport: Int { max(1, geometry.height - head.height) }

    /// Returns the number of rows of this number of cards.
    func rows(_ count: Int) -> Int { (max(0, count) + columns - 1) / columns }

    /// Returns how far this number of cards scrolls.
    func limit(_ count: Int) -> Int { max(0, top + rows(count) * pitch - viewport) }

    /// Returns the visible rows at a scroll offset in pixels. These include rows before the first and after the last, which have no cards.
    func visibleRows(_ offset: Int) -> Range<Int> {
        let first = Int((Double(offset - top) / Double(pitch)).rounded(.down))
        let last = Int((Double(offset - top + viewport - 1) / Double(pitch)).rounded(.down))
        return first..<max(first, last) + 1
    }

    /// Returns the upper edge of a row on the screen.
    func y(ofRow row: Int, _ offset: Int) -> Int { head.height + top + row * pitch - offset }

    /// Returns the rectangle of a card on the screen.
    func card(_ index: Int, _ offset: Int) -> PixelRectangle {
        PixelRectangle(x: left + index % columns * step, y: y(ofRow: index / columns, offset), width: cardWidth, height: cardHeight)
    }

    /// Returns the left edge of a column's card in its row.
    func x(ofColumn column: Int) -> Int { left + column * step }

    /// Returns the card at a place of the screen, among `count` cards.
    func index(x: Int, y: Int, _ offset: Int, of count: Int) -> Int? {
        guard y >= head.height, x >= left else { return nil }
        let below = y - head.height - top + offset
        guard below >= 0, below % pitch < cardHeight, (x - left) % step < cardWidth, (x - left) / step < columns else { return nil }
        let index = below / pitch * columns + (x - left) / step
        return index < count ? index : nil
    }

    /// Returns the nearest scroll offset that shows a card whole.
    func offset(showing index: Int, from offset: Int, of count: Int) -> Int {
        let row = index / columns
        let (upper, lower) = (row == 0 ? 0 : row * pitch, top + row * pitch + cardHeight + geometry.pixels(3) - viewport)
        return min(max(min(max(offset, lower), upper), 0), limit(count))
    }

    /// Returns the scroll bar's thumb, on a track of the viewport's height; nil if all cards are visible.
    func thumb(_ offset: Double, of count: Int) -> PixelRectangle? {
        let whole = Double(limit(count))
        guard whole > 0 else { return nil }
        let inset = geometry.pixels(1.5)
        let track = Double(viewport - 2 * inset)
        let height = max(track * Double(viewport) / (whole + Double(viewport)), geometry.density * 8)
        let place = min(max(offset / whole, 0), 1) * (track - height)
        let width = geometry.pixels(1.2)
        return PixelRectangle(
            x: geometry.width - width - geometry.pixels(1.4), y: head.height + inset + Int(place.rounded()), width: width,
            height: Int(height.rounded()))
    }

    // MARK: A panel

    private static let pad = 6.0, lineHeight = 5.6

    private func buttonsAcross(_ count: Int) -> Int { isNarrow && geometry.height > geometry.width ? 1 : max(1, min(count, 4)) }

    private func buttonHeight(_ count: Int) -> Double {
        let rows = (count + buttonsAcross(count) - 1) / buttonsAcross(count)
        return min(Self.buttonHeight, (geometry.millimetres.height - 40) / Double(max(1, rows)))
    }

    /// Returns how many lines a panel has room for below its title.
    func mostLines(hasProgress: Bool, buttons: Int) -> Int {
        let rows = (buttons + buttonsAcross(buttons) - 1) / buttonsAcross(buttons)
        let rest = 2 * Self.pad + 8 + (hasProgress ? 7 : 0) + Double(rows) * (buttonHeight(buttons) + 3)
        return max(1, Int((geometry.millimetres.height - 4 - rest) / Self.lineHeight))
    }

    /// Returns the places of a panel with these numbers of lines below its title and of buttons, with or without a progress bar.
    func panel(lines: Int, hasProgress: Bool, buttons: Int) -> PanelPlaces {
        let (width, height) = geometry.millimetres
        let across = min(width - 8, 150), pad = Self.pad
        let perRow = buttonsAcross(buttons)
        let buttonRows = (buttons + perRow - 1) / perRow
        let buttonHeight = buttonHeight(buttons)
        let textHeight = 9.0 + Double(lines) * Self.lineHeight
        let barHeight = hasProgress ? 7.0 : 0
        let down = pad + textHeight + barHeight + Double(buttonRows) * (buttonHeight + 3) + pad - 1
        let x = (width - across) / 2, y = max(0, height - down - 4)
        let inner = across - 2 * pad
        let texts = (0...lines).map { line in
            line == 0
                ? geometry.box(pad, pad - 1, inner, 8)
                : geometry.box(pad, pad + 3.4 + Double(line) * Self.lineHeight, inner, Self.lineHeight)
        }
        let bar = geometry.box(pad, pad + textHeight + 1.5, inner, 2)
        let cell = (inner - 3 * Double(perRow - 1)) / Double(perRow)
        let places = (0..<buttons).map { index in
            geometry.box(
                pad + Double(index % perRow) * (cell + 3),
                pad + textHeight + barHeight + 2 + Double(index / perRow) * (buttonHeight + 3), cell, buttonHeight)
        }
        return PanelPlaces(box: geometry.box(x, y, across, min(down, height)), lines: texts, bar: bar, buttons: places)
    }

    // MARK: The keyboard

    private static let keys: [[Key]] =
        ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm-"].map { $0.map(Key.character) }

    /// The keyboard, and the places of its keys on the screen.
    var keyboard: (box: PixelRectangle, keys: [(key: Key, place: PixelRectangle)]) {
        let (width, height) = geometry.millimetres
        let across = min(width, 190), down = min(58, height * 0.52)
        let pitchX = (across - 4) / 10, pitchY = (down - 4) / 5
        let x0 = (width - across) / 2 + 2, y0 = height - down + 2
        var keys: [(key: Key, place: PixelRectangle)] = []
        for (row, line) in Self.keys.enumerated() {
            let indent = row < 2 ? 0 : pitchX / 2
            for (column, key) in line.enumerated() {
                keys.append(
                    (
                        key,
                        geometry.box(
                            x0 + indent + Double(column) * pitchX + 0.6, y0 + Double(row) * pitchY + 0.6, pitchX - 1.2, pitchY - 1.2)
                    ))
            }
        }
        keys.append((.erase, geometry.box(x0 + 8.5 * pitchX + 0.6, y0 + 3 * pitchY + 0.6, 1.5 * pitchX - 1.2, pitchY - 1.2)))
        keys.append((.space, geometry.box(x0 + 2 * pitchX + 0.6, y0 + 4 * pitchY + 0.6, 5.5 * pitchX - 1.2, pitchY - 1.2)))
        keys.append((.done, geometry.box(x0 + 7.5 * pitchX + 0.6, y0 + 4 * pitchY + 0.6, 2.5 * pitchX - 1.2, pitchY - 1.2)))
        return (
            PixelRectangle(x: 0, y: geometry.height - geometry.pixels(down), width: geometry.width, height: geometry.pixels(down)), keys
        )
    }
}

extension PixelRectangle {
    /// Returns whether a place is inside, or at most `slop` pixels outside.
    func holds(_ x: Int, _ y: Int, slop: Int = 0) -> Bool {
        x >= self.x - slop && x < self.x + width + slop && y >= self.y - slop && y < self.y + height + slop
    }
}
