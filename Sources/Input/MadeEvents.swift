import KioskPlatform
import KioskVocabulary

// Events of no device: an application makes them of what it knows of touches, such as those of a remote.
extension InputEvent {
    /// Makes a contact on the display. Clamps a place beside it, and takes a time that is not within the last second as now.
    package static func made(
        contact id: Int, _ phase: ContactEvent.Phase, x: Double, y: Double, at time: HostTime
    ) -> InputEvent {
        func share(_ value: Double) -> Double { value.isFinite ? min(max(value, 0), 1) : 0 }
        let contact = Contact(slot: 0, id: id, x: share(x), y: share(y), surface: .display)
        return .contact(ContactEvent(device: madeDevice, contact: contact, phase: phase, time: recent(time)))
    }

    /// Makes an event of a key without modifiers.
    package static func made(key: KeyCode, _ phase: KeyEvent.Phase, at time: HostTime) -> InputEvent {
        .key(KeyEvent(device: madeDevice, key: key, phase: phase, time: recent(time)))
    }

    /// No open device has this number.
    private static let madeDevice = DeviceID(rawValue: -1)

    private static func recent(_ time: HostTime) -> HostTime {
        let now = HostTime.now
        return time <= now && now - time < .seconds(1) ? time : now
    }
}
