import Platform
import Vocabulary

/// What a key does: one line of `[input.keys]`, or a default.
package struct KeyBinding: Hashable, Sendable {
    /// The key by evdev's name for it, in capitals and with its prefix: `KEY_SPACE`. That there is such a key has not been checked.
    package var name: String
    /// What it asks of the player; nil when it is bound to `none`.
    package var command: Command?
    /// Where kiosk.conf says so; nil for a default.
    package var position: SourcePosition?

    /// A binding from its parts.
    package init(name: String, command: Command?, position: SourcePosition? = nil) {
        self.name = name
        self.command = command
        self.position = position
    }

    /// Hundredths of full scale that `volume-up` and `volume-down` move by.
    package static let volumeStep = 5

    /// The words for what a key can do, in the order in which they are listed to users. `none` is nil.
    package static let actions: [(word: String, command: Command?)] = [
        ("toggle", .togglePlayback), ("play", .play), ("pause", .pause), ("seek-forward", .seekSteps(1)), ("seek-back", .seekSteps(-1)),
        ("next", .nextItem), ("previous", .previousItem), ("restart", .restartItem), ("volume-up", .changeVolume(by: volumeStep)),
        ("volume-down", .changeVolume(by: -volumeStep)), ("mute", .toggleMute), ("quit", .quit), ("none", nil),
    ]

    /// The bindings a kiosk.conf without `[input.keys]` has.
    package static let defaults: [KeyBinding] = [
        (.togglePlayback, ["SPACE", "PLAYPAUSE", "ENTER", "KPENTER", "OK", "SELECT"]),
        (.play, ["PLAY", "PLAYCD"]),
        (.pause, ["PAUSE", "PAUSECD", "STOP", "STOPCD"]),
        (.seekSteps(1), ["RIGHT", "FASTFORWARD"]),
        (.seekSteps(-1), ["LEFT", "REWIND"]),
        (.changeVolume(by: volumeStep), ["UP", "VOLUMEUP"]),
        (.changeVolume(by: -volumeStep), ["DOWN", "VOLUMEDOWN"]),
        (.toggleMute, ["M", "MUTE"]),
        (.nextItem, ["N", "PAGEDOWN", "NEXTSONG", "NEXT"]),
        (.previousItem, ["P", "PAGEUP", "PREVIOUSSONG", "PREVIOUS"]),
        (.restartItem, ["HOME", "RESTART"]),
        (.quit, ["ESC", "Q", "EXIT"]),
    ].flatMap { (command: Command, names: [String]) in names.map { KeyBinding(name: "KEY_" + $0, command: command) } }

    /// evdev's name for the key that a user wrote as `text`: `space`, `KEY_SPACE` and `Space` are `KEY_SPACE`; names of buttons keep their
    /// `BTN_`. nil when it cannot be a name.
    package static func name(_ text: String) -> String? {
        guard 1...40 ~= text.utf8.count, text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }) else { return nil }
        let capitals = text.uppercased()
        if capitals == "KEY_" || capitals == "BTN_" { return nil }
        return capitals.hasPrefix("KEY_") || capitals.hasPrefix("BTN_") ? capitals : "KEY_" + capitals
    }
}
