import Commands
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

    /// The bindings a kiosk.conf without `[input.keys]` has: the keys of the table of commands, and digits for the first items.
    package static let defaults: [KeyBinding] = {
        let named = CommandTable.ofViewers.flatMap(\.forms).flatMap { form -> [KeyBinding] in
            guard case .plain(let command, let keys, _) = form else { return [] }
            return keys.compactMap(KeyTrigger.name).map { KeyBinding(trigger: KeyTrigger([$0]), command: command) }
        }
        let digits = (1...9).flatMap { number in
            ["\(number)", "KP\(number)", "NUMERIC_\(number)"].map {
                KeyBinding(trigger: KeyTrigger(["KEY_" + $0]), command: .player(.selectItem(number)))
            }
        }
        return named + digits
    }()
}
