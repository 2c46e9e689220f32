import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore
@testable import KioskInputCore

/// After any events in any order, the shelf can be drawn, and the drawing threads get only work that exists. The events are random,
/// thousands of them: fingers, keys, searches, added and deleted files, screens and films. Each seed is another walk.
@Suite struct ShelfWalkTests {
    @Test(arguments: 1...12) func anythingMayHappen(seed: UInt64) throws {
        var random = SeededWalk(seed)
        var viewer = ShelfViewer(random.below(40))
        let names = [
            "left", "right", "up", "down", "pageup", "pagedown", "home", "end", "enter", "ok", "esc", "back", "backspace", "red", "play",
            "space",
            "c", "l", "i", "p", "7", "1", "z",
        ]
        var isDown = false
        for step in 0..<3000 {
            let geometry = viewer.shelf.layout?.geometry
            func place() -> (Double, Double) {
                (Double(random.below(geometry?.width ?? 1)), Double(random.below(geometry?.height ?? 1)))
            }
            switch random.below(20) {
            case 0..<6: try viewer.key(names[random.below(names.count)])
            case 6..<9:
                let (x, y) = place()
                if geometry != nil, !isDown { viewer.tap(PixelRectangle(x: Int(x), y: Int(y), width: 1, height: 1)) }
            case 9..<13:
                let (x, y) = place()
                guard geometry != nil else { break }
                let phase: ContactEvent.Phase = !isDown ? .down : random.below(3) > 0 ? .move : random.below(4) > 0 ? .up : .cancelled
                isDown = phase == .down || phase == .move
                _ = viewer.contact(phase, x, y)
            case 13:
                let count = [0, 1, 3, 30, 300][random.below(5)]
                viewer.shelf.setEntries(Array(ShelfViewer.entries(count + random.below(9)).shuffled(using: &random)), at: viewer.now)
            case 14: viewer.shelf.find(["", "clip", "7", "clip 1", "zebra"][random.below(5)], at: viewer.now)
            case 15:
                let geometries = Gallery.glasses.map(\.geometry) + [ShelfViewer.desk]
                viewer.shelf.setGeometry(random.below(8) == 0 ? nil : geometries[random.below(geometries.count)], at: viewer.now)
            case 16:
                var facts = ClipFacts()
                if random.below(4) == 0 { facts.problem = "is empty (0 bytes): copy it again" }
                if random.below(2) == 0 { facts.title = "Clip \(random.below(9))" }
                let entries = ShelfViewer.entries(40)
                viewer.shelf.set(facts, nil, of: entries[random.below(40)])
            case 17:
                let exports: [ShelfExport?] = [nil, .running(0.4, left: .seconds(9)), .done("/srv/films/film.mp4"), .failed("no room")]
                viewer.shelf.set(exports[random.below(4)])
            case 18:
                if random.below(2) == 0, let entry = viewer.shelf.entries.randomElement(using: &random) { viewer.shelf.add(entry) }
                if viewer.shelf.isOpen, random.below(3) == 0 { _ = viewer.shelf.close() } else { _ = viewer.shelf.open(at: viewer.now) }
            default: viewer.wait(Int64([8, 16, 200, 3000, 70_000][random.below(5)]))
            }
            _ = viewer.shelf.advance(to: viewer.now)
            // The drawing thread comes later, at any time.
            if random.below(3) == 0 { viewer.shelf.prepare(at: viewer.now) }
            let shelf = viewer.shelf
            _ = shelf.parts(at: viewer.now)
            if let wanted = shelf.wantedRow {
                #expect(!wanted.cards.isEmpty && wanted.cards == shelf.cards(ofRow: wanted.row), "seed \(seed), step \(step)")
            }
            if let wanted = shelf.wantedThumbnail { #expect(shelf.entries.contains(wanted.entry), "seed \(seed), step \(step)") }
            #expect(shelf.film.clips.count <= 100, "seed \(seed), step \(step)")
            if let text = shelf.panelText, let places = shelf.panelPlaces {
                #expect(text.clips.count <= text.lines.count && places.lines.count == text.lines.count + 1, "seed \(seed), step \(step)")
                #expect(text.clips.isEmpty || text.clips.upperBound <= shelf.film.clips.count, "seed \(seed), step \(step)")
            }
        }
    }
}

/// The same for the controls: with any item, screen, fingers and keys, they can be drawn, and request nothing that does not exist.
@Suite struct ControlsWalkTests {
    @Test(arguments: 1...12) func anythingMayHappen(seed: UInt64) {
        var random = SeededWalk(seed)
        let screens =
            Gallery.glasses.map(\.geometry) + [
                Viewer.desk, ScreenGeometry(width: 1, height: 1, physicalWidth: nil, physicalHeight: nil),
                ScreenGeometry(width: 64, height: 4096, physicalWidth: 1, physicalHeight: 9000),
            ]
        let times: [MediaTime] = [.zero, -.seconds(5), .seconds(0.01), .seconds(41), .seconds(120), .seconds(500_000), .seconds(1e9)]
        let keys: [(String, Command)] = [
            ("i", .showControls), ("h", .hideControls), ("space", .player(.togglePlayback)), ("right", .player(.seekSteps(1))),
            ("left", .player(.seekSteps(-1))),
            ("volumeup", .player(.changeVolume(by: 5))), ("mute", .player(.toggleMute)), ("s", .player(.nextSubtitleTrack)),
        ]
        let tracks: [[AssetTrack]] = [
            [], Gallery.film, Gallery.thirty, [.made(.subtitle, title: String(repeating: "\u{202E}\u{0}e\u{301}", count: 100))],
        ]
        var viewer = Viewer(screens[random.below(screens.count)], keys: keys)
        viewer.obeys = random.below(2) == 0
        var down: [Int] = []
        for step in 0..<2000 {
            func place() -> Double { Double(random.below(1400)) / 1000 - 0.2 }
            switch random.below(16) {
            case 0..<2: viewer.key(keys[random.below(keys.count)].0, device: 7 + random.below(2))
            case 2: viewer.key(["up", "down", "pageup", "pagedown", "home", "end", "enter", "back"][random.below(8)])
            case 3..<5: viewer.tap(place(), place())
            case 5: if viewer.state.layout?.target(of: .subtitles) != nil { viewer.tap(.subtitles) }
            case 6..<8: if down.count < 4 { down.append(viewer.down(place(), place())) }
            case 8..<10: if let finger = down.randomElement(using: &random) { viewer.move(finger, place(), place()) }
            case 10..<12:
                guard let finger = down.popLast() else { break }
                if random.below(4) == 0 { viewer.cancel(finger) } else { viewer.up(finger) }
            case 12:
                viewer.now.time = times[random.below(times.count)]
                viewer.now.duration = random.below(3) == 0 ? nil : times[random.below(times.count)]
                viewer.now.bufferedUntil = random.below(2) == 0 ? nil : times[random.below(times.count)]
                viewer.now.isSeekable = random.below(2) == 0
            case 13:
                viewer.now.status = [.playing, .paused, .waitingToPlay][random.below(3)]
                viewer.now.hasEnded = random.below(5) == 0
                viewer.now.item = random.below(5) == 0 ? nil : random.below(3)
                (viewer.now.place, viewer.now.count) = (random.below(7), random.below(3))
                viewer.now.title =
                    ["", "Autumn", String(repeating: "Herbst am Hafen ", count: 200), "e\u{301}\u{202e}\u{0}"][random.below(4)]
                viewer.now.volume = [0, 100, -7, 1000][random.below(4)]
                viewer.now.setTracks(tracks[random.below(tracks.count)])
                viewer.now.asked.subtitle = [nil, .off, .automatic, .number(1 + random.below(40))][random.below(4)]
            case 14:
                viewer.geometry = screens[random.below(screens.count)]
                viewer.show(progress: [nil, 0, 55, 100, -3, 700][random.below(6)])
            default: viewer.wait(.milliseconds([8, 16, 300, 4000, 40_000][random.below(5)]))
            }
            for part in viewer.parts { #expect((0...1).contains(part.alpha), "seed \(seed), step \(step)") }
            for command in viewer.take() {
                if case .player(.scrub(let time)) = command { #expect(time >= .zero, "seed \(seed), step \(step)") }
                if case .player(.endScrub(let time)) = command { #expect(time >= .zero, "seed \(seed), step \(step)") }
                if case .player(.setVolume(let volume)) = command { #expect(0...100 ~= volume, "seed \(seed), step \(step)") }
                if case .player(.selectSubtitleTrack(.number(let number))) = command {
                    #expect(viewer.now.tracks.contains { $0.kind == .subtitle && $0.number == number }, "seed \(seed), step \(step)")
                }
            }
        }
    }
}

/// xorshift64*: a seed gives the same walk on every machine.
struct SeededWalk: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }
    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_f491_4f6c_dd1d
    }
    mutating func below(_ limit: Int) -> Int { limit <= 0 ? 0 : Int(next() % UInt64(limit)) }
}
