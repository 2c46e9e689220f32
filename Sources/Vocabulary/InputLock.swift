/// What a viewer may do: everything, or on a locked screen only what is on a list.
package struct InputLock: Hashable, Sendable {
    /// One entry of the list.
    package enum Entry: Hashable, Sendable {
        /// A key binding, written as in `[input.keys]` with the prefixes of its keys: `KEY_SPACE`, `hold KEY_POWER`.
        case key(KeyTrigger)
        case gesture(GestureName)
        case part(ControlsPart)
        /// `device NAME`: a device whose name contains NAME. Where the list has one, no other devices act.
        case device(String)
    }

    /// nil where everything is allowed.
    package var allowed: Set<Entry>?

    /// A lock, or none.
    package init(allowed: Set<Entry>? = nil) { self.allowed = allowed }

    /// Whether a key binding acts.
    package func allows(_ trigger: KeyTrigger) -> Bool { allowed?.contains(.key(trigger.withoutRepeat)) ?? true }

    /// Whether a gesture acts.
    package func allows(_ gesture: GestureName) -> Bool { allowed?.contains(.gesture(gesture)) ?? true }

    /// Whether a part of the controls acts when it is touched.
    package func allows(_ part: ControlsPart) -> Bool { allowed?.contains(.part(part)) ?? true }

    /// Whether a device of this name acts.
    package func allows(device name: String) -> Bool {
        guard let allowed else { return true }
        let names = allowed.compactMap { if case .device(let name) = $0 { name } else { nil } }
        return names.isEmpty || names.contains { name.lowercased().contains($0.lowercased()) }
    }
}

extension InputLock.Entry {
    /// The entry that `text` in `[input] allow` is; nil when it is none.
    package init?(_ text: String) {
        if let gesture = GestureName(rawValue: text) {
            self = .gesture(gesture)
        } else if let part = ControlsPart(rawValue: text) {
            self = .part(part)
        } else if text.hasPrefix("device ") {
            let name = text.dropFirst("device ".count).drop { $0 == " " }
            guard 1...100 ~= name.utf8.count else { return nil }
            self = .device(String(name))
        } else if let trigger = KeyTrigger(text), Self.hasPrefixes(text) {
            self = .key(trigger.withoutRepeat)
        } else {
            return nil
        }
    }

    /// Whether every key is written with its prefix: `mute` is a part of the controls, `KEY_MUTE` is a key.
    private static func hasPrefixes(_ text: String) -> Bool {
        let chord = text.split(separator: " ").last ?? ""
        return chord.split(separator: "+").allSatisfy { part in
            let part = part.uppercased()
            let isModifier = ["CTRL", "CONTROL", "SHIFT", "ALT", "META", "SUPER", "WIN"].contains(part)
            return isModifier || part.hasPrefix("KEY_") || part.hasPrefix("BTN_") || part.hasPrefix("DIAL-")
        }
    }
}
