import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskControlsCore

/// The strip of a ticker: its content and position.
@Suite struct TickerTests {
    private static func surface(_ width: Int) -> Surface { Surface(width: width, height: 2, pixels: Array(repeating: 0, count: width * 2)) }

    /// Draws the missing tiles, as if each letter were 100 pixels wide.
    private static func fill(_ strip: inout TickerStrip, ahead: Int = 500) {
        while let need = strip.need(ahead: ahead) {
            let length = need.text.count * 100
            strip.append(surface(min(TickerStrip.tileWidth, length - need.offset)), of: need, length: length)
        }
    }

    /// Returns the tiles' starts.
    private static func starts(_ strip: TickerStrip) -> [Int] { strip.tiles.map(\.start) }

    @Test(
        "The whole pixels next to the speed that is wanted",
        arguments: [
            (10, 1920, 60, 3, 1), (20, 848, 60, 3, 1), (20, 848, 50, 3, 1), (1, 1280, 60, 1, 4), (2, 1280, 60, 1, 2), (4, 1280, 60, 1, 1),
            (100, 3840, 24, 160, 1),
            (1, 1, 240, 1, 4),
        ])
    func pace(_ speed: Int, _ width: Int, _ refresh: Int, _ pixels: Int, _ vblanks: Int) {
        let pace = TickerPace(speed: speed, width: width, period: MediaTime(nanoseconds: 1_000_000_000 / Int64(refresh)))
        #expect((pace.pixels, pace.vblanks) == (pixels, vblanks))
        #expect((0...8).map(pace.distance) == (0...8).map { $0 / vblanks * pixels })
    }

    @Test func `it enters at the side, and one text follows another without end`() {
        var strip = TickerStrip(width: 800, isMirrored: false)
        strip.setTexts(["four", "sevenxx"], margin: 0)
        #expect(strip.position == -800 && strip.pictures(in: .init(x: 0, y: 0, width: 800, height: 2), alpha: 1).isEmpty)
        Self.fill(&strip)
        #expect(Self.starts(strip) == [0, 400])
        var seen: Set<Int> = []
        for _ in 0..<4000 {
            strip.move(by: 3)
            Self.fill(&strip)
            let tiles = strip.tiles
            // No gap and no overlap.
            #expect(zip(tiles, tiles.dropFirst()).allSatisfy { $0.end == $1.start } && tiles.last!.end >= strip.position + 800)
            #expect(tiles.count < 8)
            seen.formUnion(tiles.map { $0.start % 1100 })
        }
        #expect(seen == [0, 400])
    }

    /// 60 vblanks a second, and new texts every minute.
    @Test func `at every vblank of an hour all that is seen is on a straight line`() {
        let pace = TickerPace(speed: 10, width: 1920, period: MediaTime(nanoseconds: 16_666_667))
        let place = PixelRectangle(x: 0, y: 0, width: 1920, height: 2)
        var strip = TickerStrip(width: 1920, isMirrored: false)
        var (before, moved, wrong): ([Int: Int], Int, Int) = ([:], 0, 0)
        for vblank in 0..<60 * 3600 {
            if vblank % 3600 == 0 { strip.setTexts(["minute \(vblank / 3600)", "four"], margin: 4 * pace.pixels) }
            strip.move(by: pace.distance(after: vblank + 1) - pace.distance(after: vblank))
            Self.fill(&strip)
            let pictures = strip.pictures(in: place, alpha: 1)
            // Each tile's start on the strip, with its place on the screen.
            var seen: [Int: Int] = [:]
            for (tile, picture) in zip(strip.tiles, pictures) { seen[tile.start] = picture.x }
            for (start, x) in seen {
                guard let last = before[start] else { continue }
                if last - x == pace.pixels { moved += 1 } else { wrong += 1 }
            }
            if vblank > 700, !(strip.tiles[0].start <= strip.position && pictures.last.map { $0.x + $0.surface.width >= 1920 } == true) {
                wrong += 1
            }
            before = seen
        }
        #expect(wrong == 0 && moved > 60 * 3600)
    }

    @Test func `a text of any length costs what is seen of it`() {
        var strip = TickerStrip(width: 800, isMirrored: false)
        strip.setTexts([String(repeating: "x", count: 2000)], margin: 0)
        for _ in 0..<2000 {
            strip.move(by: 50)
            Self.fill(&strip)
            #expect(strip.tiles.reduce(0) { $0 + $1.surface.width } <= 800 + 500 + 2 * TickerStrip.tileWidth)
        }
    }

    @Test func `other texts follow the run that somebody has seen some of, and nothing jumps`() {
        var strip = TickerStrip(width: 800, isMirrored: false)
        strip.setTexts(["four", "fives"], margin: 0)
        Self.fill(&strip)
        for _ in 0..<100 { strip.move(by: 5) }
        // The strip has moved 500 pixels, so the second run, from 400 on, is in view.
        Self.fill(&strip)
        #expect(Self.starts(strip) == [0, 400, 900])
        strip.setTexts(["xx"], margin: 10)
        #expect(Self.starts(strip) == [0, 400])
        Self.fill(&strip, ahead: 600)
        #expect(Self.starts(strip) == [0, 400, 900])
        Self.fill(&strip, ahead: 800)
        #expect(Self.starts(strip) == [0, 400, 900, 1100])
        // Setting the same texts again changes nothing.
        strip.setTexts(["xx"], margin: 10)
        #expect(Self.starts(strip) == [0, 400, 900, 1100])
        // A partly drawn run is completed only if it is in view.
        var long = TickerStrip(width: 800, isMirrored: false)
        long.setTexts([String(repeating: "x", count: 50)], margin: 0)
        Self.fill(&long)
        long.setTexts(["yy"], margin: 0)
        Self.fill(&long)
        #expect(long.tiles.first?.surface.width == 200 && long.tiles.first?.start == 0)
        long = TickerStrip(width: 800, isMirrored: false)
        long.setTexts([String(repeating: "x", count: 50)], margin: 0)
        Self.fill(&long)
        for _ in 0..<20 { long.move(by: 5) }
        long.setTexts(["yy"], margin: 10)
        while long.tiles.last?.run == 0 {
            Self.fill(&long)
            long.move(by: 5)
        }
        #expect(long.tiles.last?.run == 5000)
    }

    @Test func `texts that come when nothing is left, or too late, enter at the side`() {
        var strip = TickerStrip(width: 800, isMirrored: false)
        strip.setTexts([], margin: 0)
        #expect(strip.need(ahead: 500) == nil)
        for _ in 0..<500 { strip.move(by: 5) }
        strip.setTexts(["four"], margin: 10)
        #expect(strip.need(ahead: 0) == .init(text: "four", offset: 0))
        Self.fill(&strip)
        #expect(Self.starts(strip).first == 2500 - 800 + 800)
        // A tile drawn for another text is discarded.
        strip.append(Self.surface(10), of: .init(text: "other", offset: 0), length: 10)
        #expect(!strip.tiles.contains { $0.surface.width == 10 })
    }

    @Test func `a strip that is read from the right runs to the right`() {
        var strip = TickerStrip(width: 800, isMirrored: true)
        strip.setTexts(["four"], margin: 0)
        Self.fill(&strip)
        let place = PixelRectangle(x: 100, y: 50, width: 800, height: 2)
        strip.move(by: 10)
        #expect(
            strip.pictures(in: place, alpha: 0.5) == [.init(surface: strip.tiles[0].surface, x: 100 - 390, y: 50, alpha: 0.5, clip: place)])
        strip.move(by: 790)
        #expect(strip.pictures(in: place, alpha: 1).map(\.x) == [500, 100])
    }
}
