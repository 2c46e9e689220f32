import CKioskEvdev
import KioskVocabulary

/// Which keys, alone or together, ask for what.
package struct KeyMap: Sendable {
    /// Keys that are held at the same time, and the modifiers with them.
    struct Chord: Hashable, Sendable {
        var keys: Set<KeyCode>
        var modifiers: Set<KeyTrigger.Modifier> = []
    }

    /// What a chord asks for.
    struct Actions: Sendable {
        /// When it is pressed.
        var press: Command?
        /// Whether that is asked for again and again while it is held.
        var repeats = false
        /// When it has been held for a second.
        var hold: Command?
    }

    private(set) var actions: [Chord: Actions] = [:]
    /// Keys of chords of several keys.
    private var sharedKeys: Set<KeyCode> = []

    /// The map that `bindings` make, in order; nil takes a command away.
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

    /// What a press of `key` alone asks for.
    package func command(for key: KeyCode) -> Command? { actions[Chord(keys: [key])]?.press }

    /// The keys that ask for something, alone or with others.
    package var keys: Set<KeyCode> { actions.keys.reduce(into: []) { $0.formUnion($1.keys) } }

    /// The largest chord that `key` completes where `held` are all keys that are down, it among them. Shift counts only where a binding
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

    /// Whether a larger chord contains this one, so that it may be only its beginning.
    func isBeginning(_ chord: Chord) -> Bool {
        guard !sharedKeys.isDisjoint(with: chord.keys) else { return false }
        return actions.keys.contains { $0.modifiers == chord.modifiers && $0.keys.isStrictSuperset(of: chord.keys) }
    }
}

extension Command {
    /// Whether it goes by steps, so that a held key asks for it again and again.
    fileprivate var goesBySteps: Bool {
        switch self {
        case .player(.seekSteps), .player(.seekBy), .player(.changeVolume): true
        default: false
        }
    }
}

extension KeyCode {
    /// What the key changes of others; nil for one that is no modifier.
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
