import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore
@testable import KioskInputCore

/// Changes to the shelf's content while it is open, scrolled and touched. Some come between two frames, when the drawing threads ask for
/// work.
@Suite struct ShelfChangeTests {
    /// Returns a shelf scrolled to its end. The rows to draw there are known, but not drawn yet.
    private static func scrolled(_ count: Int = 1000) -> ShelfViewer {
        var viewer = ShelfViewer(count)
        viewer.shelf.scroll.jump(to: viewer.shelf.scroll.limit)
        viewer.shelf.prepare(at: viewer.now)
        return viewer
    }

    /// Checks the next work for the drawing threads, and the screen, as they are at this moment.
    private static func ask(_ viewer: ShelfViewer) {
        let shelf = viewer.shelf
        if let wanted = shelf.wantedRow { #expect(wanted.cards == shelf.cards(ofRow: wanted.row) && !wanted.cards.isEmpty) }
        if let wanted = shelf.wantedThumbnail { #expect(shelf.entries.contains(wanted.entry)) }
        #expect(!shelf.parts(at: viewer.now).isEmpty)
    }

    @Test func `a search on a scrolled shelf asks for no row that has gone`() throws {
        var viewer = Self.scrolled()
        #expect(viewer.shelf.wantedRow != nil)
        for text in ["clip 77", "clip 777", "zebra", ""] {
            viewer.shelf.find(text, at: viewer.now)
            Self.ask(viewer)
        }
        viewer = Self.scrolled()
        for letter in "clip 777" {
            try viewer.type(String(letter))
            Self.ask(viewer)
        }
        viewer.shelf.prepare(at: viewer.now)
        #expect(viewer.shelf.wantedRow?.cards.map(\.title) == ["clip 777"])
    }

    @Test func `files that go from a scrolled shelf are asked for no more`() {
        for left in [500, 7, 1, 0] {
            var viewer = Self.scrolled()
            let (entries, last) = (viewer.shelf.entries, viewer.shelf.wantedThumbnail?.entry)
            viewer.shelf.setEntries(Array(entries.prefix(left)), at: viewer.now)
            Self.ask(viewer)
            // A result that arrives for a deleted file is discarded, and takes no memory.
            let picture = PreviewPicture(Surface(width: 1, height: 1, pixels: [0xffff_ffff]))
            viewer.shelf.set(ClipFacts(), picture, of: last!)
            #expect(viewer.shelf.facts.isEmpty && viewer.shelf.thumbnails.byteCount == 0)
            viewer.wait(2000)
            viewer.shelf.prepare(at: viewer.now)
            Self.ask(viewer)
            #expect((viewer.shelf.wantedRow == nil) == (left == 0))
        }
    }

    @Test func `a scrolled shelf may come to another screen`() {
        for geometry in Gallery.glasses.map(\.geometry) {
            var viewer = Self.scrolled()
            viewer.shelf.find("clip 9", at: viewer.now)
            viewer.shelf.scroll.jump(to: viewer.shelf.scroll.limit)
            viewer.shelf.prepare(at: viewer.now)
            viewer.shelf.setGeometry(geometry, at: viewer.now)
            Self.ask(viewer)
            viewer.shelf.setGeometry(ShelfViewer.desk, at: viewer.now)
            Self.ask(viewer)
        }
    }

    @Test func `a row that does not exist has no cards`() {
        let shelf = ShelfViewer(10).shelf
        for row in [-3, -1, 2, 1000] where row * shelf.layout!.columns >= 10 || row < 0 { #expect(shelf.cards(ofRow: row).isEmpty) }
        #expect(shelf.cards(ofRow: 10 / shelf.layout!.columns).count == 10 % shelf.layout!.columns)
    }

    @Test func `a finger that is lifted opens the card that it touched, or none`() {
        var viewer = ShelfViewer(50)
        let place = viewer.shelf.layout!.card(7, 0), entries = viewer.shelf.entries
        let (x, y) = (Double(place.x + 5), Double(place.y + 5))
        _ = viewer.contact(.down, x, y)
        // A file is added behind the touched one.
        viewer.shelf.setEntries(entries + ShelfViewer.entries(51).suffix(1), at: viewer.now)
        _ = viewer.contact(.up, x, y)
        #expect(viewer.shelf.panel == .entry(entries[7]))
        _ = viewer.shelf.press(.dismiss)
        _ = viewer.contact(.down, x, y)
        // A file before it is deleted, so another card lies under the finger.
        viewer.shelf.setEntries(Array(entries.dropFirst()), at: viewer.now)
        _ = viewer.contact(.up, x, y)
        #expect(viewer.shelf.panel == nil)
    }

    @Test func `a finger that is lifted presses the button that it touched, or none`() {
        var viewer = ShelfViewer(10)
        viewer.shelf.add(viewer.shelf.entries[2])
        _ = viewer.shelf.makeFilm()
        viewer.tap(viewer.shelf.layout!.buttons[.film]!)
        let cancel = viewer.place(of: .cancelExport)
        _ = viewer.contact(.down, Double(cancel.x + 5), Double(cancel.y + 5))
        // The export is done; "Make the film" is now in the place of "Cancel".
        viewer.shelf.set(.done("/srv/films/film.mp4"))
        #expect(viewer.contact(.up, Double(cancel.x + 5), Double(cancel.y + 5)) == [])
        #expect(viewer.shelf.export == .done("/srv/films/film.mp4"))
    }

    @Test func `another configuration's shelf finds what files call themselves, too`() {
        var before = ShelfViewer(20).shelf
        var facts = ClipFacts()
        facts.title = "Harbour in autumn"
        before.set(facts, nil, of: before.entries[4])
        var after = ShelfState(before.settings)
        after.adopt(before)
        after.find("harbour", at: HostTime(nanoseconds: 0))
        #expect(after.found == [before.entries[4]])
    }

    // MARK: The film

    @Test func `what was put into the film twice is taken out once, the last first`() {
        var shelf = ShelfViewer(10).shelf
        let (a, b) = (shelf.entries[0], shelf.entries[1])
        for entry in [a, b, a, b] { shelf.add(entry) }
        shelf.remove(a)
        #expect(shelf.film.clips == [a, b, b])
        shelf.remove(a)
        #expect(shelf.film.clips == [b, b])
        shelf.remove(a)
        #expect(shelf.film.clips == [b, b])
    }

    @Test func `a clip of the film that is touched is moved and taken out`() {
        var viewer = ShelfViewer(10)
        let (a, b, c) = (viewer.shelf.entries[0], viewer.shelf.entries[1], viewer.shelf.entries[2])
        for entry in [a, b, c] { viewer.shelf.add(entry) }
        viewer.tap(viewer.shelf.layout!.buttons[.film]!)
        #expect(viewer.shelf.panelText?.buttons == [.export, .clear, .dismiss] && viewer.shelf.panelText?.lines.count == 4)
        viewer.tap(viewer.place(ofClip: 0))
        #expect(viewer.shelf.chosenClip == 0 && viewer.shelf.panelText?.buttons == [.earlier, .later, .removeClip, .back])
        for order in [[b, a, c], [b, c, a], [b, c, a]] {
            viewer.tap(viewer.place(of: .later))
            #expect(viewer.shelf.film.clips == order)
        }
        #expect(viewer.shelf.chosenClip == 2)
        for order in [[b, a, c], [a, b, c], [a, b, c]] {
            viewer.tap(viewer.place(of: .earlier))
            #expect(viewer.shelf.film.clips == order)
        }
        viewer.tap(viewer.place(ofClip: 1))
        viewer.tap(viewer.place(of: .removeClip))
        #expect(viewer.shelf.film.clips == [a, c] && viewer.shelf.panel == .film)
        viewer.tap(viewer.place(ofClip: 1))
        viewer.tap(viewer.place(of: .back))
        #expect(viewer.tap(viewer.place(of: .export)) == [.export(viewer.shelf.film)])
        // During an export the list of clips cannot be changed.
        let progress = viewer.shelf.panelText
        #expect(progress?.clips.isEmpty == true)
        let place = viewer.shelf.panelPlaces!
        viewer.tap(PixelRectangle(x: place.box.x + place.lines[1].x, y: place.box.y + place.lines[1].y, width: 9, height: 9))
        #expect(viewer.shelf.panelText == progress)
    }

    @Test func `keys go through the clips of a long film, and those around the chosen one are seen`() throws {
        var viewer = ShelfViewer(40)
        for entry in viewer.shelf.entries { viewer.shelf.add(entry) }
        try viewer.key("red")
        #expect(viewer.shelf.panelText?.clips == 0..<6 && viewer.shelf.panelText?.lines[6] == "and 34 more")
        for _ in 0..<20 { try viewer.key("down") }
        #expect(viewer.shelf.chosenClip == 19 && viewer.shelf.panelText?.clips == 17..<23)
        #expect(viewer.shelf.panelText?.lines[2] == "20  clip 20")
        // Move it later twice, with one button.
        for key in ["right", "enter", "enter"] { try viewer.key(key) }
        #expect(viewer.shelf.film.clips[21] == viewer.shelf.entries[19] && viewer.shelf.chosenClip == 21)
        for _ in 0..<50 { try viewer.key("down") }
        #expect(viewer.shelf.chosenClip == 39 && viewer.shelf.panelText?.clips == 34..<40)
        try viewer.key("back")
        #expect(viewer.shelf.panel == .film)
        try viewer.key("down")
        #expect(viewer.shelf.chosenClip == 0)
        try viewer.key("up")
        #expect(viewer.shelf.panel == .film)
        try viewer.key("back")
        #expect(viewer.shelf.panel == nil && viewer.shelf.isOpen)
    }

    @Test(arguments: Gallery.glasses.map(\.geometry)) func `a finger comes to every clip, on a low screen too`(geometry: ScreenGeometry) {
        var viewer = ShelfViewer(10, on: geometry)
        for entry in viewer.shelf.entries { viewer.shelf.add(entry) }
        viewer.shelf.add(ShelfEntry(source: "/srv/song.m4a", version: nil))
        viewer.tap(viewer.shelf.layout!.buttons[.film]!)
        for place in 0..<10 {
            #expect(viewer.shelf.panelText?.clips.contains(place) == true, "\(place)")
            viewer.tap(viewer.place(ofClip: place))
            #expect(viewer.shelf.chosenClip == place)
        }
    }

    @Test func `a clip that is chosen is not mistaken for another one when files go`() {
        var viewer = ShelfViewer(10)
        let entries = viewer.shelf.entries
        for entry in entries.prefix(3) { viewer.shelf.add(entry) }
        viewer.tap(viewer.shelf.layout!.buttons[.film]!)
        viewer.tap(viewer.place(ofClip: 1))
        viewer.shelf.setEntries(Array(entries.dropLast()), at: viewer.now)
        #expect(viewer.shelf.chosenClip == 1)
        viewer.shelf.setEntries(Array(entries.dropFirst()), at: viewer.now)
        #expect(viewer.shelf.chosenClip == nil && viewer.shelf.panel == .film && viewer.shelf.film.clips == [entries[1], entries[2]])
    }

    @Test func `a clip is moved to any place, and what became of the film before is forgotten`() {
        var shelf = ShelfViewer(10).shelf
        let (a, b, c) = (shelf.entries[0], shelf.entries[1], shelf.entries[2])
        for entry in [a, b, c] { shelf.add(entry) }
        shelf.set(.done("/srv/films/film.mp4"))
        shelf.moveClip(at: 3, to: 0)
        shelf.moveClip(at: -1, to: 0)
        #expect(shelf.film.clips == [a, b, c] && shelf.export != nil)
        shelf.moveClip(at: 0, to: 99)
        #expect(shelf.film.clips == [b, c, a] && shelf.export == nil)
        shelf.moveClip(at: 2, to: -5)
        #expect(shelf.film.clips == [a, b, c])
    }

    @Test func `what cannot be played, and what is too much, is not put into the film`() {
        var shelf = ShelfViewer(200).shelf
        let broken = shelf.entries[3]
        var facts = ClipFacts()
        facts.problem = "is empty (0 bytes): copy it again"
        shelf.set(facts, nil, of: broken)
        #expect(shelf.objection(toAdding: broken) == "\(broken.source): is empty (0 bytes): copy it again")
        shelf.add(broken)
        #expect(shelf.film.clips.isEmpty)
        for entry in shelf.entries.suffix(100) {
            #expect(shelf.objection(toAdding: entry) == nil)
            shelf.add(entry)
        }
        #expect(shelf.objection(toAdding: shelf.entries[0]) == "the film has 100 clips, which is the most")
        shelf.add(shelf.entries[0])
        #expect(shelf.film.clips.count == 100)
        // Sound becomes the film's music.
        #expect(shelf.objection(toAdding: ShelfEntry(source: "/srv/song.m4a", version: nil)) == nil)
    }
}

@Suite struct ShelfIndexTests {
    /// Decomposed, as macOS writes file names: the letter, then its accent as a code point of its own.
    private static let cafe = "Cafe\u{301} U\u{308}ber"

    @Test(arguments: [
        ("Café Über", "cafe"), ("Café Über", "uber"), ("Müller", "muller"), (cafe, "cafe"), (cafe, "Über"), ("cafe uber", "CAFÉ"),
        ("Straße", "strasse"), ("STRASSE", "straße"), ("GROẞ", "gross"), ("Ærø", "aero"), ("Łódź", "lodz"), ("Œuvre", "oeuvre"),
        ("Diyarbakır İstanbul", "diyarbakir istanbul"), ("Þingvellir í maí", "thingvellir mai"), ("Tiếng Việt", "tieng viet"),
        ("Йогурт", "иогурт"), ("И\u{306}огурт", "йогурт"), ("Ελλάδα Ζωή", "ελλαδα ζωη"), ("Ζωής", "ζωησ"),
        ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}", "한국"), ("か\u{3099}", "が"), ("ガイド", "カ\u{3099}イト\u{3099}"),
    ])
    func `accents and case make no difference, however they are written`(title: String, search: String) {
        let index = ShelfIndex([
            ShelfEntry(source: "/srv/other.mp4", version: nil), ShelfEntry(source: "/srv/\(title).mp4", version: nil),
        ])
        #expect(index.places(search) == [1])
    }

    @Test func `every word is looked for, in any order; what a file calls itself, too`() {
        var index = ShelfIndex([
            ShelfEntry(source: "/srv/Zürich/see.mp4", version: nil), ShelfEntry(source: "/srv/Genève/see.mp4", version: nil),
        ])
        #expect(index.places("see zurich") == [0] && index.places("geneve") == [1] && index.places("see") == [0, 1])
        #expect(index.places("zurich geneve") == [] && index.places(" ") == [0, 1] && index.places("") == [0, 1])
        index.add("Lac Léman", at: 1)
        #expect(index.places("leman") == [1] && index.places("leman zurich") == [])
    }
}
