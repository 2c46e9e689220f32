import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore

@Suite struct ShelfDrawingTests {
    /// States of the shelf, and the way to reach each.
    private static let states: [(name: String, make: @Sendable (inout ShelfViewer) throws -> Void)] = [
        ("cards", { _ in }),
        ("scrolled", { $0.draw(from: 700, to: 500, over: 300, stays: 100) }),
        (
            "keys",
            { viewer in
                try viewer.key("right")
                try viewer.key("down")
                viewer.wait(1000)
            }
        ),
        ("panel", { viewer in viewer.shelf.openPanel(of: 1) }),
        ("problem", { viewer in viewer.shelf.openPanel(of: 2) }),
        (
            "keyboard",
            { viewer in
                viewer.tap(viewer.shelf.layout!.buttons[.search]!)
                viewer.shelf.find("clip 1", at: viewer.now)
            }
        ),
        (
            "film",
            { viewer in
                for place in [0, 3, 4] { viewer.shelf.add(viewer.shelf.entries[place]) }
                viewer.shelf.add(ShelfEntry(source: "/srv/Song of the sea.m4a", version: nil))
                _ = viewer.shelf.makeFilm()
                viewer.shelf.set(.running(0.42, left: .seconds(75)))
                viewer.tap(viewer.shelf.layout!.buttons[.film]!)
            }
        ),
        (
            "order",
            { viewer in
                for place in [0, 3, 4, 1, 6, 7, 8, 9] { viewer.shelf.add(viewer.shelf.entries[place]) }
                viewer.shelf.add(ShelfEntry(source: "/srv/Song of the sea.m4a", version: nil))
                viewer.tap(viewer.shelf.layout!.buttons[.film]!)
                viewer.tap(viewer.place(ofClip: 1))
            }
        ),
        ("nothing", { viewer in viewer.shelf.find("zebra", at: viewer.now) }),
    ]

    /// Returns a shelf with facts about its first clips, in a state, with all rows drawn.
    private func viewer(_ geometry: ScreenGeometry, _ make: (inout ShelfViewer) throws -> Void) throws -> ShelfViewer {
        var viewer = ShelfViewer(300, on: geometry)
        for (place, entry) in viewer.shelf.entries.prefix(60).enumerated() {
            var facts = ClipFacts()
            facts.title =
                place == 1 ? "Gradients, slowly turning over the whole length of a very long title" : place == 4 ? "الخريف في الميناء" : nil
            (facts.duration, facts.isPortrait, facts.hasSound) = (.seconds(Double(place * place * 7 + 5)), place % 3 == 0, place % 2 == 0)
            if place == 2 { facts.problem = MediaError.Reason.damaged("moov atom not found").text }
            viewer.shelf.set(facts, place == 2 ? nil : PreviewPicture(Gallery.harbour), of: entry)
        }
        try make(&viewer)
        viewer.shelf.prepare(at: viewer.now)
        let drawing = ShelfDrawing(theme: Theme()), typesetter = Typesetter(font: Theme().font)
        while let row = viewer.shelf.wantedRow {
            let surface = drawing.row(row.cards, row.layout, typesetter)
            viewer.shelf.set(ShelfState.Tile(cards: row.cards, picture: PreviewPicture(surface)), ofRow: row.row)
        }
        return viewer
    }

    @Test(.enabled(if: getenv("KIOSK_GALLERY") != nil)) func pictures() throws {
        let folder = String(cString: getenv("KIOSK_GALLERY"))
        for gallery in Gallery.glasses {
            var drawing = ControlsDrawing(Theme())
            for state in Self.states {
                let viewer = try viewer(gallery.geometry, state.make)
                let overlay = drawing.overlay(viewer.shelf.parts(at: viewer.now), on: gallery.geometry)
                Gallery.write(
                    Gallery.composed(overlay, on: gallery.geometry), gallery.geometry,
                    to: "\(folder)/shelf-\(gallery.name)-\(state.name).png")
            }
        }
    }

    /// A frame of a scroll can then be copied without the pixels beneath.
    @Test(arguments: Gallery.glasses.map(\.geometry)) func `cards and what stands for them are opaque and cover the screen`(
        geometry: ScreenGeometry
    ) throws {
        var drawing = ControlsDrawing(Theme())
        let viewer = try viewer(geometry) {
            $0.draw(from: 0.6 * Double(geometry.height), to: 0.3 * Double(geometry.height), over: 200, stays: 100)
        }
        let overlay = drawing.overlay(viewer.shelf.parts(at: viewer.now), on: geometry)
        let opaque = overlay.pictures.filter(\.surface.isOpaque)
        var covered = 0
        for picture in opaque.sorted(by: { $0.y < $1.y }) where picture.surface.width == geometry.width {
            #expect(picture.y <= covered && picture.alpha == 1)
            covered = max(covered, picture.y + picture.surface.height)
        }
        #expect(covered >= geometry.height)
    }

    @Test func `a frame of a scroll draws nothing`() throws {
        var drawing = ControlsDrawing(Theme())
        var viewer = try viewer(ShelfViewer.desk) { _ in }
        _ = drawing.overlay(viewer.shelf.parts(at: viewer.now), on: ShelfViewer.desk)
        viewer.shelf.scroll.hold(at: viewer.now)
        viewer.shelf.scroll.drag(by: -7)
        _ = drawing.overlay(viewer.shelf.parts(at: viewer.now), on: ShelfViewer.desk)
        let drawn = drawing.drawn
        for _ in 0..<30 {
            viewer.shelf.scroll.drag(by: -3)
            _ = drawing.overlay(viewer.shelf.parts(at: viewer.now), on: ShelfViewer.desk)
        }
        // `drawn` counts parts that were not cached; rows arrive already drawn.
        #expect(drawing.drawn - drawn <= 3)
    }
}
