import Platform
import Synchronization
import Vocabulary

/// Makes commands of input events, with the key map and the gestures of each device. A pure value: events in, commands out.
package struct CommandRecognizer: Sendable {
    private let keyMap: KeyMap
    private var gestures: [DeviceID: GestureRecognizer] = [:]

    /// A recogniser that has seen nothing.
    package init(_ keyMap: KeyMap) { self.keyMap = keyMap }

    /// Takes the next event. Returns what is asked for with it, and the kernel's time of the event that decided: the press or repeat of a
    /// key, the lift that completes a gesture.
    package mutating func command(for event: InputEvent) -> (command: Command, time: HostTime)? {
        switch event {
        case .key(let event): keyMap.command(for: event).map { ($0, event.time) }
        case .contact(let event):
            gestures[event.device, default: GestureRecognizer()].update(event).map { ($0.command, event.time) }
        }
    }

    /// A handler for ``InputReader/start(_:)`` that hands each command with its time to `perform`, on the input thread.
    package static func handler(_ keyMap: KeyMap, perform: @escaping @Sendable (Command, HostTime) -> Void) -> InputReader.Handler {
        let recognizer = Recognizer(keyMap)
        return { event in
            if let (command, time) = recognizer.state.withLock({ $0.command(for: event) }) { perform(command, time) }
        }
    }

    /// What a handler remembers from event to event.
    private final class Recognizer: Sendable {
        let state: Mutex<CommandRecognizer>
        init(_ keyMap: KeyMap) { state = Mutex(CommandRecognizer(keyMap)) }
    }
}
