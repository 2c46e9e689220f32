/// What sets off a key binding: a key or several at once, and how they are pressed. Written `KEY_SPACE`, `ctrl+alt+KEY_Q`,
/// `KEY_VOLUMEUP+KEY_VOLUMEDOWN`, `hold KEY_POWER`, `repeat KEY_N`.
package struct KeyTrigger: Hashable, Sendable, CustomStringConvertible {
    /// Keys that change what other keys mean, left and right alike.
    package enum Modifier: String, Hashable, Sendable, CaseIterable, Comparable {
        case control = "ctrl"
        case shift
        case alternate = "alt"
        case meta

        /// The order in which they are written.
        package static func < (a: Modifier, b: Modifier) -> Bool { allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)! }
    }

    /// How the keys are pressed.
    package enum Press: String, Hashable, Sendable, CaseIterable {
        /// It acts at once; while it is held it repeats what goes by steps.
        case plain = ""
        /// It acts when it has been held for a second.
        case hold
        /// It acts at once, and again and again while it is held.
        case `repeat`
        /// It acts at once, and only then.
        case once
    }

    /// How they are pressed.
    package var press: Press
    /// The modifiers that have to be held, no other ones.
    package var modifiers: Set<Modifier>
    /// evdev's names, in capitals and with their prefix, in the order of the alphabet: `KEY_SPACE`, `BTN_0`; and `DIAL-UP`, `DIAL-DOWN`. At
    /// least one. That there are such keys has not been checked.
    package var keys: [String]

    package init(_ keys: [String], modifiers: Set<Modifier> = [], press: Press = .plain) {
        (self.press, self.modifiers, self.keys) = (press, modifiers, keys.sorted())
    }

    /// The trigger that a user wrote as `text`: `space`, `KEY_SPACE` and `Space` are the same key, `super` and `win` are `meta`. nil when
    /// it cannot be one.
    package init?(_ text: String) {
        var words = text.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        var press = Press.plain
        if words.count == 2, let word = Press(rawValue: words[0].lowercased()), word != .plain {
            press = word
            words.removeFirst()
        }
        guard words.count == 1 else { return nil }
        var modifiers: Set<Modifier> = []
        var keys: Set<String> = []
        for part in words[0].split(separator: "+", omittingEmptySubsequences: false) {
            if let modifier = Self.modifier(part.lowercased()) {
                modifiers.insert(modifier)
            } else {
                guard let name = Self.name(String(part)), keys.insert(name).inserted else { return nil }
            }
        }
        guard 1...4 ~= keys.count else { return nil }
        self.init(Array(keys), modifiers: modifiers, press: press)
    }

    /// The trigger without what it says about repeating. Of triggers that are alike in this only one can be bound.
    package var withoutRepeat: KeyTrigger { KeyTrigger(keys, modifiers: modifiers, press: press == .hold ? .hold : .plain) }

    /// As it is written, the prefixes in place: `hold ctrl+alt+KEY_Q`.
    package var description: String {
        let chord = (modifiers.sorted().map(\.rawValue) + keys).joined(separator: "+")
        return press == .plain ? chord : "\(press.rawValue) \(chord)"
    }

    private static func modifier(_ word: String) -> Modifier? {
        switch word {
        case "control": .control
        case "super", "win": .meta
        default: Modifier(rawValue: word)
        }
    }

    /// evdev's name for the key that a user wrote as `text`: `space`, `KEY_SPACE` and `Space` are `KEY_SPACE`; names of buttons keep their
    /// `BTN_`. nil when it cannot be a name.
    package static func name(_ text: String) -> String? {
        let capitals = text.uppercased()
        if capitals == dialUp || capitals == dialDown { return capitals }
        guard 1...40 ~= text.utf8.count, text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }) else { return nil }
        if capitals == "KEY_" || capitals == "BTN_" { return nil }
        return capitals.hasPrefix("KEY_") || capitals.hasPrefix("BTN_") ? capitals : "KEY_" + capitals
    }

    /// A knob or a wheel that is turned clockwise, or away from the user, by a notch.
    package static let dialUp = "DIAL-UP"
    /// The same the other way.
    package static let dialDown = "DIAL-DOWN"
}
