import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore
@testable import KioskInputCore

/// The visible parts of the controls, and how long they stay.
@Suite struct ViewTests {
    private static let keys: [(String, Command)] = [
        ("i", .showControls), ("h", .hideControls), ("right", .player(.seekSteps(1))), ("space", .player(.togglePlayback)),
        ("mute", .player(.toggleMute)),
        ("volumeup", .player(.changeVolume(by: 5))), ("n", .player(.nextItem)),
    ]

    private func viewer(_ mode: ControlsMode = .full) -> Viewer {
        var settings = ControlsSettings.test
        settings.mode = mode
        return Viewer(settings: settings, keys: Self.keys)
    }

    private func shown() -> Viewer {
        var viewer = viewer()
        viewer.key("i")
        viewer.wait(.milliseconds(400))
        return viewer
    }

    private func alpha(_ viewer: Viewer) -> Double {
        viewer.parts.first { if case .scrim = $0.part { true } else { false } }?.alpha ?? 0
    }

    // MARK: Showing and hiding

    @Test func `hidden is nothing, and nothing is waited for`() {
        let viewer = viewer()
        #expect(viewer.parts.isEmpty)
        #expect(viewer.state.deadline(after: viewer.time) == nil)
        #expect(viewer.state.inputDeadline == nil)
    }

    @Test(arguments: [false, true]) func `news are seen for five seconds, whatever else is`(isShown: Bool) {
        var viewer = isShown ? shown() : viewer()
        func news() -> [String] { viewer.parts.compactMap { if case .notice(_, _, let text) = $0.part { text } else { nil } } }
        viewer.show(notice: "Your film is ready")
        viewer.wait(.milliseconds(300))
        #expect(news() == ["Your film is ready"])
        // The shelf, drawn without the other parts, shows it, too.
        #expect(viewer.state.noticeParts(at: viewer.time).count == 1)
        viewer.wait(.seconds(4.5))
        #expect(news() == ["Your film is ready"])
        viewer.wait(.seconds(1))
        #expect(news().isEmpty && viewer.state.noticeParts(at: viewer.time).isEmpty)
    }

    @Test func `they come within a quarter of a second`() {
        var viewer = viewer()
        viewer.tap(0.3, 0.3)
        #expect(alpha(viewer) == 0)
        viewer.wait(.milliseconds(125))
        #expect(abs(alpha(viewer) - 0.5) < 0.01)
        viewer.wait(.milliseconds(125))
        #expect(alpha(viewer) == 1)
    }

    @Test func `playing, they go three seconds after the last touch, within a quarter of a second`() {
        var viewer = shown()
        viewer.tap(.mute)
        viewer.wait(.milliseconds(2999))
        #expect(alpha(viewer) == 1)
        viewer.wait(.milliseconds(126))
        #expect(abs(alpha(viewer) - 0.5) < 0.01)
        viewer.wait(.milliseconds(130))
        #expect(viewer.parts.isEmpty)
        #expect(viewer.state.deadline(after: viewer.time) == nil, "and nothing is waited for")
    }

    @Test func `every touch begins the three seconds anew`() {
        var viewer = shown()
        for _ in 0..<5 {
            viewer.wait(.seconds(2.5))
            viewer.tap(.mute)
        }
        #expect(viewer.seesBars)
    }

    @Test func `while a finger is down they stay`() {
        var viewer = shown()
        let finger = viewer.down(0.2, 0.3)
        viewer.wait(.seconds(20))
        #expect(viewer.seesBars)
        viewer.up(finger)
        viewer.wait(.milliseconds(2900))
        #expect(viewer.seesBars)
        viewer.wait(.milliseconds(400))
        #expect(!viewer.seesBars)
    }

    @Test func `dirt on the screen holds them no longer than half a minute, and nothing that is touched after`() {
        var viewer = shown()
        viewer.down(0.2, 0.3)
        viewer.wait(.seconds(29))
        #expect(viewer.seesBars)
        viewer.wait(.seconds(2))
        #expect(!viewer.seesBars)
        viewer.key("i")
        viewer.wait(.milliseconds(400))
        _ = viewer.take()
        viewer.tap(.playPause)
        #expect(viewer.take() == [.player(.togglePlayback)])
    }

    @Test func `paused they stay, and go three seconds after it plays`() {
        var viewer = viewer()
        viewer.tap(0.3, 0.3)
        viewer.wait(.seconds(600))
        #expect(viewer.seesBars)
        #expect(viewer.buttons.contains(.play))
        viewer.tap(.playPause)
        viewer.wait(.milliseconds(2900))
        #expect(viewer.seesBars)
        #expect(viewer.buttons.contains(.pause))
        viewer.wait(.milliseconds(400))
        #expect(viewer.parts.isEmpty)
    }

    @Test func `where it goes on waiting they stay until it has played for three seconds`() {
        var viewer = shown()
        viewer.now.status = .waitingToPlay
        viewer.wait(.seconds(60))
        #expect(viewer.seesBars)
        viewer.now.status = .playing
        viewer.wait(.milliseconds(2900))
        #expect(viewer.seesBars)
        viewer.wait(.milliseconds(400))
        #expect(!viewer.seesBars)
    }

    @Test func `a picture that stands for a moment now and then does not keep them`() {
        var viewer = shown()
        viewer.tap(.mute)
        for _ in 0..<4 {
            viewer.wait(.milliseconds(700))
            viewer.now.status = .waitingToPlay
            viewer.wait(.milliseconds(140))
            viewer.now.status = .playing
        }
        viewer.wait(.milliseconds(300))
        #expect(!viewer.seesBars)
    }

    @Test func `keys show them as touches do, but not those for the volume`() {
        for (key, shows) in [("right", true), ("space", true), ("n", true), ("mute", false), ("volumeup", false)] {
            var viewer = viewer()
            viewer.key(key)
            viewer.wait(.milliseconds(300))
            #expect(viewer.seesBars == shows, "\(key)")
        }
    }

    @Test func `hidden by command`() {
        var viewer = shown()
        viewer.key("h")
        viewer.wait(.milliseconds(300))
        #expect(viewer.parts.isEmpty)
    }

    @Test func `a tap that does something else shows nothing`() {
        var viewer = viewer()
        viewer.now.waitsForTap = true
        viewer.tap(0.3, 0.3)
        viewer.wait(.seconds(1))
        #expect(viewer.parts.isEmpty)
    }

    // MARK: The middle buttons

    @Test func `a button looks pressed from the touch on, and only while the finger is on it`() {
        var viewer = shown()
        let place = viewer.place(.playPause)
        let finger = viewer.down(place.x, place.y)
        #expect(viewer.pressed == [.pause])
        viewer.move(finger, 0.2, 0.2)
        #expect(viewer.pressed == [])
        viewer.move(finger, place.x, place.y)
        #expect(viewer.pressed == [.pause])
        viewer.up(finger)
        #expect(viewer.pressed == [])
        #expect(viewer.buttons.contains(.play), "at once")
    }

    @Test func `the sign does not wait for the player, and believes it in the end`() {
        var viewer = shown()
        viewer.obeys = false
        viewer.tap(.playPause)
        #expect(viewer.buttons.contains(.play))
        viewer.wait(.milliseconds(200))
        #expect(viewer.buttons.contains(.play))
        viewer.wait(.milliseconds(200))
        #expect(viewer.buttons.contains(.pause), "it plays all the same")
    }

    @Test func `at the end of the playlist there is a button to begin again, where somebody was there`() {
        for (seconds, isShown) in [(10.0, true), (70.0, false)] {
            var viewer = viewer()
            viewer.tap(0.3, 0.3)
            viewer.wait(.milliseconds(500))
            viewer.tap(0.3, 0.3)
            viewer.wait(.seconds(seconds))
            (viewer.now.status, viewer.now.hasEnded) = (.paused, true)
            viewer.wait(.milliseconds(300))
            #expect(viewer.buttons.contains(.replay) == isShown)
            viewer.wait(.seconds(30))
            #expect(viewer.seesBars == isShown)
        }
    }

    @Test func `to begin again`() {
        var viewer = shown()
        (viewer.now.status, viewer.now.hasEnded) = (.paused, true)
        viewer.wait(.milliseconds(300))
        viewer.tap(.playPause)
        #expect(viewer.take() == [.player(.togglePlayback)])
        #expect(viewer.buttons.contains(.pause))
    }

    @Test func `a wheel appears after half a second of waiting, alone`() {
        var viewer = viewer()
        viewer.now.status = .waitingToPlay
        viewer.wait(.milliseconds(499))
        #expect(viewer.parts.isEmpty)
        viewer.wait(.milliseconds(300))
        #expect(viewer.seesSpinner)
        #expect(viewer.parts.count == 1)
        viewer.now.status = .playing
        viewer.wait(.milliseconds(300))
        #expect(viewer.parts.isEmpty)
    }

    @Test func `short waits, one after the other, show no wheel`() {
        var viewer = viewer()
        for _ in 0..<5 {
            viewer.now.status = .waitingToPlay
            viewer.wait(.milliseconds(400))
            viewer.now.status = .playing
            viewer.wait(.milliseconds(100))
            #expect(viewer.parts.isEmpty)
        }
    }

    @Test func `the wheel turns once a second, in place of the buttons`() {
        var viewer = shown()
        viewer.now.status = .waitingToPlay
        viewer.wait(.seconds(1))
        #expect(viewer.buttons.isEmpty && viewer.seesBars)
        var steps: Set<Int> = []
        for _ in 0..<24 {
            viewer.wait(.milliseconds(42))
            for placed in viewer.parts { if case .spinner(_, _, let step) = placed.part { steps.insert(step) } }
        }
        #expect(steps == Set(0..<12))
    }

    @Test func `where there is nothing to play there is no wheel`() {
        var viewer = viewer()
        (viewer.now.status, viewer.now.item) = (.waitingToPlay, nil)
        viewer.wait(.seconds(10))
        #expect(viewer.parts.isEmpty)
    }

    // MARK: The bars

    @Test func `times, and a tap on the second one changes it`() {
        var viewer = shown()
        #expect(viewer.texts.contains("2 / 5") && viewer.texts.contains("0:41") && viewer.texts.contains("\u{2212}1:19"))
        viewer.tap(.remaining)
        #expect(viewer.texts.contains("2:00"))
        viewer.tap(.remaining)
        #expect(!viewer.texts.contains("2:00"))
    }

    @Test(arguments: [(4, 25), (4.004, 29.97), (3.6, 30), (3.4, 60), (10.5, 24), (1, 25)])
    func `with the last picture up, nothing remains`(length: Double, rate: Double) {
        var now = NowPlaying.clip
        (now.start, now.duration) = (.seconds(7), .seconds(7 + length))
        #expect(now.elapsed(at: .seconds(7)) == 0)
        #expect(now.elapsed(at: .seconds(7 + length - 1 / rate)) == now.total && now.total == Int(length.rounded()))
        var last = 0
        for frame in 0..<Int(length * rate) {
            let elapsed = now.elapsed(at: .seconds(7 + Double(frame) / rate))
            #expect(elapsed == last || elapsed == last + 1)
            last = elapsed
        }
    }

    @Test func `long items have hours`() {
        var viewer = viewer()
        (viewer.now.duration, viewer.now.time) = (.seconds(7384), .seconds(3723))
        viewer.key("i")
        viewer.wait(.milliseconds(300))
        #expect(viewer.texts.contains("1:02:03") && viewer.texts.contains("\u{2212}1:01:01"))
    }

    @Test func `of a live stream there is the time and no slider`() {
        var viewer = viewer()
        (viewer.now.duration, viewer.now.isSeekable, viewer.now.time) = (nil, false, .seconds(3599))
        viewer.key("i")
        viewer.wait(.milliseconds(300))
        #expect(viewer.slider == nil && viewer.texts.contains("59:59"))
        #expect(viewer.buttons == [.pause])
        viewer.wait(.milliseconds(700))
        #expect(viewer.texts.contains("1:00:00"))
    }

    @Test(arguments: [MediaTime.zero, .seconds(-1)]) func `an item that lasts no time has no slider`(duration: MediaTime) {
        var viewer = viewer()
        viewer.now.duration = duration
        viewer.key("i")
        viewer.wait(.milliseconds(300))
        #expect(viewer.slider == nil && viewer.seesBars)
    }

    @Test func `times that jump stay on the bar`() {
        var viewer = shown()
        for seconds in [-5, 1e9, 300, 0, 119.999] {
            viewer.now.time = .seconds(seconds)
            viewer.wait(.milliseconds(60))
            let slider = viewer.slider!
            #expect((0...slider.width - 2 * slider.inset).contains(slider.played))
            #expect(slider.loaded >= slider.played)
        }
    }

    @Test func `how much is done of what takes a while, until it has ended`() {
        var viewer = viewer()
        viewer.show(progress: 40)
        viewer.wait(.seconds(5))
        #expect(viewer.toast == 40 && viewer.parts.count == 1)
        viewer.show(progress: 250)
        viewer.wait(.milliseconds(300))
        #expect(viewer.toast == 100)
        viewer.show(progress: nil)
        viewer.wait(.milliseconds(500))
        #expect(viewer.toast == nil)
    }

    @Test func `the volume for keys, for a second and a half; once they are shown it stands below the title`() {
        var viewer = viewer()
        viewer.now.volume = 60
        viewer.key("volumeup")
        viewer.wait(.milliseconds(300))
        #expect(viewer.toast == 65)
        #expect(viewer.parts.count == 1)
        let top = viewer.parts[0].y
        viewer.wait(.milliseconds(1000))
        viewer.key("volumeup")
        viewer.wait(.milliseconds(1400))
        #expect(viewer.toast == 70)
        viewer.key("i")
        viewer.key("mute")
        viewer.wait(.milliseconds(300))
        #expect(viewer.toast == 0)
        #expect(viewer.parts.first { if case .toast = $0.part { true } else { false } }!.y > top)
        viewer.wait(.milliseconds(1600))
        #expect(viewer.toast == nil)
    }

    // MARK: Sliding

    @Test func `while a finger holds the slider the time is the finger's, and afterwards stays there`() {
        var viewer = shown()
        viewer.obeys = false
        let (from, to) = (viewer.onSlider(0.5), viewer.onSlider(0.75))
        let finger = viewer.down(from.x, from.y)
        #expect(viewer.texts.contains("1:00") && viewer.preview?.text == "1:00")
        viewer.wait(.seconds(2))
        #expect(viewer.texts.contains("1:00"), "whatever the clock says: \(viewer.now.time)")
        viewer.move(finger, to.x, to.y)
        #expect(viewer.texts.contains("1:30") && viewer.texts.contains("\u{2212}0:30"))
        viewer.wait(.milliseconds(300))
        #expect(viewer.buttons.isEmpty, "the middle goes away")
        #expect(viewer.slider!.bar > shown().slider!.bar)
        let state = viewer.state
        viewer.up(finger)
        // The copy below gets the same touch, and no update from the player. Like the controls, it shows the target of the scrub.
        #expect(viewer.take().last?.rounded == .player(.endScrub(.seconds(90))))
        var after = state
        let contact = Contact(slot: 0, id: finger, x: to.x, y: to.y, surface: .display)
        _ = after.handle(.contact(ContactEvent(device: DeviceID(rawValue: 0), contact: contact, phase: .up, time: viewer.time)))
        let texts = after.parts(at: viewer.time).compactMap { if case .text(let text) = $0.part { text.text } else { nil } }
        #expect(texts.contains("1:30"), "no jump back")
    }

    @Test func `a picture of the item stands above the finger, as soon as there is one`() {
        var viewer = shown()
        let from = viewer.onSlider(0.5)
        let finger = viewer.down(from.x, from.y)
        #expect(viewer.state.wantedPreview?.source == "/srv/harbour.mp4")
        #expect(viewer.state.wantedPreview?.time == .seconds(60))
        #expect(viewer.preview?.hasPicture == false)
        let picture = PreviewPicture(Gallery.harbour)
        viewer.state.show(picture, of: "/srv/another.mp4")
        #expect(viewer.preview?.hasPicture == false, "of another item")
        viewer.state.show(picture, of: "/srv/harbour.mp4")
        #expect(viewer.preview?.hasPicture == true)
        viewer.up(finger)
        viewer.wait(.milliseconds(300))
        #expect(viewer.preview == nil && viewer.state.wantedPreview == nil)
        viewer.state.show(picture, of: "/srv/harbour.mp4")
        #expect(viewer.state.previewPicture == nil, "it came too late")
    }

    // MARK: Icons

    @Test func `seeks are shown where they go, and add up`() {
        var viewer = viewer()
        viewer.key("right")
        viewer.wait(.milliseconds(300))
        viewer.key("right")
        viewer.wait(.milliseconds(300))
        #expect(viewer.buttons == [.skip(forward: true, seconds: 20)])
        viewer.wait(.milliseconds(600))
        #expect(viewer.buttons.contains(.pause), "then the buttons come back")
    }

    @Test func `tap-only: a short sign and nothing else`() {
        var viewer = viewer(.tapOnly)
        viewer.tap(0.3, 0.3)
        #expect(viewer.buttons == [.pause] && viewer.parts.count == 1)
        viewer.wait(.milliseconds(900))
        #expect(viewer.parts.isEmpty)
        viewer.tap(0.3, 0.3)
        #expect(viewer.buttons == [.play])
        viewer.wait(.milliseconds(900))
        viewer.key("mute")
        viewer.key("right")
        viewer.now.status = .waitingToPlay
        viewer.wait(.seconds(1))
        #expect(viewer.parts.isEmpty)
    }

    @Test func `none: nothing, ever`() {
        var viewer = viewer(.none)
        viewer.tap(0.3, 0.3)
        viewer.key("volumeup")
        viewer.now.status = .waitingToPlay
        for _ in 0..<20 {
            viewer.wait(.milliseconds(100))
            #expect(viewer.parts.isEmpty)
        }
    }

    // MARK: Wake-ups

    @Test func `while they are shown the clock is looked at once a second, or when the knob is a pixel further`() {
        var viewer = shown()
        viewer.now.duration = .seconds(36000)
        viewer.wait(.milliseconds(100))
        var wakes = 0
        let end = viewer.time + .seconds(2)
        var time = viewer.time
        while let due = viewer.state.deadline(after: time), due <= end {
            viewer.wait(due - time)
            time = due
            wakes += 1
        }
        #expect(wakes <= 6, "\(wakes)")
    }

    @Test func `parts that are not drawn`() {
        var settings = ControlsSettings.test
        settings.theme.parts = [.playButton]
        settings.theme.opacity = 0.5
        var viewer = Viewer(settings: settings, keys: Self.keys)
        viewer.key("i")
        viewer.wait(.milliseconds(300))
        #expect(viewer.texts.isEmpty && viewer.slider == nil && viewer.buttons == [.pause])
        #expect(viewer.parts.allSatisfy { $0.alpha == 0.5 })
        viewer.key("volumeup")
        viewer.now.status = .waitingToPlay
        viewer.wait(.seconds(1))
        #expect(viewer.toast == nil && !viewer.seesSpinner)
    }
}
