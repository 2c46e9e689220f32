import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskInputCore

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

    @Test func knobs() throws {
        #expect(try key("dial-up") == .dialUp && key("DIAL-DOWN") == .dialDown)
        #expect(KeyCode.dialUp.name == "DIAL-UP" && KeyCode.dialDown.name == "DIAL-DOWN")
    }

    /// Returns the map of a kiosk.conf without keys, with `bindings` added.
    private func map(_ bindings: [(String, Command?)] = []) throws -> KeyMap {
        let own = try bindings.map { (trigger: try #require(KeyTrigger($0.0)), command: $0.1) }
        return try KeyMap(bindings: KeyBinding.defaults.map { ($0.trigger, $0.command) } + own)
    }

    @Test func everyDefaultIsAKeyThatIsKnown() throws {
        let map = try map()
        for binding in KeyBinding.defaults {
            #expect(map.command(for: try key(binding.trigger.keys[0])) == binding.command, "\(binding.trigger)")
        }
    }

    @Test func overridesComeOnTopInOrder() throws {
        let map = try map([("q", nil), ("b", .player(.nextItem)), ("B", .player(.restartItem)), ("space", .player(.play))])
        #expect(map.command(for: try key("Q")) == nil)
        #expect(map.command(for: try key("B")) == .player(.restartItem))
        #expect(map.command(for: try key("SPACE")) == .player(.play))
        #expect(map.command(for: try key("ESC")) == .program(.quit))
        #expect(!map.keys.contains(try key("Q")))
        #expect(throws: UnknownKey.self) { try self.map([("nosuchkey", .player(.play))]) }
        #expect(throws: UnknownKey.self) { try self.map([("space+nosuchkey", .player(.play))]) }
    }

    /// kiosk uses a device for the keys of a chord, too.
    @Test func keysOfInterest() throws {
        let map = try KeyMap(bindings: [
            (KeyTrigger(["KEY_A", "KEY_B"], modifiers: [.control]), .player(.play)), (KeyTrigger(["KEY_C"], press: .hold), .player(.pause)),
        ])
        #expect(try map.keys == [key("A"), key("B"), key("C")])
        #expect(try map.command(for: key("C")) == nil)
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

    /// Only a surface that a viewer points at gives positions on the display.
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
