import Configuration
import Platform
import Testing
import Vocabulary

@testable import Input

@Suite struct KeyMapTests {
    private func key(_ name: String) throws -> KeyCode { try KeyCode(named: name) }

    @Test(arguments: ["space", "SPACE", "Key_Space", "KEY_SPACE"]) func namesInAnyDress(name: String) throws {
        #expect(try KeyCode(named: name).rawValue == 57)
    }

    @Test func buttonsAndDigits() throws {
        #expect(try key("BTN_LEFT").rawValue == 0x110)
        #expect(try key("1").name == "KEY_1")
        #expect(KeyCode(rawValue: 0x2ff - 1).name == "KEY_0x2fe")
    }

    @Test(arguments: [
        ("spcae", "unknown key \"spcae\"; did you mean \"SPACE\"?"),
        ("KEY_VOLUMUP", "unknown key \"KEY_VOLUMUP\"; did you mean \"VOLUMEUP\"?"),
        ("xyzzyplugh", "unknown key \"xyzzyplugh\""), ("", "unknown key \"\""),
    ])
    func unknownNamesAreSaidSo(name: String, message: String) {
        let error = #expect(throws: UnknownKey.self) { try KeyCode(named: name) }
        #expect(error?.description == message)
    }

    /// The map of a kiosk.conf that says nothing about keys, with `bindings` on top.
    private func map(_ bindings: [(String, Command?)] = []) throws -> KeyMap {
        try KeyMap(bindings: KeyBinding.defaults.map { ($0.name, $0.command) } + bindings.map { (keyName: $0.0, command: $0.1) })
    }

    @Test func everyDefaultIsAKeyThatIsKnown() throws {
        for binding in KeyBinding.defaults { #expect(try map().command(for: try key(binding.name)) == binding.command, "\(binding.name)") }
    }

    @Test func overridesComeOnTopInOrder() throws {
        let map = try map([("q", nil), ("b", .nextItem), ("B", .restartItem), ("space", .play)])
        #expect(map.command(for: try key("Q")) == nil)
        #expect(map.command(for: try key("B")) == .restartItem)
        #expect(map.command(for: try key("SPACE")) == .play)
        #expect(map.command(for: try key("ESC")) == .quit)
        #expect(!map.keys.contains(try key("Q")))
        #expect(throws: UnknownKey.self) { try self.map([("nosuchkey", .play)]) }
    }

    private static let presses: [(name: String, phase: KeyEvent.Phase, modifiers: KeyEvent.Modifiers, command: Command?)] = [
        ("RIGHT", .press, [], .seekSteps(1)), ("RIGHT", .repeat, [], .seekSteps(1)), ("RIGHT", .release, [], nil),
        ("RIGHT", .press, .control, nil), ("RIGHT", .press, .meta, nil), ("UP", .repeat, [], .changeVolume(by: 5)),
        ("SPACE", .press, [], .togglePlayback), ("SPACE", .repeat, [], nil), ("SPACE", .press, [.alternate, .control], nil),
        ("N", .repeat, [], nil), ("Q", .repeat, [], nil), ("F2", .press, [], nil),
    ]

    @Test(arguments: presses)
    func events(name: String, phase: KeyEvent.Phase, modifiers: KeyEvent.Modifiers, command: Command?) throws {
        let event = KeyEvent(
            device: DeviceID(rawValue: 0), key: try key(name), phase: phase, modifiers: modifiers, time: HostTime(nanoseconds: 0))
        #expect(try map().command(for: event) == command)
    }

    @Test func onlyDevicesOfUseAreUsedAndThePowerButtonIsLeftToOthers() throws {
        let none = DeviceAbilities(contacts: .none, isDirect: true, keys: [])
        #expect(!none.isUsed && !none.isGrabbed && none.description == "nothing of use")
        let power = DeviceAbilities(contacts: .none, isDirect: true, keys: [try key("POWER"), try key("SLEEP")])
        #expect(power.isUsed && !power.isGrabbed)
        let keyboard = DeviceAbilities(contacts: .none, isDirect: true, keys: [try key("POWER"), try key("SPACE")])
        #expect(keyboard.isUsed && keyboard.isGrabbed)
        let screen = DeviceAbilities(contacts: .multitouch(slots: 10), isDirect: true, keys: [])
        #expect(screen.isUsed && screen.isGrabbed && screen.description == "touch screen, 10 fingers")
    }

    /// Only what a viewer points at is a position on the display.
    @Test func surfaces() throws {
        func surface(_ contacts: DeviceAbilities.ContactSource, isDirect: Bool) -> Contact.Surface {
            DeviceAbilities(contacts: contacts, isDirect: isDirect, keys: []).surface
        }
        #expect(surface(.multitouch(slots: 10), isDirect: true) == .display)
        #expect(surface(.multitouch(slots: 5), isDirect: false) == .touchpad)
        #expect(surface(.absolute(button: try key("BTN_LEFT")), isDirect: true) == .display)
        #expect(surface(.mouse, isDirect: true) == .mouse)
    }
}
