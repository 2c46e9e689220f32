import KioskPlatform
import KioskVocabulary

/// A command and the time of what asked for it.
package struct TimedCommand: Hashable, Sendable {
    /// What is asked for.
    package var command: Command
    /// The kernel's time of the event that decided, or the instant at which a key or a finger had been held long enough.
    package var time: HostTime

    /// A command with its time.
    package init(_ command: Command, at time: HostTime) { (self.command, self.time) = (command, time) }
}

/// Makes commands of keys that are pressed, held and released on any device. A pure value: key events and the time in, commands out.
///
/// - A key acts when it is pressed. One that has a `hold` binding acts when it is released, or, once it has been held for ``holdDuration``,
///   as that binding says.
/// - Several keys make a chord whatever device they are on. A key that is part of a larger chord waits ``chordDuration`` for the others.
/// - A key that is held repeats as the kernel repeats it (EV_REP). A device that does not (GPIO buttons, as a rule) has its keys repeated
///   here, every ``repeatInterval`` after ``repeatDelay``.
/// - With Ctrl, Alt or Meta held a key that has no such binding is a shortcut for somebody else (Alt+F2).
package struct KeyRecognizer: Sendable {
    /// How long a key is held for its `hold` binding.
    package static let holdDuration = MediaTime.seconds(1)
    /// How long the keys of a chord may be apart for none of them to act alone.
    package static let chordDuration = MediaTime.milliseconds(100)
    /// Longer than the kernel takes for the first repeat (250 ms; 500 ms of a remote control).
    package static let repeatDelay = MediaTime.milliseconds(600)
    /// The time between repeats, where the kernel has none.
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
        /// It has acted, and repeats at this time where the kernel does not repeat it.
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

    /// A recogniser that has seen nothing.
    package init(_ map: KeyMap) { self.map = map }

    /// The time at which ``expire(at:)`` has something to do; nil while there is nothing to wait for.
    package var nextDeadline: HostTime? { presses.values.compactMap(deadline).min() }

    /// Takes the next event of any device. Returns what is asked for with it, what was due before it among that.
    package mutating func update(_ event: KeyEvent) -> [TimedCommand] {
        let due = expire(at: event.time)
        switch event.phase {
        case .press: return due + press(event)
        case .repeat: return due + `repeat`(event)
        case .release: return due + release(event)
        }
    }

    /// What is due at `time`.
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

    /// Begins what a chord asks for that is not part of a larger one.
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
        // What its keys would have done alone they do no more.
        for key in chord.keys { presses[key]?.stage = .done }
        var press = Press(chord: chord, actions: actions, since: event.time, stage: .waitingForOthers)
        let asked = map.isBeginning(chord) ? [] : act(&press, at: event.time)
        presses[event.key] = press
        return asked
    }

    private mutating func `repeat`(_ event: KeyEvent) -> [TimedCommand] {
        repeatingDevices.insert(event.device)
        guard let press = presses[event.key] else {
            // It was pressed before anybody listened.
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

    /// The modifiers that are held, on any device; a key that is one does not modify itself.
    private func modifiers(_ event: KeyEvent) -> Set<KeyTrigger.Modifier> {
        var modifiers = Set(held.filter { $0.key != event.key }.compactMap(\.key.modifier))
        if event.key.modifier == nil { modifiers.formUnion(event.modifiers) }
        return modifiers
    }
}
