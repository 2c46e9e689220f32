import CKioskEvdev
import KioskVocabulary

/// A map from keys, alone or together, to commands.
package struct KeyMap: Sendable {
    /// Keys held at the same time, with their modifiers.
    struct Chord: Hashable, Sendable {
        var keys: Set<KeyCode>
        var modifiers: Set<KeyTrigger.Modifier> = []
    }

    /// The commands of a chord.
    struct Actions: Sendable {
        /// The command when it is pressed.
        var press: Command?
        /// Whether that command repeats while the chord is held.
        var repeats = false
        /// The command once it has been held for a second.
        var hold: Command?
    }

    private(set) var actions: [Chord: Actions] = [:]
    /// The keys of chords with several keys.
    private var sharedKeys: Set<KeyCode> = []

    /// Creates a map without keys.
    package init() {}

    /// Creates a map from `bindings`, in order; nil removes a command.
    ///
    /// - Throws: the first key name that evdev does not know.
    package init(bindings: [(trigger: KeyTrigger, command: Command?)]) throws(UnknownKey) {
        for (trigger, command) in bindings {
            var keys: Set<KeyCode> = []
            for name in trigger.keys { keys.insert(try KeyCode(named: name)) }
            let chord = Chord(keys: keys, modifiers: trigger.modifiers)
            var actions = self.actions[chord] ?? Actions()
            if trigger.press == .hold {
                actions.hold = command
            } else {
                actions.press = command
                actions.repeats = trigger.press == .repeat || trigger.press == .plain && command?.goesBySteps == true
            }
            self.actions[chord] = actions.press == nil && actions.hold == nil ? nil : actions
        }
        sharedKeys = actions.keys.reduce(into: []) { if $1.keys.count > 1 { $0.formUnion($1.keys) } }
    }

    /// Returns the command for a press of `key` alone.
    package func command(for key: KeyCode) -> Command? { actions[Chord(keys: [key])]?.press }

    /// The keys with a command, alone or with others.
    package var keys: Set<KeyCode> { actions.keys.reduce(into: []) { $0.formUnion($1.keys) } }

    /// Returns the largest chord that `key` completes; `held` are all keys that are down, including `key`. Shift counts only if a binding
    /// names it.
    func chord(completedBy key: KeyCode, held: Set<KeyCode>, modifiers: Set<KeyTrigger.Modifier>) -> Chord? {
        for modifiers in [modifiers, modifiers.subtracting([.shift])] {
            if !sharedKeys.contains(key) {
                let alone = Chord(keys: [key], modifiers: modifiers)
                if actions[alone] != nil { return alone }
            } else {
                let complete = actions.keys.filter { $0.modifiers == modifiers && $0.keys.contains(key) && $0.keys.isSubset(of: held) }
                if let largest = complete.max(by: { $0.keys.count < $1.keys.count }) { return largest }
            }
        }
        return nil
    }

    /// Returns whether a larger chord contains this one, which may then be only its beginning.
    func isBeginning(_ chord: Chord) -> Bool {
        guard !sharedKeys.isDisjoint(with: chord.keys) else { return false }
        return actions.keys.contains { $0.modifiers == chord.modifiers && $0.keys.isStrictSuperset(of: chord.keys) }
    }
}

extension Command {
    /// Whether it advances by steps, so that a held key repeats it.
    fileprivate var goesBySteps: Bool {
        switch self {
        case .player(.seekSteps), .player(.seekBy), .player(.changeVolume): true
        default: false
        }
    }
}

extension KeyCode {
    /// The modifier that the key is; nil for other keys.
    var modifier: KeyTrigger.Modifier? {
        switch Int32(rawValue) {
        case KEY_LEFTCTRL, KEY_RIGHTCTRL: .control
        case KEY_LEFTSHIFT, KEY_RIGHTSHIFT: .shift
        case KEY_LEFTALT, KEY_RIGHTALT: .alternate
        case KEY_LEFTMETA, KEY_RIGHTMETA: .meta
        default: nil
        }
    }
}
