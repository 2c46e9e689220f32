import KioskPlatform
import KioskVocabulary

/// An event on an input device.
///
/// ``InputReader`` hands events on as the kernel reports them. The events of one report have the same time. Their order in a report: key
/// changes, ends of contacts, moves, beginnings of contacts. So positions and buttons that a driver reports together arrive together.
package enum InputEvent: Hashable, Sendable {
    case contact(ContactEvent)
    case key(KeyEvent)

    /// The device of the event.
    package var device: DeviceID {
        switch self {
        case .contact(let event): event.device
        case .key(let event): event.device
        }
    }

    /// The kernel's time of the event: `ContactEvent.time` or `KeyEvent.time`.
    package var time: HostTime {
        switch self {
        case .contact(let event): event.time
        case .key(let event): event.time
        }
    }
}

/// A number for an open device, unique among the open devices. It is free again when the device has gone.
package struct DeviceID: Hashable, Sendable {
    /// The number, from 0.
    package var rawValue: Int

    /// Creates the number of a device, or one below zero for events that no device makes.
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// A finger, a pen or a pressed mouse button on a device, at one instant.
package struct Contact: Hashable, Sendable {
    /// The surface of a contact's position.
    package enum Surface: Hashable, Sendable {
        /// A touch screen, a pen display or the absolute mouse of a virtual machine. The position is on the display as a viewer sees it:
        /// after the configured rotation and the panel's own.
        case display
        /// A touchpad. The position is on the pad.
        case touchpad
        /// A mouse; only its left button counts. There is no pointer, and the position is the middle.
        case mouse
    }

    /// The multi-touch slot (protocol B) of the contact. It is 0 on a device without slots, and the index in the report with protocol A. A
    /// slot holds one contact at a time.
    package var slot: Int
    /// The kernel's tracking id, the same from `down` to `up`. Simultaneous contacts of a device have different ids.
    package var id: Int
    /// From 0 at the left edge of ``surface`` to 1 at the right edge.
    package var x: Double
    /// From 0 at the top to 1 at the bottom.
    package var y: Double
    /// The surface of `x` and `y`.
    package var surface: Surface
    /// Whether the kernel, or the size of the contact, says that it is a palm. Such a contact makes no events.
    var isPalm = false

    /// Creates a contact from its parts.
    package init(slot: Int, id: Int, x: Double, y: Double, surface: Surface) {
        (self.slot, self.id, self.x, self.y, self.surface) = (slot, id, x, y, surface)
    }

    /// Returns the contact on the picture that a panel shows rotated clockwise by `rotation`.
    func upright(_ rotation: Rotation) -> Contact {
        var contact = self
        (contact.x, contact.y) = rotation.upright((x, y))
        return contact
    }

    /// Returns the contact at its calibrated position.
    func calibrated(_ matrix: CalibrationMatrix) -> Contact {
        var contact = self
        let place = matrix.apply(x, y)
        (contact.x, contact.y) = (min(max(0, place.x), 1), min(max(0, place.y), 1))
        return contact
    }
}

/// The beginning, a move or the end of a contact.
///
/// Every contact begins with `down` and ends with either `up` or `cancelled`; it makes no events after that.
package struct ContactEvent: Hashable, Sendable {
    /// The phase of a contact.
    package enum Phase: Hashable, Sendable {
        case down
        /// The position has changed.
        case move
        /// The finger is lifted. The position is the last one reported.
        case up
        /// The contact ends without a meaning; discard its possible gestures. The device is gone, the kernel has dropped events
        /// (SYN_DROPPED), or another virtual terminal is in front. Or the contact has proved to be a palm, or dirt that rests for ever
        /// (``DeviceState`` lists more reasons).
        case cancelled
    }

    /// The touched device.
    package var device: DeviceID
    /// The contact and its position.
    package var contact: Contact
    /// The phase of the contact.
    package var phase: Phase
    /// The time of the kernel's report, by CLOCK_MONOTONIC. With `cancelled`: the time when events were lost, or when this program found
    /// the device gone or lost its terminal.
    package var time: HostTime

    /// Creates an event from its parts.
    package init(device: DeviceID, contact: Contact, phase: Phase, time: HostTime) {
        (self.device, self.contact, self.phase, self.time) = (device, contact, phase, time)
    }
}

/// A press, a repeat or a release of a key. Buttons of mice, pens and panels (`BTN_LEFT`, `BTN_TOUCH`) and notches of knobs and wheels
/// (``KeyCode/dialUp``) are keys too.
///
/// A `release` follows every press or repeat, even if the kernel reports none. The device may be gone, its events lost, or another virtual
/// terminal in front. A key that was pressed before the device was opened or the terminal came to the front can begin with a `repeat`.
package struct KeyEvent: Hashable, Sendable {
    /// The value of an EV_KEY event.
    package enum Phase: Int32, Hashable, Sendable {
        case release = 0
        case press = 1
        /// The kernel repeats a held key.
        case `repeat` = 2
    }

    /// The device that has the key.
    package var device: DeviceID
    /// The key.
    package var key: KeyCode
    /// The phase of the key.
    package var phase: Phase
    /// The modifier keys held on the same device, left and right alike, without shift. A modifier that this event presses is among them.
    package var modifiers: Set<KeyTrigger.Modifier> = []
    /// The time of the kernel's report, by CLOCK_MONOTONIC. For a `release` that the kernel does not report: the time when it was found
    /// missing.
    package var time: HostTime

    /// Creates an event from its parts.
    package init(device: DeviceID, key: KeyCode, phase: Phase, modifiers: Set<KeyTrigger.Modifier> = [], time: HostTime) {
        (self.device, self.key, self.phase, self.modifiers, self.time) = (device, key, phase, modifiers, time)
    }
}

extension Rotation {
    /// Converts a place on a panel to the place on the picture that it shows with this rotation. Both are 0…1 from the left and from the
    /// top.
    func upright(_ place: (x: Double, y: Double)) -> (x: Double, y: Double) {
        switch self {
        case .none: place
        case .clockwise90: (place.y, 1 - place.x)
        case .clockwise180: (1 - place.x, 1 - place.y)
        case .clockwise270: (1 - place.y, place.x)
        }
    }
}
