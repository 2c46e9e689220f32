import CEvdev
import Playback

/// Which key asks for what.
public struct KeyMap: Sendable {
    private var commands: [KeyCode: Command] = [:]

    /// The map that `bindings` make, in order; nil takes a key's command away.
    public init(bindings: [(keyName: String, command: Command?)]) throws(UnknownKey) {
        for (name, command) in bindings { commands[try KeyCode(named: name)] = command }
    }

    /// What `key` asks for.
    public func command(for key: KeyCode) -> Command? { commands[key] }

    /// The keys that ask for something.
    public var keys: Set<KeyCode> { Set(commands.keys) }

    /// What an event of a key asks for. A key that is held repeats only what goes by steps; with Ctrl, Alt or Meta held a key is a
    /// shortcut for somebody else (Alt+F2).
    func command(for key: KeyCode, _ event: KeyEvent, modifierHeld: Bool) -> Command? {
        guard !modifierHeld, event != .release, let command = commands[key] else { return nil }
        guard event == .repeat else { return command }
        switch command {
        case .seekSteps, .seekBy, .changeVolume: return command
        default: return nil
        }
    }

    static let modifiers: [KeyCode] = [KEY_LEFTCTRL, KEY_RIGHTCTRL, KEY_LEFTALT, KEY_RIGHTALT, KEY_LEFTMETA, KEY_RIGHTMETA].map {
        KeyCode($0)
    }
}

/// The value of an EV_KEY event.
enum KeyEvent: Int32 {
    case release = 0
    case press = 1
    case `repeat` = 2
}
