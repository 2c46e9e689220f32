import KioskPlatform
import KioskVocabulary
import Synchronization

/// Makes commands of input events, with the key map and the gestures of each device, for a screen on which nothing is drawn. A pure value:
/// events and the time in, commands out.
package struct CommandRecognizer: Sendable {
    private var keys: KeyRecognizer
    private let commands: [GestureName: Command]
    private var gestures: [DeviceID: GestureRecognizer] = [:]
    /// Whether the last command of a gesture was a tap's toggle, which a double tap takes back.
    private var hasToggled = false

    /// A recogniser that has seen nothing. `gestures` are bound to these commands; what is not among them is not looked for.
    package init(_ keyMap: KeyMap, gestures commands: [GestureName: Command]) {
        keys = KeyRecognizer(keyMap)
        self.commands = commands
    }

    /// The time at which ``expire(at:)`` has something to do; nil while there is nothing to wait for.
    package var nextDeadline: HostTime? { ([keys.nextDeadline] + gestures.values.map(\.nextDeadline)).compactMap { $0 }.min() }

    /// Takes the next event. Returns what is asked for with it, and the kernel's time of the event that decided: the press, repeat or
    /// release of a key, the lift that completes a gesture.
    ///
    /// - Parameter tap: what a tap asks for now, where the item on the screen says so.
    package mutating func commands(for event: InputEvent, tap: Command? = nil) -> [TimedCommand] {
        switch event {
        case .key(let event): return keys.update(event)
        case .contact(let event):
            var recognizer = gestures.removeValue(forKey: event.device) ?? GestureRecognizer(Set(commands.keys))
            let found = recognizer.update(event)
            gestures[event.device] = recognizer
            return asked(found, tap: tap, at: event.time)
        }
    }

    /// What is due at `time`: a key held long enough, a finger at rest.
    package mutating func expire(at time: HostTime) -> [TimedCommand] {
        var due = keys.expire(at: time)
        for device in gestures.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            let deadline = gestures[device]!.nextDeadline
            due += asked(gestures[device]!.expire(at: time), tap: nil, at: deadline ?? time)
        }
        return due
    }

    private mutating func asked(_ gestures: [Gesture], tap: Command?, at time: HostTime) -> [TimedCommand] {
        gestures.flatMap { gesture -> [TimedCommand] in
            var asked: [Command] = []
            if case .drag = gesture { return [] }
            if case .tap = gesture, let tap {
                asked = [tap]
            } else if let command = gesture.command(commands) {
                if case .doubleTap = gesture, hasToggled { asked = [.togglePlayback] }
                asked.append(command)
            }
            if case .tap = gesture { hasToggled = asked == [.togglePlayback] } else { hasToggled = false }
            return asked.map { TimedCommand($0, at: time) }
        }
    }

    /// A handler for ``InputReader/start(_:)`` that hands each command with its time to `perform`, on the input thread.
    ///
    /// - Parameter tap: what a tap asks for now, where the item on the screen says so; nil where it does what taps do.
    package static func handler(
        _ keyMap: KeyMap, gestures: [GestureName: Command], tap: @escaping @Sendable () -> Command? = { nil },
        perform: @escaping @Sendable (Command, HostTime) -> Void
    ) -> InputHandler {
        let recognizer = Recognizer(CommandRecognizer(keyMap, gestures: gestures))
        return InputHandler(
            handle: { event in
                var itemTap: Command?
                if case .contact(let event) = event, event.phase == .up { itemTap = tap() }
                for asked in recognizer.state.withLock({ $0.commands(for: event, tap: itemTap) }) { perform(asked.command, asked.time) }
            },
            nextDeadline: { recognizer.state.withLock { $0.nextDeadline } },
            expire: { time in
                for asked in recognizer.state.withLock({ $0.expire(at: time) }) { perform(asked.command, asked.time) }
            })
    }

    /// What a handler remembers from event to event.
    private final class Recognizer: Sendable {
        let state: Mutex<CommandRecognizer>
        init(_ recognizer: CommandRecognizer) { state = Mutex(recognizer) }
    }
}
