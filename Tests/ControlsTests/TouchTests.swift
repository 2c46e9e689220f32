import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore
@testable import KioskInputCore

/// The commands for touches and keys: one row for each rule. A row lists the commands since its first touch.
@Suite struct TouchTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var commands: [Command]
        var actions: @Sendable (inout Viewer) -> Void

        init(_ name: String, _ commands: [Command], _ actions: @escaping @Sendable (inout Viewer) -> Void) {
            (testDescription, self.commands, self.actions) = (name, commands, actions)
        }
    }

    /// Shows the controls without any command.
    private static func show(_ viewer: inout Viewer) {
        viewer.key("i")
        viewer.wait(.milliseconds(400))
    }

    private static let rows: [Row] = [
        Row("a tap beside the controls pauses", [.player(.togglePlayback)]) { $0.tap(0.3, 0.3) },
        Row("a tap in the middle, where nothing is shown, too", [.player(.togglePlayback)]) { $0.tap(0.5, 0.5) },
        Row("nothing is asked for before the finger is lifted", []) { $0.down(0.3, 0.3) },
        Row("a mouse has no place on the screen: its button is a tap", [.player(.togglePlayback)]) { viewer in
            show(&viewer)
            viewer.click()
        },
        Row("the button in the middle", [.player(.togglePlayback)]) { viewer in
            show(&viewer)
            viewer.tap(.playPause)
        },
        Row("back", [.player(.seekSteps(-1))]) { viewer in
            show(&viewer)
            viewer.tap(.skipBack)
        },
        Row("forward, twice", [.player(.seekSteps(1)), .player(.seekSteps(1))]) { viewer in
            show(&viewer)
            viewer.tap(.skipForward)
            viewer.tap(.skipForward)
        },
        Row("previous and next", [.player(.previousItem), .player(.nextItem)]) { viewer in
            show(&viewer)
            viewer.tap(.previousItem)
            viewer.tap(.nextItem)
        },
        Row("mute", [.player(.toggleMute)]) { viewer in
            show(&viewer)
            viewer.tap(.mute)
        },
        Row("a tap on the time asks for nothing", []) { viewer in
            show(&viewer)
            viewer.tap(.remaining)
        },
        Row("a control acts when it is lifted", []) { viewer in
            show(&viewer)
            let place = viewer.place(.playPause)
            viewer.down(place.x, place.y)
        },
        Row("a finger that leaves its control does nothing", []) { viewer in
            show(&viewer)
            let place = viewer.place(.playPause)
            let finger = viewer.down(place.x, place.y)
            viewer.move(finger, 0.2, 0.2)
            viewer.up(finger)
        },
        Row("one that comes back does", [.player(.togglePlayback)]) { viewer in
            show(&viewer)
            let place = viewer.place(.playPause)
            let finger = viewer.down(place.x, place.y)
            viewer.move(finger, 0.2, 0.2)
            viewer.move(finger, place.x, place.y)
            viewer.up(finger)
        },
        Row("a few millimetres beside it are still on it", [.player(.togglePlayback)]) { viewer in
            show(&viewer)
            let place = viewer.place(.playPause)
            let finger = viewer.down(place.x, place.y)
            viewer.move(finger, place.x + (12.0 + 4) / 531, place.y)
            viewer.up(finger)
        },
        Row("a finger that is lost does nothing", []) { viewer in
            show(&viewer)
            let place = viewer.place(.playPause)
            viewer.cancel(viewer.down(place.x, place.y))
        },
        Row("another finger of the hand that holds a control means nothing", [.player(.togglePlayback)]) { viewer in
            show(&viewer)
            let place = viewer.place(.playPause)
            let finger = viewer.down(place.x, place.y)
            let other = viewer.down(0.2, 0.2)
            viewer.wait(.milliseconds(80))
            viewer.up(other)
            viewer.up(finger)
        },
        Row("a finger on another screen does", [.player(.togglePlayback), .player(.togglePlayback)]) { viewer in
            show(&viewer)
            let place = viewer.place(.playPause)
            let finger = viewer.down(place.x, place.y)
            let other = viewer.down(0.2, 0.2, device: 1)
            viewer.wait(.milliseconds(80))
            viewer.up(other, device: 1)
            viewer.up(finger)
        },
        Row("two fingers mute", [.player(.toggleMute)]) { viewer in
            let first = viewer.down(0.4, 0.4), second = viewer.down(0.6, 0.4)
            viewer.wait(.milliseconds(80))
            viewer.up(first)
            viewer.up(second)
        },
        Row("where controls go away a touch is beside them", [.player(.togglePlayback)]) { viewer in
            show(&viewer)
            viewer.wait(.milliseconds(2700))
            viewer.tap(.skipBack)
        },
        Row("a swipe seeks", [.player(.seekSteps(2))]) { viewer in
            let finger = viewer.down(0.2, 0.3)
            viewer.wait(.milliseconds(60))
            viewer.move(finger, 0.6, 0.3)
            viewer.wait(.milliseconds(60))
            viewer.up(finger)
        },
        Row("a stroke up along the right edge is louder", [.player(.changeVolume(by: 15))]) { viewer in
            viewer.now.volume = 50
            let finger = viewer.down(0.95, 0.5)
            viewer.move(finger, 0.95, 0.35)
            viewer.up(finger)
        },
        Row(
            "two taps on the right take the first one's pause back, and seek",
            [.player(.togglePlayback), .player(.togglePlayback), .player(.seekSteps(1))]
        ) {
            viewer in
            viewer.tap(0.9, 0.3)
            viewer.wait(.milliseconds(100))
            viewer.tap(0.9, 0.3)
        },
        Row(
            "two taps on the left, also where a button has appeared beneath",
            [.player(.togglePlayback), .player(.togglePlayback), .player(.seekSteps(-1))]
        ) {
            viewer in
            viewer.geometry = ScreenGeometry(width: 1280, height: 720, physicalWidth: 154, physicalHeight: 87)
            viewer.settle()
            let place = viewer.place(.skipBack)
            viewer.tap(place.x, place.y)
            viewer.wait(.milliseconds(100))
            viewer.tap(place.x, place.y)
        },
        Row("two taps in the middle are two taps", [.player(.togglePlayback), .player(.togglePlayback)]) { viewer in
            viewer.tap(0.5, 0.3)
            viewer.wait(.milliseconds(100))
            viewer.tap(0.5, 0.3)
        },
        Row("the slider", [.player(.scrub(.seconds(60))), .player(.endScrub(.seconds(60)))]) { viewer in
            show(&viewer)
            let place = viewer.onSlider(0.5)
            viewer.up(viewer.down(place.x, place.y))
        },
        Row("the slider, dragged", [.player(.scrub(.seconds(60))), .player(.scrub(.seconds(90))), .player(.endScrub(.seconds(90)))]) {
            viewer in
            show(&viewer)
            let (from, to) = (viewer.onSlider(0.5), viewer.onSlider(0.75))
            let finger = viewer.down(from.x, from.y)
            viewer.move(finger, to.x, to.y)
            viewer.up(finger)
        },
        Row(
            "a drag may leave the slider, and goes to its ends",
            [.player(.scrub(.seconds(60))), .player(.scrub(.seconds(120))), .player(.endScrub(.seconds(120)))]
        ) {
            viewer in
            show(&viewer)
            let from = viewer.onSlider(0.5)
            let finger = viewer.down(from.x, from.y)
            viewer.move(finger, 1, 0.1)
            viewer.up(finger)
        },
        Row(
            "a finger that vanishes from the slider leaves it where it was",
            [.player(.scrub(.seconds(60))), .player(.endScrub(.seconds(60)))]
        ) { viewer in
            show(&viewer)
            let from = viewer.onSlider(0.5)
            viewer.cancel(viewer.down(from.x, from.y))
        },
        Row("dirt on the slider is let go of after half a minute", [.player(.scrub(.seconds(60))), .player(.endScrub(.seconds(60)))]) {
            viewer in
            show(&viewer)
            let from = viewer.onSlider(0.5)
            viewer.down(from.x, from.y)
            viewer.wait(.seconds(31))
        },
        Row("while the item changes the finger lets go", [.player(.scrub(.seconds(60)))]) { viewer in
            show(&viewer)
            let from = viewer.onSlider(0.5)
            let finger = viewer.down(from.x, from.y)
            (viewer.now.item, viewer.now.time) = (2, .zero)
            viewer.move(finger, 0.3, from.y)
            viewer.up(finger)
        },
        Row(
            "while the display changes the slider is let go where it was",
            [.player(.scrub(.seconds(60))), .player(.endScrub(.seconds(60)))]
        ) { viewer in
            show(&viewer)
            let from = viewer.onSlider(0.5)
            let finger = viewer.down(from.x, from.y)
            viewer.geometry = ScreenGeometry(width: 1080, height: 1920, physicalWidth: 299, physicalHeight: 531)
            viewer.move(finger, 0.3, from.y)
            viewer.up(finger)
        },
        Row("a live stream has nothing to seek in", [.player(.togglePlayback)]) { viewer in
            (viewer.now.duration, viewer.now.isSeekable) = (nil, false)
            show(&viewer)
            viewer.tap(0.3, 0.9)
        },
        Row("an item that begins later counts from there", [.player(.scrub(.seconds(60))), .player(.endScrub(.seconds(60)))]) { viewer in
            (viewer.now.start, viewer.now.duration) = (.seconds(30), .seconds(90))
            show(&viewer)
            let place = viewer.onSlider(0.5)
            viewer.up(viewer.down(place.x, place.y))
        },
        Row("the volume bar; muted, it is heard again", [.player(.toggleMute), .player(.setVolume(100))]) { viewer in
            viewer.now.isMuted = true
            show(&viewer)
            let track = viewer.state.layout!.volume!
            viewer.up(viewer.down(Double(track.right) / 1920, Double(track.y) / 1080))
        },
        Row("an item that waits for a tap goes on", [.player(.waitEnded)]) { viewer in
            viewer.now.waitsForTap = true
            viewer.tap(0.3, 0.3)
        },
        Row("an item that has something to do when tapped", [.player(.playSource("/srv/details.mp4", resumes: true))]) { viewer in
            viewer.now.onTap = .player(.playSource("/srv/details.mp4", resumes: true))
            viewer.now.waitsForTap = true
            viewer.tap(0.3, 0.3)
        },
        Row("a key", [.player(.seekSteps(1))]) { $0.key("right") },
        Row("showing and hiding is not the player's", []) { viewer in
            viewer.key("i")
            viewer.key("h")
        },
    ]

    private static let keys: [(String, Command)] = [
        ("i", .showControls), ("h", .hideControls), ("right", .player(.seekSteps(1))), ("space", .player(.togglePlayback)),
        ("volumeup", .player(.changeVolume(by: 5))),
    ]

    @Test(arguments: rows) func table(_ row: Row) {
        var viewer = Viewer(keys: Self.keys)
        row.actions(&viewer)
        #expect(viewer.take().map(\.rounded) == row.commands)
    }

    @Test func `a tap is that of the zone in front beneath it, unless a control lies there`() {
        var settings = ControlsSettings.test
        settings.zones = [
            TouchZone(name: "below", region: Region(x: 0.5, y: 0, width: 0.5, height: 1)),
            TouchZone(name: "above", region: Region(x: 0.75, y: 0, width: 0.25, height: 0.5)),
            TouchZone(name: "deaf", region: Region(x: 0.5, y: 0.4, width: 0.2, height: 0.1), takesTaps: false),
        ]
        var viewer = Viewer(settings: settings, keys: Self.keys)
        for (x, y) in [(0.6, 0.3), (0.8, 0.3), (1, 0.7), (0.3, 0.3), (0.6, 0.45)] {
            viewer.tap(x, y)
            viewer.wait(.seconds(1))
        }
        #expect(
            viewer.take() == [
                .program(.zone("below", .tap)), .program(.zone("above", .tap)), .program(.zone("below", .tap)), .player(.togglePlayback),
                .player(.togglePlayback),
            ])
        settings.zones = [TouchZone(name: "all", region: .full)]
        viewer = Viewer(settings: settings, keys: Self.keys)
        viewer.key("i")
        viewer.wait(.seconds(1))
        viewer.tap(.playPause)
        #expect(viewer.take() == [.player(.togglePlayback)])
        settings.mayTap = false
        viewer = Viewer(settings: settings, keys: Self.keys)
        viewer.tap(0.3, 0.3)
        #expect(viewer.take().allSatisfy { $0 != .program(.zone("all", .tap)) })
    }

    @Test func `without drawing, or with signs only, gestures and keys do the same`() {
        for mode in [ControlsMode.none, .tapOnly] {
            var settings = ControlsSettings.test
            settings.mode = mode
            var viewer = Viewer(settings: settings, keys: Self.keys)
            viewer.tap(0.5, 0.5)
            viewer.wait(.seconds(1))
            viewer.key("right")
            #expect(viewer.take() == [.player(.togglePlayback), .player(.seekSteps(1))])
            #expect(!viewer.seesBars)
        }
    }

    @Test func `a locked screen: only what is allowed acts, and of buttons only that is there`() {
        var settings = ControlsSettings.test
        settings.gestures = [.tap: .player(.togglePlayback)]
        settings.apply(InputLock(allowed: [.gesture(.tap), .part(.playButton)]))
        var viewer = Viewer(settings: settings, keys: Self.keys)
        Self.show(&viewer)
        #expect(viewer.state.layout?.controls == [.playPause])
        let place = viewer.onSlider(0.5)
        viewer.tap(place.x, place.y)
        #expect(viewer.take() == [.player(.togglePlayback)], "the slider is drawn, and a touch on it is a tap")
    }

    @Test func `a tap that is bound to nothing shows the controls, and is a tap for items that want one`() {
        var settings = ControlsSettings.test
        settings.gestures[.tap] = nil
        var viewer = Viewer(settings: settings)
        viewer.now.waitsForTap = true
        viewer.tap(0.3, 0.3)
        #expect(viewer.take() == [.player(.waitEnded)])
        viewer.now.waitsForTap = false
        viewer.wait(.seconds(1))
        viewer.tap(0.3, 0.3)
        viewer.wait(.milliseconds(300))
        #expect(viewer.take() == [] && viewer.seesBars)
    }

    @Test func `a screen that is locked against everything shows nothing`() {
        var settings = ControlsSettings.test
        settings.gestures = [:]
        settings.apply(InputLock(allowed: []))
        var viewer = Viewer(settings: settings)
        viewer.now.waitsForTap = true
        viewer.tap(0.5, 0.5)
        viewer.wait(.seconds(1))
        #expect(viewer.take() == [])
        #expect(viewer.parts.isEmpty)
    }

    @Test func `nobody there: the command is asked for, and the controls go`() {
        var viewer = Viewer(keys: Self.keys)
        viewer.tap(0.3, 0.3)
        viewer.wait(.seconds(1))
        #expect(viewer.seesBars)
        #expect(viewer.state.beIdle(.player(.restartPlaylist), at: viewer.time).map(\.command) == [.player(.restartPlaylist)])
        viewer.wait(.milliseconds(300))
        #expect(!viewer.seesBars)
    }
}

extension Command {
    /// The same command, with a slider's time rounded to a tenth of a second: a pixel stands for some milliseconds.
    var rounded: Command {
        func tenths(_ time: MediaTime) -> MediaTime { .milliseconds((time.nanoseconds + 50_000_000) / 100_000_000 * 100) }
        switch self {
        case .player(.scrub(let time)): return .player(.scrub(tenths(time)))
        case .player(.endScrub(let time)): return .player(.endScrub(tenths(time)))
        default: return self
        }
    }
}
