import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore
@testable import KioskInputCore

/// The list of subtitles and sound tracks: its lines, its fingers and keys, and when it closes.
@Suite struct MediaSelectionTests {
    private static let keys: [(String, Command)] = [
        ("i", .showControls), ("h", .hideControls), ("enter", .player(.togglePlayback)), ("volumeup", .player(.changeVolume(by: 5))),
        ("down", .player(.seekSteps(-1))), ("s", .player(.nextSubtitleTrack)), ("menu", .toggleShelf),
    ]

    private func viewer(
        _ tracks: [AssetTrack] = Gallery.film, asked: TrackChoice? = nil, on geometry: ScreenGeometry = Viewer.desk
    ) -> Viewer {
        var viewer = Viewer(geometry, keys: Self.keys)
        viewer.now.setTracks(tracks)
        viewer.now.asked.subtitle = asked
        viewer.key("i")
        viewer.wait(.milliseconds(400))
        return viewer
    }

    private func opened(
        _ tracks: [AssetTrack] = Gallery.film, asked: TrackChoice? = nil, on geometry: ScreenGeometry = Viewer.desk
    ) -> Viewer {
        var viewer = viewer(tracks, asked: asked, on: geometry)
        viewer.tap(.subtitles)
        viewer.wait(.milliseconds(300))
        _ = viewer.take()
        return viewer
    }

    // MARK: Lines

    private func lines(_ viewer: Viewer) -> [String] {
        viewer.selection?.lines.map { ($0.isHeading ? "# " : $0.isSelected ? "* " : "  ") + $0.text } ?? []
    }

    @Test func `languages in their own words, forced and SDH told apart, and sound tracks below them`() {
        #expect(
            lines(opened()) == [
                "# Subtitles", "  Off", "* Auto: Deutsch (forced)", "  Deutsch (forced)", "  Deutsch", "  English (SDH)", "  العربية",
                "  Português (BR)", "# Sound", "* Deutsch", "  English", "  Deutsch · \u{2068}Kommentar der Regie\u{2069}",
                "  Deutsch · \u{2068}Audiodeskription\u{2069}",
            ])
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var tracks: [AssetTrack]
        var asked: TrackChoice?
        var lines: [String]
    }

    private static let rows: [Row] = [
        Row(
            testDescription: "nothing is shown automatically: that is off", tracks: [.made(.subtitle, "de")], lines: ["* Off", "  Deutsch"]),
        Row(testDescription: "a number", tracks: [.made(.subtitle, "de")], asked: .number(1), lines: ["  Off", "* Deutsch"]),
        Row(
            testDescription: "a language", tracks: [.made(.subtitle, "fr"), .made(.subtitle, "ger")], asked: .language(LanguageCode("de")!),
            lines: ["  Off", "  Français", "* Deutsch"]),
        Row(
            testDescription: "a number that is not there", tracks: [.made(.subtitle, "de")], asked: .number(7),
            lines: ["* Off", "  Deutsch"]),
        Row(
            testDescription: "a file beside the clip", tracks: [.made(.subtitle, title: "clip.srt", isBeside: true)],
            lines: ["  Off", "* Auto: Track 1", "  Track 1"]),
        Row(
            testDescription: "off, where something would be shown", tracks: [.made(.subtitle, title: "clip.srt", isBeside: true)],
            asked: .off,
            lines: ["* Off", "  Auto: Track 1", "  Track 1"]),
        Row(
            testDescription: "one language twice, in files",
            tracks: [.made(.subtitle, "en", isBeside: true), .made(.subtitle, "en", isBeside: true)],
            lines: ["* Off", "  English · 1", "  English · 2"]),
        Row(
            testDescription: "one title twice", tracks: [.made(.subtitle, title: "Songs"), .made(.subtitle, title: "Songs")],
            lines: ["* Off", "  Songs · 1", "  Songs · 2"]),
        Row(
            testDescription: "titles that turn, hide and are not there",
            tracks: [
                .made(.subtitle, title: "\u{202E}Turned\u{2066}"), .made(.subtitle, title: "\u{FEFF}\u{200F}"),
                .made(.subtitle, "qaa", title: "\u{200B}"),
            ], lines: ["* Off", "  Turned", "  Track 2", "  qaa"]),
        Row(
            testDescription: "languages of regions and scripts",
            tracks: [.made(.subtitle, "de-AT"), .made(.subtitle, "zho-Hant-TW"), .made(.subtitle, "gsw"), .made(.subtitle, "sr-Latn")],
            lines: ["* Off", "  Deutsch (AT)", "  繁體中文", "  Schwiizertüütsch", "  Srpski"]),
        Row(
            testDescription: "one sound track is none to choose", tracks: [.made(.audio, "de"), .made(.subtitle, "de")],
            lines: ["* Off", "  Deutsch"]),
    ]

    @Test(arguments: rows) func `what tracks are called`(_ row: Row) {
        #expect(lines(opened(row.tracks, asked: row.asked)) == ["# Subtitles"] + row.lines)
    }

    @Test func `sound that is switched off is not chosen either`() {
        var viewer = viewer()
        viewer.now.selectedTracks[.audio] = nil
        viewer.tap(.subtitles)
        viewer.wait(.milliseconds(300))
        #expect(!lines(viewer).contains("# Sound") && lines(viewer).contains("  English (SDH)"))
    }

    // MARK: Opening and closing

    @Test func `the button is there where there are subtitles, and tells whether some are seen`() {
        #expect(viewer([]).state.layout?.target(of: .subtitles) == nil)
        #expect(viewer([.made(.audio, "de")]).state.layout?.target(of: .subtitles) == nil)
        var viewer = opened()
        func signs() -> [Icon] {
            viewer.parts.compactMap {
                if case .icon(.subtitles(let areSeen), _, _, _) = $0.part { .subtitles(areSeen: areSeen) } else { nil }
            }
        }
        #expect(signs() == [.subtitles(areSeen: false)])
        viewer.tapSelection("English (SDH)")
        viewer.settle()
        #expect(signs() == [.subtitles(areSeen: true)])
    }

    @Test func `a clip of several sound tracks has it without subtitles, with another sign`() {
        var viewer = opened([.made(.audio, "de"), .made(.audio, "en")])
        func isThere() -> Bool {
            viewer.parts.contains { if case .icon(.speech, _, _, _) = $0.part { true } else { false } }
        }
        #expect(isThere() && lines(viewer) == ["# Sound", "* Deutsch", "  English"])
        viewer.tapSelection("English")
        #expect(viewer.take() == [.player(.selectAudioTrack(.number(2)))])
        viewer.now.selectedTracks[.audio] = nil
        viewer.settle()
        #expect(!isThere() && viewer.state.layout?.target(of: .subtitles) == nil)
    }

    @Test func `a part that is left out or does not act opens nothing`() {
        var settings = ControlsSettings.test
        settings.theme.parts.remove(.subtitles)
        var viewer = Viewer(settings: settings, keys: Self.keys)
        viewer.now.setTracks(Gallery.film)
        viewer.key("i")
        #expect(viewer.state.layout?.target(of: .subtitles) == nil)
        settings = .test
        settings.allowed.remove(.subtitles)
        viewer = Viewer(settings: settings, keys: Self.keys)
        viewer.now.setTracks(Gallery.film)
        viewer.key("i")
        #expect(viewer.state.layout != nil && viewer.state.layout?.target(of: .subtitles) == nil)
    }

    @Test func `a line that is tapped is chosen, and the list goes`() {
        for (line, command) in [
            ("Off", .selectSubtitleTrack(.off)), ("Auto", .selectSubtitleTrack(.automatic)),
            ("English (SDH)", .selectSubtitleTrack(.number(3))),
            ("English", .selectSubtitleTrack(.number(3))), ("Deutsch · \u{2068}K", .selectAudioTrack(.number(3))),
        ] as [(String, PlayerCommand)] {
            var viewer = opened()
            viewer.tapSelection(line)
            #expect(viewer.take() == [.player(command)] && !viewer.state.isSelecting, "\(line)")
            viewer.wait(.milliseconds(300))
            #expect(viewer.selection == nil && viewer.seesBars)
            viewer.tap(.subtitles)
            viewer.wait(.milliseconds(300))
            #expect(viewer.selection?.lines.contains { $0.isSelected && $0.text.hasPrefix(line) } == true, "\(line)")
        }
    }

    @Test func `a tap beside it, or on the button, closes it and does nothing else`() {
        var viewer = opened()
        viewer.tap(0.3, 0.3)
        viewer.wait(.milliseconds(300))
        #expect(viewer.take() == [] && viewer.selection == nil && viewer.seesBars)
        viewer.tap(.subtitles)
        viewer.wait(.milliseconds(300))
        #expect(viewer.selection != nil)
        viewer.tap(.subtitles)
        viewer.wait(.milliseconds(300))
        #expect(viewer.take() == [] && viewer.selection == nil)
        viewer.tap(.subtitles)
        viewer.wait(.milliseconds(300))
        viewer.tap(.playPause)
        viewer.wait(.milliseconds(300))
        #expect(viewer.take() == [] && viewer.selection == nil)
        viewer.tap(.subtitles)
        viewer.wait(.milliseconds(300))
        viewer.click()
        #expect(viewer.take() == [] && !viewer.state.isSelecting, "a mouse points at nothing")
    }

    @Test func `a heading, a finger that leaves its line, and one that is lost choose nothing`() {
        var viewer = opened()
        viewer.tapSelection("Sound")
        let from = viewer.onSelection("Off"), to = viewer.onSelection("English")
        let finger = viewer.down(from.x, from.y)
        #expect(viewer.selection?.lines.filter(\.isPressed).map(\.text) == ["Off"])
        viewer.move(finger, to.x, to.y)
        #expect(viewer.selection?.lines.contains(where: \.isPressed) == false)
        viewer.up(finger)
        let lost = viewer.down(to.x, to.y)
        viewer.cancel(lost)
        #expect(viewer.take() == [] && viewer.state.isSelecting)
    }

    @Test func `a second finger means nothing`() {
        var viewer = opened()
        let place = viewer.onSelection("Off"), finger = viewer.down(place.x, place.y)
        let other = viewer.down(0.3, 0.3)
        viewer.up(other)
        #expect(viewer.state.isSelecting)
        viewer.up(finger)
        #expect(viewer.take() == [.player(.selectSubtitleTrack(.off))])
    }

    @Test func `it goes with the controls, fifteen seconds after the last touch`() {
        var viewer = opened()
        viewer.wait(.milliseconds(14_600))
        #expect(viewer.selection != nil)
        viewer.wait(.milliseconds(500))
        #expect(!viewer.state.isSelecting)
        viewer.wait(.milliseconds(300))
        #expect(viewer.parts.isEmpty && viewer.state.selection == nil && viewer.state.deadline(after: viewer.time) == nil)
        viewer = opened()
        viewer.now.status = .paused
        viewer.wait(.seconds(60))
        #expect(viewer.selection != nil, "paused, they stay")
        viewer.key("h")
        #expect(!viewer.state.isSelecting)
        viewer = opened()
        viewer.key("menu")
        #expect(!viewer.state.isSelecting)
    }

    @Test func `it goes with its item, and with its last subtitles; what a finger holds means nothing then`() {
        for change in [{ $0.item = 2 }, { $0.setTracks([]) }] as [(inout NowPlaying) -> Void] {
            var viewer = opened()
            let place = viewer.onSelection("Off"), finger = viewer.down(place.x, place.y)
            change(&viewer.now)
            viewer.settle()
            #expect(!viewer.state.isSelecting)
            viewer.up(finger)
            #expect(viewer.take() == [])
        }
    }

    @Test func `what the player does meanwhile is marked`() {
        var viewer = opened()
        viewer.now.asked.subtitle = .number(2)
        viewer.settle()
        #expect(viewer.selection?.lines.filter(\.isSelected).map(\.text) == ["Deutsch", "Deutsch"])
    }

    @Test func `the discs in the middle give way`() {
        var viewer = opened()
        #expect(viewer.buttons.isEmpty)
        viewer.tap(0.3, 0.3)
        viewer.wait(.milliseconds(300))
        #expect(!viewer.buttons.isEmpty)
    }

    /// Dirt on the list does not block other fingers.
    @Test func `a finger that rests on it for half a minute is none`() {
        var viewer = opened()
        viewer.now.status = .paused
        let place = viewer.onSelection("Off"), dirt = viewer.down(place.x, place.y)
        viewer.wait(.seconds(31))
        #expect(viewer.state.selection?.touch == nil && viewer.state.isSelecting)
        viewer.tapSelection("English (SDH)")
        #expect(viewer.take() == [.player(.selectSubtitleTrack(.number(3)))])
        viewer.up(dirt)
        #expect(viewer.take() == [])
    }

    // MARK: Keys

    @Test func `keys go over the options, and do nothing else meanwhile`() {
        var viewer = opened()
        func focused() -> [String] { viewer.selection?.lines.filter(\.isFocused).map(\.text) ?? [] }
        viewer.key("down")
        #expect(focused() == ["Auto: Deutsch (forced)"], "the first one begins with what is in use")
        for _ in 0..<6 { viewer.key("down") }
        #expect(focused() == ["Deutsch"], "over the heading")
        viewer.key("end")
        viewer.key("down")
        #expect(focused() == ["Deutsch · \u{2068}Audiodeskription\u{2069}"])
        viewer.key("home")
        viewer.key("left")
        #expect(focused() == ["Off"] && viewer.take() == [])
        viewer.key("volumeup")
        #expect(viewer.take() == [.player(.changeVolume(by: 5))], "what is no key of a list")
        viewer.key("enter")
        #expect(viewer.take() == [.player(.selectSubtitleTrack(.off))] && !viewer.state.isSelecting)
        viewer.key("enter")
        #expect(viewer.take() == [.player(.togglePlayback)])
    }

    @Test func `back closes it, and every key has it stay`() {
        var viewer = opened()
        for _ in 0..<4 {
            viewer.wait(.milliseconds(2500))
            viewer.key("down")
        }
        #expect(viewer.state.isSelecting)
        viewer.key("back")
        #expect(!viewer.state.isSelecting && viewer.take() == [])
    }

    @Test func `a key that goes to the next ones tells which`() {
        var viewer = viewer([.made(.subtitle, "de"), .made(.subtitle, "en", isSDH: true)])
        for (next, line) in [(0, "Subtitles: Deutsch"), (1, "Subtitles: English (SDH)"), (nil, "Subtitles: Off")] as [(Int?, String)] {
            viewer.key("s")
            viewer.wait(.milliseconds(300))
            #expect(viewer.news == [line] && viewer.take() == [.player(.nextSubtitleTrack)])
            viewer.now.selectedTracks[.subtitle] = next
        }
        viewer.now.setTracks([])
        viewer.wait(.seconds(6))
        viewer.key("s")
        viewer.wait(.milliseconds(300))
        #expect(viewer.news == [])
    }

    // MARK: Screen sizes

    private static let screens =
        Gallery.glasses.map(\.geometry) + [
            Viewer.desk, ScreenGeometry(width: 320, height: 240, physicalWidth: nil, physicalHeight: nil),
            ScreenGeometry(width: 240, height: 320, physicalWidth: 49, physicalHeight: 65),
            ScreenGeometry(width: 1920, height: 360, physicalWidth: 475, physicalHeight: 89),
        ]

    @Test(arguments: screens) func `on every screen each line can be reached, and is as high as a target`(_ geometry: ScreenGeometry) throws
    {
        var viewer = opened(Gallery.thirty, on: geometry)
        let panel = try #require(viewer.state.selection), box = panel.box
        #expect(box.x >= 0 && box.y >= 0 && box.x + box.width <= geometry.width && box.y + box.height <= geometry.height, "\(box)")
        let line = panel.place(ofLine: 1, at: viewer.time)
        #expect(line.height >= Int(ControlsLayout.leastTarget * geometry.density) && box.height >= 4 * line.height, "\(box)")
        #expect(box.width >= Int(40 * geometry.density))
        if panel.scroll.limit > 0 {
            // A moving finger scrolls and selects nothing. The scroll then runs out by itself.
            let from = (x: Double(box.x + 20) / Double(geometry.width), y: Double(box.y + box.height - 5) / Double(geometry.height))
            let finger = viewer.down(from.x, from.y)
            for step in 1...6 {
                viewer.wait(.milliseconds(10))
                viewer.move(finger, from.x, from.y - Double(step) * geometry.density * 4 / Double(geometry.height))
            }
            let held = viewer.state.selection!.scroll.position(at: viewer.time)
            viewer.up(finger)
            viewer.wait(.seconds(2))
            let rest = viewer.state.selection!.scroll.position(at: viewer.time)
            #expect(held > 0 && rest > held && viewer.take() == [], "\(held) \(rest)")
            #expect(viewer.state.deadline(after: viewer.time)! - viewer.time > .milliseconds(16), "it stands still")
        }
        viewer.key("end")
        viewer.key("end")
        viewer.wait(.seconds(1))
        let last = panel.lines.count - 1, place = viewer.state.selection!.place(ofLine: last, at: viewer.time)
        #expect(box.y <= place.y && place.y + place.height <= box.y + box.height, "\(place) in \(box)")
        viewer.tap((Double(place.x) + 9) / Double(geometry.width), (Double(place.y) + 9) / Double(geometry.height))
        #expect(viewer.take() == [.player(.selectSubtitleTrack(.number(30)))])
    }

    @Test func `what is in use is seen when it opens`() {
        let small = ScreenGeometry(width: 320, height: 240, physicalWidth: nil, physicalHeight: nil)
        for number in [1, 15, 30] {
            let viewer = opened(Gallery.thirty, asked: .number(number), on: small)
            let seen = viewer.selection?.lines.first(where: \.isSelected)
            #expect(seen.map { $0.y >= 0 && $0.y + viewer.selection!.lineHeight <= viewer.selection!.height } == true, "\(number)")
        }
    }

    @Test func `turned while it is open it is where the button is then`() {
        var viewer = opened(Gallery.thirty)
        viewer.geometry = ScreenGeometry(width: 1080, height: 1920, physicalWidth: 299, physicalHeight: 531)
        viewer.settle()
        let box = viewer.state.selection!.box
        #expect(viewer.state.isSelecting && box.x + box.width <= 1080 && box.height > 1000, "\(box)")
    }

    // MARK: Drawing

    @Test func `the mark has the accent, and a stack of letters stays in its line`() throws {
        let viewer = opened(
            [.made(.subtitle, "de"), .made(.subtitle, title: "e" + String(repeating: "\u{301}", count: 190))], asked: .number(1))
        let picture = try #require(viewer.selection)
        let drawing = ControlsDrawing(Theme())
        let surface = drawing.draw(.mediaSelection(picture))
        func isAccented(_ pixel: UInt32) -> Bool { pixel & 0xFF > 200 && pixel >> 16 & 0xFF < 110 && pixel >> 8 & 0xFF > 100 }
        func rows(of line: MediaSelectionPicture.Line) -> Range<Int> {
            line.y * surface.width..<(line.y + picture.lineHeight) * surface.width
        }
        for line in picture.lines {
            #expect(surface.pixels[rows(of: line)].contains(where: isAccented) == line.isSelected, "\(line.text)")
        }
        var plain = picture
        plain.lines[3].text = "e"
        let other = drawing.draw(.mediaSelection(plain))
        #expect(surface.pixels[rows(of: picture.lines[2])] == other.pixels[rows(of: picture.lines[2])])
        #expect(surface.pixels[rows(of: picture.lines[3])] != other.pixels[rows(of: picture.lines[3])])
    }
}
