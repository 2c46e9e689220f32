import KioskControls
import KioskDisplay
import KioskInput
import KioskPlayer

/// Checks the controls with touches of the application's own, and drawings.
func checkControls(_ clips: [String]) async {
    let display = VideoOutput.offscreen(width: 1280, height: 720)
    let player = QueuePlayer(items: clips.map { PlayerItem($0) }, loop: .item, video: display)
    let controls = AVPlayerViewController()
    controls.player = player
    controls.configuration.parts.insert(.back)
    let (back, taps) = (Counter(), Counter())
    controls.backAction = { back.add() }
    let events = controls.events
    let watching = Task { for await event in events { if case .gesture(.tap) = event { taps.add() } } }
    player.play()
    Check.expect(await eventually { controls.isReadyForDisplay }, "a player with controls shows a picture")

    func press(_ x: Double, _ y: Double) async {
        try? await Task.sleep(for: .milliseconds(350))
        for phase in [InputDevices.Touch.Phase.began, .ended] { controls.send(.touch(.init(phase: phase, x: x, y: y))) }
    }
    func press(_ control: PlayerControls.Control) async {
        guard let region = controls.region(of: control) else { return Check.expect(false, "there is \(control)") }
        await press(region.x + region.width / 2, region.y + region.height / 2)
    }
    await press(0.5, 0.25)
    Check.expect(await eventually { player.timeControlStatus == .paused && taps.count == 1 }, "a tap pauses, and is an event")
    Check.expect(controls.isVisible, "and shows the controls")
    let bare = try? display.png()
    Check.expect(await eventually { (try? display.png()) != bare }, "which are drawn")
    await press(.playPause)
    Check.expect(await eventually { player.timeControlStatus == .playing }, "their button plays")
    let first = player.currentItem
    await press(.nextItem)
    Check.expect(await eventually { player.currentItem != first }, "another one goes to the next item")
    await press(.back)
    Check.expect(await eventually { back.count == 1 }, "and one is the application's")
    controls.hide()
    Check.expect(!controls.isVisible, "they can be hidden")
    controls.configuration.tapPolicy = .togglesControls
    await press(0.5, 0.25)
    Check.expect(controls.isVisible && player.timeControlStatus != .paused, "a tap can show them, and pause nothing")
    Check.expect(!controls.send(.key(.init(name: "spcae", phase: .pressed))), "a key that there is not is refused")

    var canvas = Canvas(width: 200, height: 60)
    canvas.fill(.rectangle(x: 0, y: 0, width: 200, height: 60, cornerRadius: 12), with: .black)
    canvas.draw("Floor 3", x: 100, y: 10, font: .init(size: 30, isBold: true), alignment: .center)
    let label = canvas.bitmap()
    Check.expect(label.pixels[0] == 0 && label.pixels[30 * 200 + 4] == 0xff00_0000, "a canvas has shapes")
    let size = Canvas.size(of: "Floor 3", font: .init(size: 30, isBold: true))
    Check.expect(size.width == 0 || label.pixels.contains(0xffff_ffff), "and text, if there is a font: \(size)")
    display.overlay = [OverlayPicture(label, x: 40, y: 40)]
    controls.stop()
    await watching.value
    Check.expect(true, "events end with the controls")
    player.stop()
    display.close()
}
