import CEvdev
import Playback

/// Which key asks for what.
public struct KeyMap: Sendable {
    private var commands: [KeyCode: Command] = [:]

    /// What the keys of keyboards and remotes ask for where nothing else is said.
    public static let defaults: [(keyName: String, command: Command)] = [
        ("SPACE", .togglePlayback), ("ENTER", .togglePlayback), ("KPENTER", .togglePlayback), ("OK", .togglePlayback),
        ("SELECT", .togglePlayback), ("PLAYPAUSE", .togglePlayback),
        ("PLAY", .play), ("PLAYCD", .play), ("PAUSE", .pause), ("PAUSECD", .pause), ("STOP", .pause), ("STOPCD", .pause),
        ("LEFT", .seekSteps(-1)), ("REWIND", .seekSteps(-1)), ("RIGHT", .seekSteps(1)), ("FASTFORWARD", .seekSteps(1)),
        ("UP", .changeVolume(by: 5)), ("VOLUMEUP", .changeVolume(by: 5)),
        ("DOWN", .changeVolume(by: -5)), ("VOLUMEDOWN", .changeVolume(by: -5)),
        ("M", .toggleMute), ("MUTE", .toggleMute),
        ("N", .nextItem), ("PAGEDOWN", .nextItem), ("NEXTSONG", .nextItem), ("NEXT", .nextItem),
        ("P", .previousItem), ("PAGEUP", .previousItem), ("PREVIOUSSONG", .previousItem), ("PREVIOUS", .previousItem),
        ("HOME", .restartItem), ("RESTART", .restartItem),
        ("ESC", .quit), ("Q", .quit), ("EXIT", .quit),
    ]

    /// The ``defaults`` with `overrides` on top, in order; nil takes a key's command away.
    public init(overrides: [(keyName: String, command: Command?)] = []) throws(UnknownKey) {
        for (name, command) in Self.defaults {
            // Every name of the table is known to some libevdev; one too old for a key cannot meet that key either.
            if let key = try? KeyCode(named: name) { commands[key] = command }
        }
        for (name, command) in overrides { commands[try KeyCode(named: name)] = command }
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
