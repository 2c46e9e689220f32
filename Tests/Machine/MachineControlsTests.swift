import Foundation
import TestSupport
import Testing

/// The controls on the screen, with the machine's pointer and keyboard. Neither adapter has a plane for them, so they are blended into the
/// picture.
extension MachineTests {
    @Test(arguments: Machine.Adapter.tried)
    func `a tap shows the controls, and they go when it plays again`(adapter: Machine.Adapter) throws {
        let machine = try Machine.playing(adapter)
        try machine.turnControlsOn()
        try machine.qmp.tap(0.1, 0.4)
        try machine.wait("the controls, with a sign that says play") { $0.isShaded && $0.hasSign }
        let paused = try machine.waitForStill()
        #expect(paused.isShaded, "paused, they stay")
        try machine.qmp.tap(0.1, 0.4)
        try machine.wait("a picture without them") { $0.number != nil }
        try machine.waitForMovingPicture()
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "0")
    }

    @Test(.thorough("a minute of an emulated machine")) func `so does a key, and the disc in the middle plays`() throws {
        let machine = try Machine.playing()
        try machine.turnControlsOn()
        try machine.qmp.key("spc")
        try machine.wait("the controls, with a sign that says play") { $0.isShaded && $0.hasSign }
        #expect(try machine.waitForStill().isShaded)
        try machine.qmp.tap(0.5, 0.5)
        try machine.waitForMovingPicture()
        try machine.qmp.key("volumedown")
        try machine.waitForMovingPicture()
        #expect(try machine.shell("journalctl -b -u kiosk --no-pager -o cat | grep -i font || true") == "")
    }
}

extension Machine {
    /// Restarts the player with controls.
    fileprivate func turnControlsOn() throws {
        try shell("sed -i 's/^controls = \"none\"/controls = \"full\"/' /etc/kiosk/kiosk.conf && systemctl restart kiosk.service")
        try waitForMovingPicture()
    }
}

extension ScreenDump {
    /// Whether a shade darkens the cells of the number. Without a shade, one cell of each pair is white. The slider's knob and the buttons
    /// are white, too, and cover some.
    fileprivate var isShaded: Bool {
        let scale = min(Double(width) / 320, Double(height) / 180)
        let (left, top) = ((Double(width) - 320 * scale) / 2, (Double(height) - 180 * scale) / 2)
        let shaded = (0..<16).count { cell in
            let x = Int(left + (Double(cell) * 16 + 8) * scale)
            let lower = brightness(x, Int(top + 172 * scale)), upper = brightness(x, Int(top + 156 * scale))
            return 24...190 ~= max(lower, upper)
        }
        return number == nil && shaded >= 10
    }

    /// Whether the middle of the screen shows a white icon.
    fileprivate var hasSign: Bool {
        (-2...2).allSatisfy { dx in (-2...2).allSatisfy { dy in brightness(width / 2 + dx, height / 2 + dy) > 220 } }
    }

    private func brightness(_ x: Int, _ y: Int) -> Int {
        pixels[(y * width + x) * 3..<(y * width + x) * 3 + 3].reduce(0) { $0 + Int($1) } / 3
    }
}
