/// The trigger of a key binding: a key or several at once, and the kind of press. Written `KEY_SPACE`, `ctrl+alt+KEY_Q`,
/// `KEY_VOLUMEUP+KEY_VOLUMEDOWN`, `hold KEY_POWER`, `repeat KEY_N`.
package struct KeyTrigger: Hashable, Sendable, CustomStringConvertible {
    /// Keys that change the meaning of other keys; left and right are alike.
    package enum Modifier: String, Hashable, Sendable, CaseIterable, Comparable {
        case control = "ctrl"
        case shift
        case alternate = "alt"
        case meta

        /// Orders modifiers as they are written.
        package static func < (a: Modifier, b: Modifier) -> Bool { allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)! }
    }

    /// The kind of press.
    package enum Press: String, Hashable, Sendable, CaseIterable {
        /// Acts at once; during the press it repeats commands that go by steps.
        case plain = ""
        /// Acts after a press of a second.
        case hold
        /// Acts at once, and repeats during the press.
        case `repeat`
        /// Acts at once, and only once.
        case once
    }

    /// The kind of press.
    package var press: Press
    /// The modifiers of the chord; other modifiers must be up.
    package var modifiers: Set<Modifier>
    /// evdev's names, in capitals and with their prefix, in alphabetical order: `KEY_SPACE`, `BTN_0`; and `DIAL-UP`, `DIAL-DOWN`. At least
    /// one. Whether such keys exist is not checked.
    package var keys: [String]

    package init(_ keys: [String], modifiers: Set<Modifier> = [], press: Press = .plain) {
        (self.press, self.modifiers, self.keys) = (press, modifiers, keys.sorted())
    }

    /// Parses a user's text: `space`, `KEY_SPACE` and `Space` are the same key, `super` and `win` are `meta`. nil if it cannot be a
    /// trigger.
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

    /// The trigger without its repeat mode. Only one of the triggers that are equal in this can be bound.
    package var withoutRepeat: KeyTrigger { KeyTrigger(keys, modifiers: modifiers, press: press == .hold ? .hold : .plain) }

    /// The trigger as text, with prefixes: `hold ctrl+alt+KEY_Q`.
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

    /// Returns evdev's name of a key in a user's text: `space`, `KEY_SPACE` and `Space` are `KEY_SPACE`; names of buttons keep their
    /// `BTN_`. nil if it cannot be a name.
    package static func name(_ text: String) -> String? {
        let capitals = text.uppercased()
        if capitals == dialUp || capitals == dialDown { return capitals }
        guard 1...40 ~= text.utf8.count, text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }) else { return nil }
        if capitals == "KEY_" || capitals == "BTN_" { return nil }
        return capitals.hasPrefix("KEY_") || capitals.hasPrefix("BTN_") ? capitals : "KEY_" + capitals
    }

    /// A notch of a knob or a wheel, clockwise or away from the user.
    package static let dialUp = "DIAL-UP"
    /// The same in the other direction.
    package static let dialDown = "DIAL-DOWN"
}
