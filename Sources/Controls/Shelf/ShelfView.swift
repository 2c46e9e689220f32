import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The content of a card.
struct ShelfCard: Hashable, Sendable {
    var entry: ShelfEntry
    var title: String
    /// The line below the title: the folder, or the problem.
    var detail: String
    var hasProblem: Bool
    var duration: String?
    var isPortrait: Bool
    /// Whether it has sound; nil while unknown.
    var hasSound: Bool?
    var picture: PreviewPicture?
    /// Whether it is in the film.
    var isChosen: Bool
}

/// The content of the head.
struct ShelfHead: Hashable, Sendable {
    var layout: ShelfLayout
    var text: String
    var isTyping: Bool
    var count: String
    /// The number of clips in the film.
    var clips: Int
    /// The progress of the film's export, 0…100.
    var percent: Int?
    var pressed: ShelfLayout.HeadButton?
}

/// A part of the shelf to draw, with everything that it depends on. Its content covers the parts beneath, except for the ring and the glow.
enum ShelfPart: Hashable, Sendable {
    /// The cards of a row, drawn by another thread.
    case drawn(PreviewPicture)
    /// A row of cards that are not drawn yet; with none, the bare background.
    case empty(ShelfLayout, cards: Int)
    case head(ShelfHead)
    case ring(width: Int, height: Int, radius: Int, line: Int)
    case glow(width: Int, height: Int, radius: Int)
    case thumb(width: Int, height: Int)
    case panel(ShelfPanelText, ShelfLayout, chosen: Int?)
    case keyboard(ShelfLayout)
    /// A line in the middle of the screen.
    case note(String, width: Int, height: Int, size: Int)
}

// The parts to draw, and the rows and thumbnails to prepare for them.
extension ShelfState {
    /// Returns the visible parts at a time, from back to front. They cover all of the screen.
    func parts(at time: HostTime) -> [PlacedPart] {
        guard isOpen, let layout else { return [] }
        let offset = Int(scroll.position(at: time).rounded())
        let geometry = layout.geometry
        var parts: [PlacedPart] = []
        func add(_ part: ShelfPart, _ x: Int, _ y: Int) { parts.append(PlacedPart(part: .shelf(part), x: x, y: y, alpha: 1)) }
        for row in layout.visibleRows(offset) {
            let count = places(ofRow: row, layout).count
            if count > 0, let tile = tiles[row], isOfPresent(tile, row) {
                add(.drawn(tile.picture), 0, layout.y(ofRow: row, offset))
            } else {
                add(.empty(layout, cards: count), 0, layout.y(ofRow: row, offset))
            }
        }
        addMarks(layout, offset, at: time, add)
        if shown.isEmpty {
            let text = entries.isEmpty ? "There is nothing here yet" : "Nothing is called “\(search)”"
            let height = geometry.pixels(10)
            add(
                .note(text, width: geometry.width * 9 / 10, height: height, size: geometry.pixels(5)), geometry.width / 20,
                layout.head.height + layout.viewport / 3)
        }
        if let thumb = layout.thumb(scroll.position(at: time), of: shown.count) {
            add(.thumb(width: thumb.width, height: thumb.height), thumb.x, thumb.y)
        }
        add(.head(head(layout)), 0, 0)
        if showsKeyboard {
            let keyboard = layout.keyboard
            add(.keyboard(layout), keyboard.box.x, keyboard.box.y)
            if case .key(let key)? = touch?.target, touch?.isOn == true, keyboard.keys.indices.contains(key) {
                let place = keyboard.keys[key].place
                add(.glow(width: place.width, height: place.height, radius: geometry.pixels(1.6)), place.x, place.y)
            }
        }
        if let text = panelText, let places = panelPlaces {
            add(.panel(text, layout, chosen: showsFocus ? min(chosenButton, text.buttons.count - 1) : nil), places.box.x, places.box.y)
            if let (place, radius) = touched(text, places) {
                add(
                    .glow(width: place.width, height: place.height, radius: geometry.pixels(radius)), places.box.x + place.x,
                    places.box.y + place.y)
            }
        }
        return parts
    }

    /// Returns the touched button or line of the panel, and the radius of its corners in millimetres.
    private func touched(_ text: ShelfPanelText, _ places: PanelPlaces) -> (place: PixelRectangle, radius: Double)? {
        guard let touch, touch.isOn else { return nil }
        switch touch.target {
        case .button(let button): return text.buttons.firstIndex(of: button).map { (places.buttons[$0], 2.4) }
        case .clip(let place): return text.line(ofClip: place).map { (places.lines[$0], 2) }
        default: return nil
        }
    }

    /// Adds the marks of the touched card and of the card with the keyboard focus.
    private func addMarks(_ layout: ShelfLayout, _ offset: Int, at time: HostTime, _ add: (ShelfPart, Int, Int) -> Void) {
        let radius = layout.geometry.pixels(2), line = max(2, layout.geometry.pixels(0.7))
        if case .card(let card)? = touch?.target, let touch, touch.isOn, !touch.scrolls {
            let place = layout.card(card, offset)
            add(.glow(width: place.width, height: layout.pictureHeight, radius: radius), place.x, place.y)
        }
        if showsFocus, panel == nil, shown.indices.contains(focus) {
            let place = layout.card(focus, offset)
            guard place.y + layout.pictureHeight > layout.head.height, place.y < layout.geometry.height else { return }
            let out = line + 1
            add(
                .ring(width: place.width + 2 * out, height: layout.pictureHeight + 2 * out, radius: radius + out, line: line),
                place.x - out,
                place.y - out)
        }
    }

    private func head(_ layout: ShelfLayout) -> ShelfHead {
        let number = Self.grouped(shown.count)
        let found = search.isEmpty ? "\(number) clip\(shown.count == 1 ? "" : "s")" : "\(number) of \(Self.grouped(entries.count))"
        let count = settings.picking?.title.map { "\($0) · \(found)" } ?? found
        let pressed: ShelfLayout.HeadButton? = if case .head(let button)? = touch?.target, touch?.isOn == true { button } else { nil }
        let percent: Int? = if case .running(let share, _)? = export { Int(share * 100) } else { nil }
        return ShelfHead(
            layout: layout, text: search, isTyping: showsKeyboard, count: count, clips: film.clips.count, percent: percent, pressed: pressed
        )
    }

    /// Returns a number such as 10 000, with a narrow no-break space.
    static func grouped(_ number: Int) -> String {
        let digits = Array(String(number))
        return String(
            digits.indices.reversed().reduce(into: [Character]()) { result, index in
                if (digits.count - 1 - index) % 3 == 0, index != digits.count - 1 { result.append("\u{202F}") }
                result.append(digits[index])
            }.reversed())
    }

    // MARK: Preparation

    /// Returns the places in a row that have a card, among the entries found; empty without such a row.
    private func places(ofRow row: Int, _ layout: ShelfLayout) -> Range<Int> {
        (row * layout.columns..<(row + 1) * layout.columns).clamped(to: 0..<shown.count)
    }

    /// Returns the cards of a row; empty if there is no such row.
    func cards(ofRow row: Int) -> [ShelfCard] {
        guard let layout else { return [] }
        return places(ofRow: row, layout).map { card(entries[shown[$0]]) }
    }

    private func card(_ entry: ShelfEntry) -> ShelfCard {
        let facts = facts[entry]
        return ShelfCard(
            entry: entry, title: facts?.title ?? entry.title, detail: facts?.problem ?? entry.folder, hasProblem: facts?.problem != nil,
            duration: facts?.duration.map { NowPlaying.text(Int($0.seconds.rounded())) }, isPortrait: facts?.isPortrait ?? false,
            hasSound: facts.map(\.hasSound), picture: thumbnails.picture(entry), isChosen: film.clips.contains(entry) || film.music == entry
        )
    }

    /// Returns whether a tile shows the entries now in its row; their look may have changed since.
    private func isOfPresent(_ tile: Tile, _ row: Int) -> Bool {
        guard let layout else { return false }
        return tile.cards.map(\.entry) == places(ofRow: row, layout).map { entries[shown[$0]] }
    }

    /// Selects the rows and thumbnails to prepare, for the cards visible at a time and soon after. Frees tiles that are far away.
    mutating func prepare(at time: HostTime) {
        guard isOpen, let layout else { return }
        let offset = Int(scroll.position(at: time).rounded())
        let goesDown = scroll.velocity(at: time) >= 0
        let seen = layout.visibleRows(offset).clamped(to: 0..<max(0, layout.rows(shown.count)))
        let ahead = goesDown ? Self.rowsAhead : Self.rowsBehind, behind = goesDown ? Self.rowsBehind : Self.rowsAhead
        let near = seen.lowerBound - behind..<seen.upperBound + ahead
        let rows = near.clamped(to: 0..<max(0, layout.rows(shown.count)))
        let order = goesDown ? Array(rows) : rows.reversed()
        wantedRows = order.filter(seen.contains) + order.filter { !seen.contains($0) }
        for row in tiles.keys where !rows.contains(row) { tiles[row] = nil }
        thumbnails.want(wantedRows.flatMap { places(ofRow: $0, layout).map { entries[shown[$0]] } })
    }

    /// The next row to draw, with its cards; nil if all wanted rows are drawn.
    var wantedRow: (row: Int, cards: [ShelfCard], layout: ShelfLayout)? {
        guard isOpen, let layout else { return nil }
        for row in wantedRows {
            let cards = cards(ofRow: row)
            if !cards.isEmpty, tiles[row]?.cards != cards { return (row, cards, layout) }
        }
        return nil
    }

    /// The next clip that needs a thumbnail, and the thumbnail's size.
    var wantedThumbnail: (entry: ShelfEntry, width: Int, height: Int)? {
        guard isOpen, let layout, let entry = thumbnails.next else { return nil }
        return (entry, layout.cardWidth, layout.pictureHeight)
    }
}
