import Vocabulary

/// Which key asks for what.
package struct KeyMap: Sendable {
    private var commands: [KeyCode: Command] = [:]

    /// The map that `bindings` make, in order; nil takes a key's command away.
    ///
    /// - Throws: the first key name that evdev does not know.
    package init(bindings: [(keyName: String, command: Command?)]) throws(UnknownKey) {
        for (name, command) in bindings { commands[try KeyCode(named: name)] = command }
    }

    /// What `key` asks for.
    package func command(for key: KeyCode) -> Command? { commands[key] }

    /// The keys that ask for something.
    package var keys: Set<KeyCode> { Set(commands.keys) }

    /// What an event of a key asks for. A key that is held repeats only what goes by steps. With Ctrl, Alt or Meta held a key is a
    /// shortcut for somebody else (Alt+F2).
    func command(for event: KeyEvent) -> Command? {
        guard event.modifiers.isEmpty, event.phase != .release, let command = commands[event.key] else { return nil }
        guard event.phase == .repeat else { return command }
        switch command {
        case .seekSteps, .seekBy, .changeVolume: return command
        default: return nil
        }
    }
}
