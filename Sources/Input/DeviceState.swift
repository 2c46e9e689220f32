import Platform

/// What has been told of one device: the contacts that are down and the keys that are held. A pure value; what the kernel says in, events
/// out.
///
/// The kernel says where all contacts are at the end of each report. The difference from the report before makes the events. A contact that
/// was cancelled and still touches is left out until it is lifted.
struct DeviceState {
    /// The device of all events.
    let device: DeviceID
    /// Contacts of which `down` has been told and no end, as they were last.
    private var contacts: [Contact] = []
    /// Ids of contacts that touch and have been cancelled, or touched before anybody listened.
    private var ignored: Set<Int> = []
    /// Keys of which a press or repeat has been told and no release.
    private var held: Set<KeyCode> = []

    init(device: DeviceID) { self.device = device }

    /// A key changes. nil for the release of a key of which nothing else was told.
    mutating func key(_ key: KeyCode, _ phase: KeyEvent.Phase, modifiers: KeyEvent.Modifiers, at time: HostTime) -> InputEvent? {
        switch phase {
        case .press, .repeat: held.insert(key)
        case .release: if held.remove(key) == nil { return nil }
        }
        return .key(KeyEvent(device: device, key: key, phase: phase, modifiers: modifiers, time: time))
    }

    /// A report ends, and `touching` are all contacts that are on the device.
    mutating func report(_ touching: [Contact], at time: HostTime) -> [InputEvent] {
        let ids = Set(touching.map(\.id))
        ignored.formIntersection(ids)
        var events = contacts.filter { !ids.contains($0.id) }.map { event($0, .up, time) }
        contacts.removeAll { !ids.contains($0.id) }
        var begun: [Contact] = []
        for contact in touching where !ignored.contains(contact.id) {
            guard let index = contacts.firstIndex(where: { $0.id == contact.id }) else {
                begun.append(contact)
                continue
            }
            if contacts[index] != contact { events.append(event(contact, .move, time)) }
            contacts[index] = contact
        }
        contacts += begun
        return events + begun.map { event($0, .down, time) }
    }

    /// What comes next has no connection with what was told: ends all contacts, and releases the keys that are not `isStillHeld`.
    /// `touching` are the contacts that are on the device now.
    mutating func cancel(touching: [Contact], isStillHeld: (KeyCode) -> Bool = { _ in false }, at time: HostTime) -> [InputEvent] {
        let released = held.filter { !isStillHeld($0) }.sorted { $0.rawValue < $1.rawValue }
        let events =
            released.map { InputEvent.key(KeyEvent(device: device, key: $0, phase: .release, time: time)) }
            + contacts.map { event($0, .cancelled, time) }
        held.subtract(released)
        contacts = []
        ignored = Set(touching.map(\.id))
        return events
    }

    private func event(_ contact: Contact, _ phase: ContactEvent.Phase, _ time: HostTime) -> InputEvent {
        .contact(ContactEvent(device: device, contact: contact, phase: phase, time: time))
    }
}
