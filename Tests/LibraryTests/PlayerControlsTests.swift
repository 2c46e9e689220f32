import Glibc
import KioskControls
import KioskDisplay
import KioskInput
import KioskPlatform
import KioskPlayer
import Observation
import Synchronization
import TestSupport
import Testing

/// Controls of an application over a player that plays into memory, touched by the application.
@Suite(.blocking, .serialized) struct PlayerControlsTests {
    private final class Stage {
        let display = VideoOutput.offscreen(width: 1280, height: 720, refreshRate: 20)
        let player: QueuePlayer
        let controls: PlayerControls
        private var lastTouch = Duration.zero

        init(_ configuration: PlayerControls.Configuration = .init()) async throws {
            let clip = try Clips.numbered("player-controls.mp4", frames: 50, rate: 10, size: "320x180")
            player = QueuePlayer(items: [PlayerItem(clip)], loop: .queue, video: display)
            controls = PlayerControls(player, configuration: configuration)
            player.play()
            try #require(await eventually { self.player.statistics.framesShown > 0 && self.player.timeControlStatus == .playing })
        }

        deinit {
            controls.stop()
            player.stop()
            display.close()
        }

        /// Taps the middle of a control, or a place.
        func tap(_ control: PlayerControls.Control) async throws {
            let region = try #require(controls.region(of: control))
            await tap(region.x + region.width / 2, region.y + region.height / 2)
        }

        /// Taps in time for a bounce to be none, and so late that two taps are no double tap.
        func tap(_ x: Double, _ y: Double) async {
            try? await Task.sleep(for: .milliseconds(350))
            for phase in [InputDevices.Touch.Phase.began, .ended] { controls.send(.touch(.init(phase: phase, x: x, y: y))) }
        }

        /// Returns the screen once it has stood still for a while.
        func settled() async throws -> Screen {
            var last = try Screen(display.png())
            for _ in 0..<200 {
                try await Task.sleep(for: .milliseconds(500))
                let next = try Screen(display.png())
                if next.pixels == last.pixels { break }
                last = next
            }
            return last
        }
    }

    @Test func `a touch on the button pauses and plays`() async throws {
        let stage = try await Stage()
        stage.controls.show()
        #expect(stage.controls.isVisible)
        try await stage.tap(.playPause)
        #expect(await eventually { stage.player.timeControlStatus == .paused })
        #expect(stage.player.rate == 0 && stage.controls.isVisible, "controls of a paused player stay")
        try await stage.tap(.playPause)
        #expect(await eventually { stage.player.timeControlStatus == .playing })
        let muted = Counter()
        withObservationTracking {
            _ = stage.player.isMuted
        } onChange: {
            muted.add()
        }
        try await stage.tap(.mute)
        #expect(await eventually { muted.count == 1 } && stage.player.isMuted, "Observation tells what a viewer changes")
        let absent = [PlayerControls.Control.nextItem, .back].allSatisfy { stage.controls.region(of: $0) == nil }
        #expect(absent, "a queue of one item, and no back button")
    }

    @Test func `the buttons are drawn at their places`() async throws {
        let stage = try await Stage()
        stage.player.pause()
        let bare = try await stage.settled()
        stage.controls.show()
        var shown = try await stage.settled()
        // On a busy machine, the fonts may take longer than the screen stood still.
        for _ in 0..<20 where shown.pixels == bare.pixels { shown = try await stage.settled() }
        let changed = shown.changes(from: bare)
        for control in [PlayerControls.Control.playPause, .skipBackward, .skipForward, .slider, .mute] {
            let region = try #require(stage.controls.region(of: control))
            #expect(changed(region) > 0.02, "\(control)")
        }
        let disc = try #require(stage.controls.region(of: .playPause))
        #expect(changed(disc) > 0.7, "a disc fills three quarters of its square and more")
        #expect(changed(Region(x: 0.35, y: 0.23, width: 0.3, height: 0.1)) == 0, "nothing is drawn between the title and the discs")
        // The sign is a white triangle in the middle.
        let (x, y) = (Int((disc.x + disc.width / 2) * 1280), Int((disc.y + disc.height / 2) * 720))
        #expect(shown.pixels[y * 1280 + x] == 0xffffff)

        // A larger scale, and a part that goes.
        stage.controls.configuration.scale = 1.4
        let large = try #require(stage.controls.region(of: .playPause))
        #expect(large.width > disc.width * 1.3)
        stage.controls.configuration.parts.remove(.playButton)
        #expect(stage.controls.region(of: .playPause) == nil)
        let without = try await stage.settled()
        #expect(without.changes(from: bare)(Region(x: 0.48, y: 0.45, width: 0.04, height: 0.05)) == 0)

        stage.controls.title = "Another title"
        let titled = try await stage.settled()
        #expect(titled.changes(from: without)(Region(x: 0, y: 0, width: 1, height: 0.15)) > 0)
        stage.controls.stop()
        #expect(try await stage.settled().pixels == bare.pixels, "nothing is left")
    }

    @Test func `back and rotate call the application`() async throws {
        var configuration = PlayerControls.Configuration()
        configuration.parts.formUnion([.back, .rotate])
        let stage = try await Stage(configuration)
        let (back, rotate) = (Counter(), Counter())
        stage.controls.backAction = { back.add() }
        var events = stage.controls.events.makeAsyncIterator()
        stage.controls.show()
        #expect(await events.next() == .visibilityChanged(true))
        try await stage.tap(.back)
        #expect(await events.next() == .back)
        #expect(await eventually { back.count == 1 })
        // Without an action, the display rotates; the layout follows.
        try await stage.tap(.rotate)
        #expect(await events.next() == .rotate)
        #expect(await eventually { stage.display.size == PixelSize(width: 720, height: 1280) })
        stage.controls.rotateAction = { rotate.add() }
        stage.controls.show()
        try await stage.tap(.rotate)
        #expect(await eventually { rotate.count == 1 })
        #expect(stage.display.size == PixelSize(width: 720, height: 1280), "with an action it does not")
        // A finger that leaves the button presses nothing.
        let place = try #require(stage.controls.region(of: .back))
        stage.controls.show()
        stage.controls.send(.touch(.init(phase: .began, x: place.x + 0.01, y: place.y + 0.01)))
        stage.controls.send(.touch(.init(phase: .moved, x: 0.5, y: 0.5)))
        stage.controls.send(.touch(.init(phase: .ended, x: 0.5, y: 0.5)))
        try await stage.tap(.rotate)
        #expect(await eventually { rotate.count == 2 } && back.count == 1)
    }

    @Test func `a tap pauses, or shows the controls`() async throws {
        let stage = try await Stage()
        await stage.tap(0.5, 0.25)
        #expect(await eventually { stage.player.timeControlStatus == .paused } && stage.controls.isVisible)
        await stage.tap(0.5, 0.25)
        #expect(await eventually { stage.player.timeControlStatus == .playing })
        stage.controls.hide()
        stage.controls.configuration.tapPolicy = .togglesControls
        await stage.tap(0.5, 0.25)
        #expect(stage.controls.isVisible)
        await stage.tap(0.5, 0.25)
        #expect(!stage.controls.isVisible && stage.player.timeControlStatus != .paused)

        // Without controls a touch is an event, and nothing more.
        stage.controls.showsPlaybackControls = false
        var events = stage.controls.events.makeAsyncIterator()
        await stage.tap(0.5, 0.25)
        #expect(await events.next() == .gesture(.tap(x: 0.5, y: 0.25)))
        stage.controls.send(.key(.init(name: "KEY_SPACE", phase: .pressed)))
        stage.controls.send(.key(.init(name: "KEY_SPACE", phase: .released)))
        stage.controls.show()
        try await Task.sleep(for: .milliseconds(300))
        #expect(!stage.controls.isVisible && stage.player.timeControlStatus != .paused && stage.controls.region(of: .playPause) == nil)
    }

    @Test func `gestures arrive in order, with their places`() async throws {
        var configuration = PlayerControls.Configuration()
        (configuration.handlesGestures, configuration.tapPolicy) = (false, .togglesControls)
        let stage = try await Stage(configuration)
        var events = stage.controls.events.makeAsyncIterator()
        let size = try #require(stage.display.size)
        var time = Duration.seconds(CMTime.hostTime.seconds) - .seconds(20)
        /// Sends a finger along places in pixels, a step every so many milliseconds.
        func finger(_ places: [(Int, Int)], every milliseconds: Int = 50, id: Int = 0, ends: Bool = true) {
            for (index, place) in places.enumerated() {
                let phase: InputDevices.Touch.Phase = index == 0 ? .began : index == places.count - 1 && ends ? .ended : .moved
                stage.controls.send(.touch(.init(phase: phase, id: id, pixelX: place.0, pixelY: place.1, of: size, time: time)))
                time += .milliseconds(milliseconds)
            }
        }
        func next() async -> PlayerControls.Gesture? {
            while let event = await events.next() { if case .gesture(let gesture) = event { return gesture } }
            return nil
        }
        /// Skips the drag that belongs to a swipe.
        func nextButDrags() async -> PlayerControls.Gesture? {
            while let gesture = await next() { if case .drag = gesture { continue } else { return gesture } }
            return nil
        }
        finger([(639, 359), (639, 359)])
        if case .tap(let x, let y) = await next() {
            #expect(abs(x - 0.5) < 0.001 && abs(y - 0.5) < 0.001, "the middle of a pixel")
        } else {
            Issue.record("a tap is one")
        }
        time += .seconds(1)
        finger([(100, 400), (100, 400)])
        time += .milliseconds(100)
        finger([(100, 400), (100, 400)])
        guard case .tap = await next(), case .doubleTap = await next() else {
            Issue.record("two taps on the left are a double tap")
            return
        }
        time += .seconds(1)
        finger([(500, 300), (600, 300), (800, 300), (900, 310)])
        guard case .drag(.began, let startX, _, let x, _) = await next() else {
            Issue.record("a drag begins")
            return
        }
        #expect(abs(startX - 0.39) < 0.01 && abs(x - 0.47) < 0.01)
        #expect(await nextButDrags() == .swipe(steps: 1), "a third of the width")
        time += .seconds(1)
        finger([(5, 300), (200, 300), (300, 300)])
        #expect(await nextButDrags() == .edgeSwipe(.left))
        time += .seconds(1)
        // Up along the right edge: without gestures of the controls, a drag like any other.
        finger([(1200, 600), (1200, 300), (1200, 100), (1200, 100)])
        guard case .drag(.began, _, _, _, _) = await next() else {
            Issue.record("a drag begins")
            return
        }
        #expect(stage.player.volume == 1)
        time += .seconds(1)
        finger([(400, 300)], id: 1, ends: false)
        finger([(800, 300)], id: 2, ends: false)
        for id in [1, 2] {
            stage.controls.send(.touch(.init(phase: .ended, id: id, pixelX: 400 * id, pixelY: 300, of: size, time: time)))
        }
        guard case .twoFingerTap(let middle, _) = await nextButDrags() else {
            Issue.record("two fingers tap")
            return
        }
        #expect(abs(middle - 600.0 / 1280) < 0.002)
        // A finger that rests needs no further event: a clock ends it.
        stage.controls.send(.touch(.init(phase: .began, id: 7, x: 0.3, y: 0.4)))
        #expect(await nextButDrags() == .longPress(x: 0.3, y: 0.4))
        #expect(stage.player.timeControlStatus != .paused, "nothing of this was an order to the player")
    }

    @Test func `they hide by themselves, as they are told`() async throws {
        var configuration = PlayerControls.Configuration()
        configuration.hideDelay = .milliseconds(400)
        let stage = try await Stage(configuration)
        let changes = Counter()
        withObservationTracking {
            _ = stage.controls.isVisible
        } onChange: {
            changes.add()
        }
        stage.controls.show()
        #expect(await eventually { changes.count == 1 })
        #expect(await eventually { !stage.controls.isVisible })
        stage.controls.configuration.hideDelay = nil
        stage.controls.show()
        try await Task.sleep(for: .milliseconds(1500))
        #expect(stage.controls.isVisible)
        // Another player takes them over, hidden; without one there are none.
        stage.controls.player = nil
        #expect(!stage.controls.isVisible && stage.controls.region(of: .playPause) == nil)
        stage.controls.player = stage.player
        stage.controls.show()
        #expect(stage.controls.isVisible && stage.controls.region(of: .playPause) != nil)
    }

    @Test func `keys act as for the command, and nothing seeks if it must not`() async throws {
        let stage = try await Stage()
        func press(_ name: String) -> Bool {
            [InputDevices.Key.Phase.pressed, .released].allSatisfy { stage.controls.send(.key(.init(name: name, phase: $0))) }
        }
        #expect(press("KEY_SPACE"))
        #expect(await eventually { stage.player.timeControlStatus == .paused })
        #expect(press("mute"))
        #expect(await eventually { stage.player.isMuted })
        #expect(!press("KEY_SPCAE") && !stage.controls.send(.touch(.init(phase: .began, x: .nan, y: 0))))
        stage.player.seek(to: .zero) { _ in }
        #expect(await eventually { stage.player.currentTime() < .milliseconds(50) })
        stage.controls.requiresLinearPlayback = true
        #expect(press("KEY_RIGHT"))
        stage.controls.show()
        #expect(stage.controls.region(of: .slider) == nil && stage.controls.region(of: .skipForward) == nil)
        try await Task.sleep(for: .milliseconds(500))
        #expect(stage.player.currentTime() < .milliseconds(50))
        stage.controls.requiresLinearPlayback = false
        // The knob goes to the finger.
        let slider = try #require(stage.controls.region(of: .slider))
        stage.controls.show()
        await stage.tap(slider.x + slider.width / 2, slider.y + slider.height / 2)
        #expect(await eventually { abs(stage.player.currentTime().seconds - 2.5) < 0.2 }, "the middle of 5 s")
        stage.controls.configuration.handlesKeys = false
        #expect(press("KEY_MUTE"))
        try await Task.sleep(for: .milliseconds(200))
        #expect(stage.player.isMuted)
    }
}

/// A counter for any thread.
final class Counter: Sendable {
    private let value = Atomic(0)
    func add() { value.add(1, ordering: .relaxed) }
    var count: Int { value.load(ordering: .relaxed) }
}
