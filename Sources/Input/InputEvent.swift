import KioskPlatform
import KioskVocabulary

/// Something that happened on an input device.
///
/// ``InputReader`` hands events on as the kernel reports them. The events of one report have the same time. In one report first the keys
/// change, then contacts end, then contacts move, then contacts begin. Positions and buttons that a driver reports together therefore
/// arrive together.
package enum InputEvent: Hashable, Sendable {
    case contact(ContactEvent)
    case key(KeyEvent)

    /// The device that it happened on.
    package var device: DeviceID {
        switch self {
        case .contact(let event): event.device
        case .key(let event): event.device
        }
    }

    /// The kernel's time of it: `ContactEvent.time` or `KeyEvent.time`.
    package var time: HostTime {
        switch self {
        case .contact(let event): event.time
        case .key(let event): event.time
        }
    }
}

/// A number for an open device that no other open device has. It is given again when the device has gone.
package struct DeviceID: Hashable, Sendable {
    /// The number, from 0.
    package var rawValue: Int
}

/// A finger, a pen or a pressed mouse button on a device, at a moment.
package struct Contact: Hashable, Sendable {
    /// What the position of a contact is a position on.
    package enum Surface: Hashable, Sendable {
        /// A touch screen, a pen display or the absolute mouse of a virtual machine. The position is one on the display, after the
        /// configured rotation and that of a panel which is built in rotated: what a viewer points at.
        case display
        /// A touchpad. The position is one on the pad.
        case touchpad
        /// A mouse, of which only the left button is read. No pointer is shown, and the position is the middle.
        case mouse
    }

    /// The multi-touch slot (protocol B) of the contact; 0 on a device without slots, its place in the report with protocol A. A slot holds
    /// one contact at a time.
    package var slot: Int
    /// The kernel's tracking id, which is the same from `down` to `up`. Other contacts of the device that touch at the same time have other
    /// ids.
    package var id: Int
    /// From 0 at the left edge of ``surface`` to 1 at the right edge.
    package var x: Double
    /// From 0 at the top to 1 at the bottom.
    package var y: Double
    /// What `x` and `y` are positions on.
    package var surface: Surface
    /// Whether the kernel or its size says that it is a palm. No event is told of such a contact.
    var isPalm = false

    /// A contact on a panel, as seen on the picture that is shown there rotated clockwise by `rotation`.
    func upright(_ rotation: Rotation) -> Contact {
        var contact = self
        (contact.x, contact.y) = rotation.upright((x, y))
        return contact
    }

    /// The same at the place where a panel with this matrix has it.
    func calibrated(_ matrix: CalibrationMatrix) -> Contact {
        var contact = self
        let place = matrix.apply(x, y)
        (contact.x, contact.y) = (min(max(0, place.x), 1), min(max(0, place.y), 1))
        return contact
    }
}

/// A contact begins, moves or ends.
///
/// Every contact begins with `down` and ends with either `up` or `cancelled`; nothing is told of it after that.
package struct ContactEvent: Hashable, Sendable {
    /// What happens to the contact.
    package enum Phase: Hashable, Sendable {
        case down
        /// It has another position than before.
        case move
        /// It is lifted. The position is the last one that was reported.
        case up
        /// Nobody knows how it ends, or it is not for this program, or nobody meant it: the device is gone, the kernel has dropped events
        /// (SYN_DROPPED), another virtual terminal is in front; it has proved to be a palm, or dirt that rests for ever
        /// (``DeviceState`` says what more). What it may have meant should be forgotten.
        case cancelled
    }

    /// The device that is touched.
    package var device: DeviceID
    /// Which contact, and where it is.
    package var contact: Contact
    /// What happens to it.
    package var phase: Phase
    /// When the kernel reported it, by CLOCK_MONOTONIC. Of `cancelled`: when events were lost, or when this program found the device gone
    /// or lost its terminal.
    package var time: HostTime
}

/// A key is pressed, repeats or is released. Buttons of mice, pens and panels are keys too (`BTN_LEFT`, `BTN_TOUCH`), and so are the
/// notches of knobs and wheels (``KeyCode/dialUp``).
///
/// A press or repeat is followed by a `release`, also where the kernel does not report one: the device is gone, its events were lost, or
/// another virtual terminal is in front. The first event of a key can be a `repeat`: it was pressed before the device was opened or the
/// terminal came to the front.
package struct KeyEvent: Hashable, Sendable {
    /// The value of an EV_KEY event.
    package enum Phase: Int32, Hashable, Sendable {
        case release = 0
        case press = 1
        /// The kernel repeats a key that is held.
        case `repeat` = 2
    }

    /// The device that has the key.
    package var device: DeviceID
    /// Which key.
    package var key: KeyCode
    /// What happens to it.
    package var phase: Phase
    /// The modifier keys of the same device that are held, left and right alike, shift not among them; one that is itself pressed by this event is among them.
    package var modifiers: Set<KeyTrigger.Modifier> = []
    /// When the kernel reported it, by CLOCK_MONOTONIC. Of a `release` that the kernel does not report: when it was found missing.
    package var time: HostTime
}

extension Rotation {
    /// Where a place of a panel, 0…1 from the left and from the top, is on the picture that is shown there rotated so.
    func upright(_ place: (x: Double, y: Double)) -> (x: Double, y: Double) {
        switch self {
        case .none: place
        case .clockwise90: (place.y, 1 - place.x)
        case .clockwise180: (1 - place.x, 1 - place.y)
        case .clockwise270: (1 - place.y, place.x)
        }
    }
}
