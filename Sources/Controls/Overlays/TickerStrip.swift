import KioskPlatform
import KioskPlayback

/// The speed of a ticker: a number of pixels at every n-th vblank. A speed between two of these would need unequal steps, which are
/// visible.
struct TickerPace: Hashable, Sendable {
    let pixels: Int, vblanks: Int

    /// Creates the pace nearest to `speed` hundredths of `width` pixels per second.
    init(speed: Int, width: Int, period: MediaTime) {
        let wanted = max(Double(width) * Double(speed) / 100 * period.seconds, 0.01)
        (pixels, vblanks) = wanted >= 0.75 ? (max(1, Int(saturating: wanted.rounded())), 1) : (1, min(Int((1 / wanted).rounded()), 4))
    }

    /// Returns the distance after this number of vblanks.
    func distance(after count: Int) -> Int { count / vblanks * pixels }
}

/// The text of a ticker as one long strip, and its visible part. A pure value.
///
///     position                       position + width              end
///     ├────────── visible ───────────┤                             │
///     │ closes at six • The café is on the second floor • The muse │
///     └── runs ─────┘└────────────────────────────────┘
///
/// A run is one text and the separator after it. Its tiles are drawn before they are needed, and freed once they have gone by. So a text of
/// any length costs only its visible part. New texts begin at the first run that has not been visible at all: nothing jumps.
///
/// A script that is read from right to left runs from left to right: its strip is mirrored.
struct TickerStrip: Sendable {
    /// A part of a run.
    struct Tile: Sendable {
        var surface: Surface
        /// The start of the tile, and of its run.
        var start: Int, run: Int
        var end: Int { start + surface.width }
    }

    /// The next part to draw: `offset` pixels after the beginning of a text's run.
    struct Need: Hashable, Sendable {
        var text: String
        var offset: Int
    }

    /// The visible width, in pixels.
    let width: Int
    let isMirrored: Bool
    private(set) var texts: [String] = []
    private(set) var tiles: [Tile] = []
    /// The first visible pixel. Negative before the strip has begun.
    private(set) var position: Int
    private var end = 0
    private var next = 0
    /// The run that is partly drawn.
    private var run: (text: String, start: Int)?

    /// The greatest width of a tile.
    static let tileWidth = 1024

    init(width: Int, isMirrored: Bool) { (self.width, self.isMirrored, position) = (width, isMirrored, -width) }

    /// Replaces the texts from the first run that has not been visible at all. `margin`: pixels that may become visible before the next
    /// step.
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

    /// Returns the next missing part of the strip, up to `ahead` pixels after the visible part.
    func need(ahead: Int) -> Need? {
        guard end < position + width + ahead else { return nil }
        if let run { return Need(text: run.text, offset: end - run.start) }
        return texts.isEmpty ? nil : Need(text: texts[next], offset: 0)
    }

    /// Appends a drawn part of a run that is `length` pixels long. Does nothing if another part is needed by now.
    mutating func append(_ surface: Surface, of need: Need, length: Int) {
        guard self.need(ahead: .max / 4) == need else { return }
        // If the strip had run out, the text enters at the side, as every first text does.
        if need.offset == 0 {
            end = max(end, position + width)
            next = (next + 1) % texts.count
        }
        let start = end - need.offset
        tiles.append(Tile(surface: surface, start: end, run: start))
        end += surface.width
        run = end - start < length ? (need.text, start) : nil
    }

    /// Returns the visible tiles in a rectangle that has the strip's visible width.
    func pictures(in place: PixelRectangle, alpha: Double) -> [Overlay.Picture] {
        tiles.filter { $0.start < position + width && $0.end > position }.map { tile in
            let offset = isMirrored ? width - (tile.end - position) : tile.start - position
            return Overlay.Picture(surface: tile.surface, x: place.x + offset, y: place.y, alpha: alpha, clip: place)
        }
    }
}
