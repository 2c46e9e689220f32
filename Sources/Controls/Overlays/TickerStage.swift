import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A ticker with its current settings, on the current screen.
struct Ticker: Hashable, Sendable {
    var name: String
    var texts: [String]
    var look: OverlayLook
    /// The height of its text.
    var size: Int
    var place: PixelRectangle
    var pace: TickerPace
    var isMirrored: Bool
    /// The screen's size in pixels.
    var width: Int, height: Int

    /// Returns whether the surfaces of one ticker also fit the other.
    fileprivate func looksLike(_ other: Ticker) -> Bool {
        var same = other
        (same.texts, same.place.x, same.place.y, same.pace) = (texts, place.x, place.y, pace)
        return same == self
    }
}

/// Runs tickers: one overlay for each vblank, with each strip at the position of constant speed for that vblank.
///
/// Thread `ticker` does nothing else. Just after a vblank, it moves the strips by one step for each vblank passed, and sets the next
/// overlay. If it has missed some, the strips still are in the right place. Thread `overlays` has drawn the tiles before. The player
/// expects an overlay after each vblank (``PlaybackEngine/expectOverlay(after:by:)``): the next due picture includes it. The thread runs
/// only while there are tickers.
final class TickerStage: Sendable {
    private struct PlacedTicker {
        var ticker: Ticker
        var strip: TickerStrip
        var background: Surface
        /// The vblanks since it began with its current pace, and the distance so far.
        var count = 0, distance = 0
    }

    private struct Shared {
        var placed: [PlacedTicker] = []
        var isRunning = false, isStopped = false
        /// Whether missing tiles have been requested.
        var hasAsked = false
    }

    private let shared = Monitor(Shared())
    private let player: PlaybackEngine
    private let screen: any ControlsScreen
    private let needsTiles: @Sendable () -> Void

    /// The seconds of a strip to draw in advance; the thread requests more when half of that is left.
    private static let ahead = 2.0
    /// The time from setting an overlay to its vblank, as a fraction of the period.
    private static let lead = 0.9

    init(player: PlaybackEngine, screen: any ControlsScreen, needsTiles: @escaping @Sendable () -> Void) {
        (self.player, self.screen, self.needsTiles) = (player, screen, needsTiles)
    }

    /// Runs these tickers and no others; `background` draws the background of a ticker. From thread `overlays`.
    func set(_ tickers: [Ticker], background: (Ticker) -> Surface) {
        let begins = shared.signal { shared in
            shared.placed = tickers.map { ticker in
                guard var placed = shared.placed.first(where: { $0.ticker.name == ticker.name && $0.ticker.looksLike(ticker) }) else {
                    let strip = TickerStrip(width: ticker.place.width, isMirrored: ticker.isMirrored)
                    var placed = PlacedTicker(ticker: ticker, strip: strip, background: background(ticker))
                    placed.strip.setTexts(ticker.texts, margin: 0)
                    return placed
                }
                if placed.ticker.pace != ticker.pace { (placed.count, placed.distance) = (0, 0) }
                placed.ticker = ticker
                placed.strip.setTexts(ticker.texts, margin: 4 * ticker.pace.pixels)
                return placed
            }
            defer { if !shared.placed.isEmpty { shared.isRunning = true } }
            return !shared.placed.isEmpty && !shared.isRunning && !shared.isStopped
        }
        if begins { Thread("ticker", realtimePriority: 5) { [self] in run() }.detach() }
    }

    /// Draws the missing parts of the strips; `draw` returns a tile and the length of its run. From thread `overlays`.
    func fill(_ draw: (Ticker, TickerStrip.Need) -> (Surface, length: Int)?) {
        shared.withLock { $0.hasAsked = false }
        while true {
            let missing = shared.withLock { shared in
                shared.placed.lazy.compactMap { placed in placed.strip.need(ahead: self.ahead(placed)).map { (placed.ticker, $0) } }.first
            }
            guard let (ticker, need) = missing else { return }
            let tile = draw(ticker, need)
            shared.withLock { shared in
                guard let index = shared.placed.firstIndex(where: { $0.ticker == ticker }) else { return }
                if let tile {
                    shared.placed[index].strip.append(tile.0, of: need, length: tile.length)
                } else {
                    // The text cannot be drawn: goes on without it.
                    shared.placed[index].strip.setTexts(ticker.texts.filter { $0 != need.text }, margin: 0)
                }
            }
        }
    }

    private func ahead(_ placed: PlacedTicker) -> Int {
        let period = max(screen.mode?.refreshPeriod ?? .milliseconds(16), .milliseconds(2))
        return placed.ticker.pace.distance(after: Int(Self.ahead / period.seconds)) + TickerStrip.tileWidth
    }

    func stop() { shared.signal { $0.isStopped = true } }

    private func run() {
        var last: HostTime?
        var seen = Overlay()
        while true {
            let now = HostTime.now
            // Without a display, the ticker is not visible.
            let mode = screen.mode
            let period = mode.map { max($0.refreshPeriod, .milliseconds(2)) } ?? .milliseconds(250)
            let vblank = mode == nil ? now + period : player.vblank(after: now) ?? now + period
            // No step if only the known time of the vblank has changed.
            let steps = last.map { max(0, Int(saturating: ((vblank - $0).seconds / period.seconds).rounded())) } ?? 1
            last = vblank
            let (overlay, movesNext, asks, ends) = shared.withLock { shared in
                var asks = false
                for index in shared.placed.indices {
                    Self.move(&shared.placed[index], by: steps)
                    if shared.placed[index].strip.need(ahead: ahead(shared.placed[index]) / 2) != nil { asks = true }
                }
                let ends = shared.placed.isEmpty || shared.isStopped
                if ends { shared.isRunning = false }
                defer { if asks { shared.hasAsked = true } }
                return (Self.overlay(shared.placed), shared.placed.contains(where: Self.movesNext), asks && !shared.hasAsked, ends)
            }
            if asks { needsTiles() }
            if ends { return player.setOverlay(Overlay(), by: .init(.ticker)) }
            if overlay != seen {
                seen = overlay
                player.setOverlay(overlay, by: .init(.ticker))
                if movesNext { player.expectOverlay(after: vblank, by: .init(.ticker)) }
            }
            let next = vblank + period.scaled(by: 1 - Self.lead)
            _ = shared.wait(until: next) { $0.isStopped ? true : nil }
        }
    }

    private static func move(_ placed: inout PlacedTicker, by steps: Int) {
        placed.count += min(steps, 1 << 20)
        let distance = placed.ticker.pace.distance(after: placed.count)
        placed.strip.move(by: distance - placed.distance)
        placed.distance = distance
    }

    /// Returns whether it moves at the next vblank.
    private static func movesNext(_ placed: PlacedTicker) -> Bool {
        placed.ticker.pace.distance(after: placed.count + 1) != placed.distance
    }

    private static func overlay(_ all: [PlacedTicker]) -> Overlay {
        let pictures = all.flatMap { placed in
            let (ticker, alpha) = (placed.ticker, Double(placed.ticker.look.opacity) / 100)
            // The background is as large as the visible part, so the plane stays in place.
            let background = Overlay.Picture(surface: placed.background, x: ticker.place.x, y: ticker.place.y, alpha: alpha)
            return [background] + placed.strip.pictures(in: ticker.place, alpha: alpha)
        }
        return Overlay(pictures: pictures, width: all.first?.ticker.width, height: all.first?.ticker.height)
    }
}
