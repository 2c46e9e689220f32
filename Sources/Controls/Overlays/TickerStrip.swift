import KioskPlatform
import KioskPlayback

/// How fast a ticker runs: so many pixels at every so manieth vblank. Steps that are not all the same, as a speed between two of these would need, are seen.
struct TickerPace: Hashable, Sendable {
    let pixels: Int, vblanks: Int

    /// The one next to `speed` hundredths of `width` pixels a second.
    init(speed: Int, width: Int, period: MediaTime) {
        let wanted = max(Double(width) * Double(speed) / 100 * period.seconds, 0.01)
        (pixels, vblanks) = wanted >= 0.75 ? (max(1, Int(saturating: wanted.rounded())), 1) : (1, min(Int((1 / wanted).rounded()), 4))
    }

    /// How far it has come after so many vblanks.
    func distance(after count: Int) -> Int { count / vblanks * pixels }
}

/// The text of a ticker as one long strip, and the part of it that is seen. A pure value.
///
///     position                       position + width              end
///     ├──────────── seen ────────────┤                             │
///     │ closes at six • The café is on the second floor • The muse │
///     └── runs ─────┘└────────────────────────────────┘
///
/// A run is one text and what stands between it and the next one. It is drawn in tiles ahead of need, and the tiles that have gone by are let go of, so a text
/// of any length costs what is seen of it. Other texts begin where the first run begins that nobody has seen any of: nothing jumps.
///
/// A script that is read from right to left runs from left to right: its strip is mirrored.
struct TickerStrip: Sendable {
    /// A part of a run.
    struct Tile: Sendable {
        var surface: Surface
        /// Of the tile, and of its run.
        var start: Int, run: Int
        var end: Int { start + surface.width }
    }

    /// What is to be drawn next: the part of a text's run that begins `offset` pixels after its beginning.
    struct Need: Hashable, Sendable {
        var text: String
        var offset: Int
    }

    /// Pixels that are seen.
    let width: Int
    let isMirrored: Bool
    private(set) var texts: [String] = []
    private(set) var tiles: [Tile] = []
    /// The first pixel that is seen. Before the strip has begun it is negative.
    private(set) var position: Int
    private var end = 0
    private var next = 0
    /// The run that has been drawn in part.
    private var run: (text: String, start: Int)?

    /// No tile is wider.
    static let tileWidth = 1024

    init(width: Int, isMirrored: Bool) { (self.width, self.isMirrored, position) = (width, isMirrored, -width) }

    /// Other texts take their turns from the next run on of which nothing has been seen yet; `margin`: pixels that may be seen before the next step.
    mutating func setTexts(_ new: [String], margin: Int) {
        guard new != texts else { return }
        (texts, next) = (new, 0)
        let limit = position + width + margin
        if let run, run.start >= limit { self.run = nil }
        guard let first = tiles.first(where: { $0.run >= limit }) else { return }
        end = first.run
        tiles.removeAll { $0.run >= first.run }
    }

    mutating func move(by distance: Int) {
        position += distance
        tiles.removeAll { $0.end <= position }
    }

    /// What is missing of the strip until `ahead` pixels after what is seen.
    func need(ahead: Int) -> Need? {
        guard end < position + width + ahead else { return nil }
        if let run { return Need(text: run.text, offset: end - run.start) }
        return texts.isEmpty ? nil : Need(text: texts[next], offset: 0)
    }

    /// What was needed has been drawn, of a run that is `length` pixels long; nothing where something else is needed by now.
    mutating func append(_ surface: Surface, of need: Need, length: Int) {
        guard self.need(ahead: .max / 4) == need else { return }
        // Where nothing was there in time, it enters at the side as everything does.
        if need.offset == 0 {
            end = max(end, position + width)
            next = (next + 1) % texts.count
        }
        let start = end - need.offset
        tiles.append(Tile(surface: surface, start: end, run: start))
        end += surface.width
        run = end - start < length ? (need.text, start) : nil
    }

    /// The tiles as they are seen now in a rectangle that is as wide as the strip is seen.
    func pictures(in place: PixelRectangle, alpha: Double) -> [Overlay.Picture] {
        tiles.filter { $0.start < position + width && $0.end > position }.map { tile in
            let offset = isMirrored ? width - (tile.end - position) : tile.start - position
            return Overlay.Picture(surface: tile.surface, x: place.x + offset, y: place.y, alpha: alpha, clip: place)
        }
    }
}
