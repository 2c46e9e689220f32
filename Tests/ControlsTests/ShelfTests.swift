import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore
@testable import KioskInputCore

/// A shelf on a screen, with fingers and keys.
struct ShelfViewer {
    static let desk = ScreenGeometry(width: 1920, height: 1080, physicalWidth: 531, physicalHeight: 299)
    var shelf: ShelfState
    var now = HostTime(nanoseconds: 1_000_000_000)
    private var contacts = 0

    init(_ count: Int, on geometry: ScreenGeometry = desk, open: Bool = true) {
        var settings = ShelfState.Settings()
        (settings.isOffered, settings.closeAfter, settings.makesFilms) = (true, .seconds(60), true)
        shelf = ShelfState(settings)
        shelf.setEntries(Self.entries(count), at: now)
        shelf.setGeometry(geometry, at: now)
        if open { _ = shelf.open(at: now) }
        shelf.prepare(at: now)
    }

    static func entries(_ count: Int) -> [ShelfEntry] {
        (1...max(1, count)).prefix(count).map {
            ShelfEntry(
                source: "/srv/videos/clip \($0).mp4", version: FileVersion(device: 1, inode: UInt64($0), size: 10, modified: 1))
        }
    }

    var offset: Int { Int(shelf.scroll.position(at: now).rounded()) }

    mutating func wait(_ milliseconds: Int64) { now += .milliseconds(milliseconds) }

    mutating func contact(_ phase: ContactEvent.Phase, _ x: Double, _ y: Double) -> [ShelfAction] {
        if phase == .down { contacts += 1 }
        let geometry = shelf.layout!.geometry
        let contact = Contact(slot: 0, id: contacts, x: x / Double(geometry.width), y: y / Double(geometry.height), surface: .display)
        return shelf.handle(.contact(ContactEvent(device: DeviceID(rawValue: 0), contact: contact, phase: phase, time: now)))
    }

    @discardableResult mutating func tap(_ place: PixelRectangle) -> [ShelfAction] {
        let (x, y) = (Double(place.x + place.width / 2), Double(place.y + place.height / 2))
        let down = contact(.down, x, y)
        wait(60)
        return down + contact(.up, x, y)
    }

    /// Drags a finger from one height to another, with a report every 8 ms.
    mutating func draw(from start: Double, to end: Double, over milliseconds: Int64, stays: Int64 = 0) {
        _ = contact(.down, 900, start)
        let steps = milliseconds / 8
        for step in 1...steps {
            wait(8)
            _ = contact(.move, 900, start + (end - start) * Double(step) / Double(steps))
        }
        wait(stays)
        _ = contact(.up, 900, end)
    }

    @discardableResult mutating func key(_ name: String) throws -> [ShelfAction] {
        let code = try KeyCode(named: name)
        let actions = shelf.handle(.key(KeyEvent(device: DeviceID(rawValue: 1), key: code, phase: .press, time: now)))
        wait(30)
        return actions + shelf.handle(.key(KeyEvent(device: DeviceID(rawValue: 1), key: code, phase: .release, time: now)))
    }

    mutating func type(_ text: String) throws { for letter in text { try key(letter == " " ? "space" : String(letter)) } }

    func place(of button: ShelfButton) -> PixelRectangle {
        let places = shelf.panelPlaces!
        let place = places.buttons[shelf.panelText!.buttons.firstIndex(of: button)!]
        return PixelRectangle(x: places.box.x + place.x, y: places.box.y + place.y, width: place.width, height: place.height)
    }

    /// Returns the line of the film's panel for the clip at this place. The clip must be among the listed ones.
    func place(ofClip clip: Int) -> PixelRectangle {
        let places = shelf.panelPlaces!
        let place = places.lines[shelf.panelText!.line(ofClip: clip)!]
        return PixelRectangle(x: places.box.x + place.x, y: places.box.y + place.y, width: place.width, height: place.height)
    }
}

@Suite struct ShelfTests {
    @Test func `it opens, says so, and closes when nobody has touched it for a while`() {
        var viewer = ShelfViewer(10, open: false)
        #expect(viewer.shelf.parts(at: viewer.now).isEmpty)
        #expect(viewer.shelf.open(at: viewer.now) == [.opened])
        #expect(viewer.shelf.open(at: viewer.now) == [])
        viewer.wait(59_000)
        #expect(viewer.shelf.advance(to: viewer.now) == [])
        _ = viewer.contact(.down, 5, 5)
        viewer.wait(50_000)
        _ = viewer.contact(.up, 5, 5)
        viewer.wait(59_000)
        #expect(viewer.shelf.advance(to: viewer.now) == [])
        viewer.wait(1000)
        #expect(viewer.shelf.deadline(after: viewer.now) == viewer.now)
        #expect(viewer.shelf.advance(to: viewer.now) == [.closed] && !viewer.shelf.isOpen)
        var none = ShelfState()
        #expect(none.open(at: viewer.now) == [])
    }

    @Test func `an entry is named by its place, and no number is too large for that`() {
        let shelf = ShelfViewer(3).shelf
        #expect(shelf.entry(named: "2") == shelf.found[1] && shelf.entry(named: "clip 3.mp4") != nil)
        for name in ["0", "-1", "4", "\(Int.min)", "\(Int.max)"] { #expect(shelf.entry(named: name) == nil, "\(name)") }
    }

    @Test func `a finger scrolls, throws, and catches what runs`() {
        var viewer = ShelfViewer(10_000)
        viewer.draw(from: 900, to: 500, over: 400, stays: 200)
        // The whole drag, less the distance that distinguished it from a tap.
        #expect((380...400).contains(viewer.offset))
        let rested = viewer.offset
        viewer.wait(500)
        #expect(viewer.offset == rested)
        viewer.draw(from: 900, to: 300, over: 120)
        let thrown = viewer.offset
        #expect(viewer.shelf.isMoving(at: viewer.now))
        viewer.wait(300)
        #expect(viewer.offset > thrown + 500)
        // A touch stops the running scroll, and opens nothing.
        let actions = viewer.contact(.down, 900, 600)
        let caught = viewer.offset
        viewer.wait(100)
        #expect(actions.isEmpty && viewer.contact(.up, 900, 600).isEmpty && viewer.shelf.panel == nil)
        viewer.wait(500)
        #expect(viewer.offset == caught)
    }

    @Test func `the bar at the right goes to any place at once`() {
        var viewer = ShelfViewer(10_000)
        let layout = viewer.shelf.layout!
        let x = Double(layout.geometry.width - 4)
        _ = viewer.contact(.down, x, Double(layout.head.height + layout.viewport / 2))
        let middle = Double(layout.limit(10_000)) / 2
        #expect(abs(Double(viewer.offset) - middle) < middle / 50)
        _ = viewer.contact(.move, x, Double(layout.geometry.height))
        _ = viewer.contact(.up, x, Double(layout.geometry.height))
        #expect(viewer.offset == layout.limit(10_000))
    }

    @Test func `a card that is touched has a panel, whose buttons play, play on from there, and add`() throws {
        var viewer = ShelfViewer(50)
        let entries = viewer.shelf.entries
        let layout = viewer.shelf.layout!
        viewer.tap(layout.card(7, 0))
        #expect(viewer.shelf.panel == .entry(entries[7]))
        viewer.tap(viewer.place(of: .add))
        #expect(viewer.shelf.film.clips == [entries[7]] && viewer.shelf.panel == nil)
        viewer.tap(layout.card(7, 0))
        viewer.tap(viewer.place(of: .remove))
        #expect(viewer.shelf.film.clips.isEmpty)
        viewer.tap(layout.card(9, 0))
        // A tap beside the panel closes it.
        viewer.tap(layout.card(0, 0))
        #expect(viewer.shelf.panel == nil)
        viewer.tap(layout.card(9, 0))
        #expect(viewer.tap(viewer.place(of: .playFrom)) == [.playFrom(Array(entries[9...]))] && !viewer.shelf.isOpen)
        _ = viewer.shelf.open(at: viewer.now)
        viewer.tap(layout.card(3, 0))
        #expect(viewer.tap(viewer.place(of: .play)) == [.play(entries[3])] && !viewer.shelf.isOpen)
    }

    @Test func `what cannot be played says why, and is not played`() throws {
        var viewer = ShelfViewer(5)
        let entry = viewer.shelf.entries[1]
        var facts = ClipFacts()
        facts.problem = "is empty (0 bytes): copy it again"
        viewer.shelf.set(facts, nil, of: entry)
        #expect(viewer.shelf.cards(ofRow: 0)[1].detail == facts.problem && viewer.shelf.cards(ofRow: 0)[1].hasProblem)
        viewer.tap(viewer.shelf.layout!.card(1, 0))
        let text = try #require(viewer.shelf.panelText)
        #expect(text.buttons == [.dismiss] && text.lines.joined(separator: " ").contains("is empty (0 bytes)"))
        viewer.tap(viewer.place(of: .dismiss))
        #expect(viewer.shelf.playFrom(viewer.shelf.entries[0]) == [.playFrom(viewer.shelf.entries.filter { $0 != entry })])
    }

    @Test func `keys move the focus, scroll after it, and choose`() throws {
        var viewer = ShelfViewer(200)
        let columns = viewer.shelf.layout!.columns
        try viewer.key("right")
        #expect(viewer.shelf.showsFocus && viewer.shelf.focus == 0)
        try viewer.key("right")
        for _ in 0..<10 { try viewer.key("down") }
        #expect(viewer.shelf.focus == 1 + 10 * columns)
        viewer.wait(1500)
        let layout = viewer.shelf.layout!
        let card = layout.card(viewer.shelf.focus, viewer.offset)
        #expect(card.y >= layout.head.height && card.y + card.height <= layout.geometry.height)
        try viewer.key("end")
        viewer.wait(1500)
        #expect(viewer.shelf.focus == 199 && viewer.offset <= layout.limit(200) && viewer.offset > layout.limit(200) - layout.pitch / 4)
        try viewer.key("enter")
        #expect(viewer.shelf.panel == .entry(viewer.shelf.entries[199]))
        try viewer.key("right")
        #expect(try viewer.key("ok") == [.playFrom([viewer.shelf.entries[199]])])
        _ = viewer.shelf.open(at: viewer.now)
        #expect(try viewer.key("esc") == [.closed])
    }

    @Test func `typing finds, erasing widens, and what is found is counted`() throws {
        var viewer = ShelfViewer(10_000)
        try viewer.type("clip 99")
        #expect(viewer.shelf.found.count == (1...10_000).count { String($0).contains("99") } && viewer.offset == 0)
        try viewer.type("99")
        #expect(viewer.shelf.found.map(\.title) == ["clip 9999"])
        try viewer.key("backspace")
        #expect(viewer.shelf.found.count == (1...10_000).count { String($0).contains("999") })
        #expect(try viewer.key("back") == [] && viewer.shelf.found.count == 10_000)
        try viewer.type("zebra")
        #expect(viewer.shelf.found.isEmpty)
        let parts = viewer.shelf.parts(at: viewer.now).map(\.part)
        #expect(parts.contains { if case .shelf(.note(let text, _, _, _)) = $0 { text.contains("zebra") } else { false } })
    }

    @Test func `the keyboard on the screen types, too`() throws {
        var viewer = ShelfViewer(300)
        let layout = viewer.shelf.layout!
        viewer.tap(layout.buttons[.search]!)
        #expect(viewer.shelf.showsKeyboard)
        func place(_ key: ShelfLayout.Key) -> PixelRectangle { layout.keyboard.keys.first { $0.key == key }!.place }
        for digit in "299" { viewer.tap(place(.character(digit))) }
        #expect(viewer.shelf.search == "299" && viewer.shelf.found.count == 1)
        viewer.tap(place(.erase))
        #expect(viewer.shelf.search == "29" && viewer.shelf.found.count == 13)
        viewer.tap(place(.done))
        #expect(!viewer.shelf.showsKeyboard && viewer.shelf.search == "29")
        viewer.tap(layout.buttons[.clearSearch]!)
        #expect(viewer.shelf.search.isEmpty && viewer.shelf.found.count == 300)
    }

    @Test func `files that come and go leave the focus and the film as they are`() throws {
        var viewer = ShelfViewer(100)
        let entries = viewer.shelf.entries
        for _ in 0..<4 { try viewer.key("down") }
        let focused = try #require(viewer.shelf.focusedEntry)
        viewer.shelf.add(entries[50])
        viewer.shelf.add(entries[60])
        viewer.shelf.setEntries(Array(entries[10...].filter { $0 != entries[60] }), at: viewer.now)
        #expect(viewer.shelf.focusedEntry == focused && viewer.shelf.film.clips == [entries[50]])
        viewer.shelf.setEntries([], at: viewer.now)
        #expect(viewer.shelf.film.clips.isEmpty && !viewer.shelf.parts(at: viewer.now).isEmpty)
    }

    @Test func `a film is made once at a time, and says how far it is`() throws {
        var viewer = ShelfViewer(10)
        #expect(viewer.shelf.makeFilm() == [])
        viewer.shelf.add(viewer.shelf.entries[2])
        let music = ShelfEntry(source: "/srv/song.m4a", version: nil)
        viewer.shelf.add(music)
        #expect(viewer.shelf.film.clips.count == 1 && viewer.shelf.film.music == music)
        viewer.tap(viewer.shelf.layout!.buttons[.film]!)
        #expect(viewer.tap(viewer.place(of: .export)) == [.export(viewer.shelf.film)])
        #expect(viewer.shelf.makeFilm() == [])
        viewer.shelf.set(.running(0.42, left: .seconds(75)))
        #expect(viewer.shelf.panelText?.percent == 42 && viewer.shelf.panelText?.lines.last == "42 % is made, 1:15 left")
        // The shelf stays open during an export.
        viewer.wait(600_000)
        #expect(viewer.shelf.advance(to: viewer.now) == [])
        #expect(viewer.tap(viewer.place(of: .cancelExport)) == [.cancelExport])
        viewer.shelf.set(.failed("it was cancelled"))
        #expect(viewer.shelf.panelText?.buttons.contains(.export) == true)
    }

    // MARK: Drawing

    @Test func `what is asked of it does not grow with the number of clips`() {
        for count in [10, 1000, 100_000] {
            var viewer = ShelfViewer(count)
            viewer.shelf.scroll.jump(to: viewer.shelf.scroll.limit / 2)
            viewer.shelf.prepare(at: viewer.now)
            #expect(viewer.shelf.parts(at: viewer.now).count < 20)
            #expect(viewer.shelf.wantedRows.count < 15)
        }
    }

    @Test(arguments: Gallery.glasses.map(\.geometry)) func `all of the screen is covered wherever it is scrolled to`(
        geometry: ScreenGeometry
    ) {
        for count in [0, 1, 7, 5000] {
            var viewer = ShelfViewer(count, on: geometry)
            let layout = viewer.shelf.layout!
            for offset in [-300, 0, 1, layout.pitch - 1, layout.pitch, 77_777, layout.limit(count), layout.limit(count) + 300] {
                viewer.shelf.scroll.jump(to: 0)
                viewer.shelf.scroll.hold(at: viewer.now)
                viewer.shelf.scroll.drag(by: Double(-offset))
                var covered = layout.head.height
                for part in viewer.shelf.parts(at: viewer.now) {
                    guard case .shelf(.empty) = part.part else { continue }
                    #expect(part.y <= covered, "a gap at \(covered)")
                    covered = part.y + layout.pitch
                }
                #expect(covered >= geometry.height)
            }
        }
    }

    @Test(arguments: Gallery.glasses.map(\.geometry)) func `nothing lies over something else or beyond the screen`(geometry: ScreenGeometry)
    {
        let layout = ShelfLayout(geometry: geometry, hasFilm: true)
        let all = layout.buttons.values + layout.keyboard.keys.map(\.place)
        for place in all {
            #expect(place.x >= 0 && place.y >= 0 && place.x + place.width <= geometry.width && place.y + place.height <= geometry.height)
        }
        let search = layout.buttons[.search]!, clear = layout.buttons[.clearSearch]!
        for a in layout.buttons.values { for b in layout.buttons.values where a != b { #expect(!overlaps(a, b), "\(a) \(b)") } }
        #expect(search.width > geometry.pixels(15) && clear.width > 4)
        let keys = layout.keyboard.keys
        for a in keys.indices { for b in keys.indices where a < b { #expect(!overlaps(keys[a].place, keys[b].place)) } }
        for wanted in [1, 4, 9] {
            let lines = min(wanted, layout.mostLines(hasProgress: true, buttons: 4))
            let panel = layout.panel(lines: lines, hasProgress: true, buttons: 4)
            for button in panel.buttons {
                #expect(button.y + button.height <= panel.box.height && button.x + button.width <= panel.box.width)
            }
            for a in panel.buttons { for b in panel.buttons where a != b { #expect(!overlaps(a, b)) } }
            #expect(panel.box.y >= 0 && panel.box.y + panel.box.height <= geometry.height)
        }
        for index in 0..<40 {
            let card = layout.card(index, 120)
            let middle = (card.x + card.width / 2, card.y + card.height / 2)
            let found = layout.index(x: middle.0, y: middle.1, 120, of: 40)
            #expect(found == (middle.1 >= layout.head.height ? index : nil))
        }
    }

    private func overlaps(_ a: PixelRectangle, _ b: PixelRectangle) -> Bool {
        a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
    }

    @Test func `a row that has been drawn takes the place of empty cards until its entries are others`() {
        var viewer = ShelfViewer(100)
        let surface = PreviewPicture(Surface(width: 1, height: 1, pixels: [0xffff_ffff]))
        func drawn() -> Int {
            viewer.shelf.parts(at: viewer.now).count { if case .shelf(.drawn) = $0.part { true } else { false } }
        }
        for _ in 0..<50 {
            guard let wanted = viewer.shelf.wantedRow else { break }
            viewer.shelf.set(ShelfState.Tile(cards: wanted.cards, picture: surface), ofRow: wanted.row)
        }
        #expect(viewer.shelf.wantedRow == nil)
        let seen = drawn()
        #expect(seen >= 4)
        // New facts about a clip: its row is drawn again. The old drawing stays until then.
        viewer.shelf.set(ClipFacts(), surface, of: viewer.shelf.entries[0])
        #expect(viewer.shelf.wantedRow?.row == 0 && drawn() == seen)
        viewer.shelf.find("clip 9", at: viewer.now)
        #expect(drawn() == 0)
        viewer.shelf.prepare(at: viewer.now)
        #expect(viewer.shelf.wantedRow?.row == 0)
    }

    @Test func `numbers are grouped by thousands`() {
        #expect(
            [0, 7, 999, 1000, 10_000, 1_234_567].map(ShelfState.grouped) == [
                "0", "7", "999", "1\u{202F}000", "10\u{202F}000", "1\u{202F}234\u{202F}567",
            ])
    }
}

@Suite struct ThumbnailScheduleTests {
    @Test func `what is seen comes first, what has been scrolled past is not made, and memory is bounded`() {
        let entries = ShelfViewer.entries(1000)
        var schedule = ThumbnailSchedule<Int>(limit: 100)
        schedule.want(Array(entries[0..<12]))
        #expect(schedule.next == entries[0])
        schedule.made(0, bytes: 5, of: entries[0])
        schedule.made(nil, bytes: 0, of: entries[1])
        #expect(schedule.next == entries[2] && schedule.picture(entries[0]) == 0 && schedule.picture(entries[1]) == nil)
        schedule.want(Array(entries[500..<512]))
        #expect(schedule.next == entries[500])
        for start in stride(from: 0, to: 1000, by: 10) {
            schedule.want(Array(entries[start..<start + 10]))
            while let next = schedule.next { schedule.made(1, bytes: 5, of: next) }
            #expect(schedule.byteCount <= 100)
            for entry in entries[start..<start + 10] { #expect(entry == entries[1] || schedule.picture(entry) != nil) }
        }
        // Wanted pictures stay, even beyond the limit.
        schedule.want(Array(entries[0..<50]))
        while let next = schedule.next { schedule.made(1, bytes: 5, of: next) }
        #expect(schedule.byteCount == 245)
        schedule.keepOnly([entries[3]])
        #expect(schedule.byteCount == 5)
    }
}
