import KioskPlatform
import KioskVocabulary

/// What a key does: one line of `[input.keys]`, or a default.
package struct KeyBinding: Hashable, Sendable {
    /// Which keys, and how they are pressed. That there are such keys has not been checked.
    package var trigger: KeyTrigger
    /// What it asks of the player; nil when it is bound to `none`.
    package var command: Command?
    /// Where kiosk.conf says so; nil for a default.
    package var position: SourcePosition?

    /// A binding from its parts.
    package init(trigger: KeyTrigger, command: Command?, position: SourcePosition? = nil) {
        self.trigger = trigger
        self.command = command
        self.position = position
    }

    /// The bindings a kiosk.conf without `[input.keys]` has.
    package static let defaults: [KeyBinding] = {
        let step = CommandWords.volumeStep
        let words: [(Command, [String])] = [
            (.togglePlayback, ["SPACE", "PLAYPAUSE", "ENTER", "KPENTER", "OK", "SELECT"]),
            (.play, ["PLAY", "PLAYCD"]),
            (.pause, ["PAUSE", "PAUSECD", "STOP", "STOPCD"]),
            (.seekSteps(1), ["RIGHT", "FASTFORWARD"]),
            (.seekSteps(-1), ["LEFT", "REWIND"]),
            (.changeVolume(by: step), ["UP", "VOLUMEUP"]),
            (.changeVolume(by: -step), ["DOWN", "VOLUMEDOWN"]),
            (.toggleMute, ["M", "MUTE"]),
            (.nextItem, ["N", "PAGEDOWN", "NEXTSONG", "NEXT", "CHANNELUP"]),
            (.previousItem, ["P", "PAGEUP", "PREVIOUSSONG", "PREVIOUS", "CHANNELDOWN"]),
            (.restartItem, ["HOME", "RESTART"]),
            (.toggleShelf, ["MENU", "LIST"]),
            (.quit, ["ESC", "Q", "EXIT"]),
        ]
        let dial: [KeyBinding] = [
            KeyBinding(trigger: KeyTrigger([KeyTrigger.dialUp]), command: .changeVolume(by: step)),
            KeyBinding(trigger: KeyTrigger([KeyTrigger.dialDown]), command: .changeVolume(by: -step)),
        ]
        let numbers = (1...9).flatMap { number in
            ["\(number)", "KP\(number)", "NUMERIC_\(number)"].map { (Command.selectItem(number), ["\($0)"]) }
        }
        let keys = (words + numbers).flatMap { command, names in
            names.map { KeyBinding(trigger: KeyTrigger(["KEY_" + $0]), command: command) }
        }
        return keys + dial
    }()
}
