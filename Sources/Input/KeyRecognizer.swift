import KioskPlatform
import KioskVocabulary

/// A command and the time of its cause.
package struct TimedCommand: Hashable, Sendable {
    /// The command.
    package var command: Command
    /// The kernel's time of the deciding event, or the instant when a key or a finger had been held long enough.
    package var time: HostTime

    /// Creates a command with its time.
    package init(_ command: Command, at time: HostTime) { (self.command, self.time) = (command, time) }
}

/// Turns presses, holds and releases of keys on any device into commands. A pure value: key events and the time in, commands out.
///
/// - A key acts when it is pressed. A key with a `hold` binding acts when it is released. If it is held for ``holdDuration``, that binding
///   acts instead.
/// - Several keys make a chord, on whatever devices. A key that is part of a larger chord waits ``chordDuration`` for the others.
/// - A held key repeats as the kernel repeats it (EV_REP). If a device does not repeat (GPIO buttons, as a rule), this recognizer repeats
///   its keys, every ``repeatInterval`` after ``repeatDelay``.
/// - With Ctrl, Alt or Meta held, a key without such a binding is another program's shortcut (Alt+F2), and ignored.
package struct KeyRecognizer: Sendable {
    /// How long to hold a key for its `hold` binding.
    package static let holdDuration = MediaTime.seconds(1)
    /// The longest time between the keys of a chord at which none of them acts alone.
    package static let chordDuration = MediaTime.milliseconds(100)
    /// Longer than the kernel takes for the first repeat (250 ms; 500 ms for a remote control).
    package static let repeatDelay = MediaTime.milliseconds(600)
    /// The time between repeats, if the kernel does not repeat.
    package static let repeatInterval = MediaTime.milliseconds(125)

    /// A chord that is down.
    private struct Press {
        var chord: KeyMap.Chord
        var actions: KeyMap.Actions
        var since: HostTime
        var stage: Stage
    }

    private enum Stage {
        /// It may be the beginning of a larger chord.
        case waitingForOthers
        /// It acts when it is released, or by its `hold` binding in time.
        case waitingForHold
        /// It has acted, and repeats at this time if the kernel does not repeat it.
        case repeating(next: HostTime?)
        /// It has acted.
        case done
    }

    private struct HeldKey: Hashable {
        var device: DeviceID
        var key: KeyCode
    }

    private let map: KeyMap
    private var held: Set<HeldKey> = []
    /// By the key that completed the chord.
    private var presses: [KeyCode: Press] = [:]
    /// Devices whose keys the kernel repeats.
    private var repeatingDevices: Set<DeviceID> = []

    /// Creates a recognizer without held keys.
    package init(_ map: KeyMap) { self.map = map }

    /// The time at which to call ``expire(at:)``; nil while there is no deadline.
    package var nextDeadline: HostTime? { presses.values.compactMap(deadline).min() }

    /// Takes the next event of any device. Returns its commands, after those that were due before it.
    package mutating func update(_ event: KeyEvent) -> [TimedCommand] {
        let due = expire(at: event.time)
        switch event.phase {
        case .press: return due + press(event)
        case .repeat: return due + `repeat`(event)
        case .release: return due + release(event)
        }
    }

    /// Returns the commands due at `time`.
    package mutating func expire(at time: HostTime) -> [TimedCommand] {
        var asked: [TimedCommand] = []
        while let next = presses.compactMap({ key, press in deadline(press).map { (key: key, at: $0) } })
            .min(by: { ($0.at, $0.key.rawValue) < ($1.at, $1.key.rawValue) }), next.at <= time
        {
            asked += advance(next.key, at: next.at)
        }
        return asked
    }

    private func deadline(_ press: Press) -> HostTime? {
        switch press.stage {
        case .waitingForOthers: press.since + Self.chordDuration
        case .waitingForHold: press.since + Self.holdDuration
        case .repeating(let next): next
        case .done: nil
        }
    }

    private mutating func advance(_ key: KeyCode, at time: HostTime) -> [TimedCommand] {
        guard var press = presses[key] else { return [] }
        var asked: [TimedCommand] = []
        switch press.stage {
        case .waitingForOthers: asked = act(&press, at: time)
        case .waitingForHold:
            press.stage = .done
            if let hold = press.actions.hold { asked = [TimedCommand(hold, at: time)] }
        case .repeating:
            press.stage = .repeating(next: time + Self.repeatInterval)
            if let command = press.actions.press { asked = [TimedCommand(command, at: time)] }
        case .done: break
        }
        presses[key] = press
        return asked
    }

    /// Starts the action of a chord that is not part of a larger one.
    private mutating func act(_ press: inout Press, at time: HostTime) -> [TimedCommand] {
        if press.actions.hold != nil {
            press.stage = .waitingForHold
            return []
        }
        let repeatsHere =
            press.actions.repeats && !held.contains { press.chord.keys.contains($0.key) && repeatingDevices.contains($0.device) }
        press.stage = press.actions.repeats ? .repeating(next: repeatsHere ? press.since + Self.repeatDelay : nil) : .done
        return press.actions.press.map { [TimedCommand($0, at: time)] } ?? []
    }

    private mutating func press(_ event: KeyEvent) -> [TimedCommand] {
        held.insert(HeldKey(device: event.device, key: event.key))
        guard let chord = map.chord(completedBy: event.key, held: Set(held.map(\.key)), modifiers: modifiers(event)),
            let actions = map.actions[chord]
        else { return [] }
        // The chord's keys no longer act alone.
        for key in chord.keys { presses[key]?.stage = .done }
        var press = Press(chord: chord, actions: actions, since: event.time, stage: .waitingForOthers)
        let asked = map.isBeginning(chord) ? [] : act(&press, at: event.time)
        presses[event.key] = press
        return asked
    }

    private mutating func `repeat`(_ event: KeyEvent) -> [TimedCommand] {
        repeatingDevices.insert(event.device)
        guard let press = presses[event.key] else {
            // The key was pressed before the reader listened.
            guard held.insert(HeldKey(device: event.device, key: event.key)).inserted,
                let chord = map.chord(completedBy: event.key, held: [event.key], modifiers: modifiers(event)),
                let actions = map.actions[chord], actions.hold == nil, actions.repeats, let command = actions.press
            else { return [] }
            presses[event.key] = Press(chord: chord, actions: actions, since: event.time, stage: .repeating(next: nil))
            return [TimedCommand(command, at: event.time)]
        }
        guard case .repeating = press.stage, let command = press.actions.press else { return [] }
        presses[event.key]?.stage = .repeating(next: nil)
        return [TimedCommand(command, at: event.time)]
    }

    private mutating func release(_ event: KeyEvent) -> [TimedCommand] {
        held.remove(HeldKey(device: event.device, key: event.key))
        var asked: [TimedCommand] = []
        for (key, press) in presses where press.chord.keys.contains(event.key) {
            switch press.stage {
            case .waitingForOthers, .waitingForHold:
                if let command = press.actions.press { asked.append(TimedCommand(command, at: event.time)) }
            case .repeating, .done: break
            }
            presses[key] = nil
        }
        return asked
    }

    /// Returns the modifiers held on any device; a modifier key does not modify itself.
    private func modifiers(_ event: KeyEvent) -> Set<KeyTrigger.Modifier> {
        var modifiers = Set(held.filter { $0.key != event.key }.compactMap(\.key.modifier))
        if event.key.modifier == nil { modifiers.formUnion(event.modifiers) }
        return modifiers
    }
}
