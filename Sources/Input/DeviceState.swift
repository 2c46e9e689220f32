import KioskPlatform
import KioskVocabulary

/// The reported state of one device: the contacts that are down and the keys that are held. A pure value: the kernel's reports in, events
/// out.
///
/// The kernel reports the positions of all contacts at the end of each report. The difference from the previous report makes the events. A
/// contact that was cancelled and still touches is ignored until it is lifted. These contacts are cancelled as unintended:
///
/// - a palm, by its tool type or its size (``PalmFilter``);
/// - more than ``mostContacts`` at once: a hand, a sleeve, water;
/// - a touch shorter than ``ghostDuration`` on a touch panel: interference. No finger is that fast;
/// - a contact that has not moved for ``stuckDuration``: dirt, a drop, a finger that the panel does not release. Meanwhile other contacts
///   act normally.
struct DeviceState {
    /// More simultaneous contacts than this are cancelled.
    static let mostContacts = 4
    /// A shorter touch is cancelled.
    static let ghostDuration = MediaTime.milliseconds(10)
    /// A contact that rests for this long is cancelled.
    static let stuckDuration = MediaTime.seconds(30)
    /// How far a contact may move and still count as resting.
    static let stuckDistance = 0.03

    /// A contact whose `down` has been reported, but not its end.
    private struct Told {
        /// Its last position.
        var contact: Contact
        var downAt: HostTime
        /// The time since which it has been at or near its place, and that place.
        var restsSince: HostTime
        var rest: (x: Double, y: Double)

        init(_ contact: Contact, at time: HostTime) {
            (self.contact, downAt, restsSince, rest) = (contact, time, time, (contact.x, contact.y))
        }

        mutating func move(_ contact: Contact, at time: HostTime) {
            self.contact = contact
            let isNear = max(abs(contact.x - rest.x), abs(contact.y - rest.y)) < DeviceState.stuckDistance
            if !isNear { (restsSince, rest) = (time, (contact.x, contact.y)) }
        }
    }

    /// The device of all events.
    let device: DeviceID
    /// Whether it is a panel that may report touches by nobody: not a mouse.
    private let hasGhosts: Bool
    private var contacts: [Told] = []
    /// Ids of contacts that touch and were cancelled, or touched before the reader listened.
    private var ignored: Set<Int> = []
    /// Keys whose press or repeat has been reported, but not their release.
    private var held: Set<KeyCode> = []

    init(device: DeviceID, hasGhosts: Bool = false) { (self.device, self.hasGhosts) = (device, hasGhosts) }

    /// The time at which to call ``expire(at:)``; nil while no contact is reported as down.
    var nextDeadline: HostTime? { contacts.map(\.restsSince).min().map { $0 + Self.stuckDuration } }

    /// Handles a key change. Returns nil for the release of a key whose press was not reported.
    mutating func key(_ key: KeyCode, _ phase: KeyEvent.Phase, modifiers: Set<KeyTrigger.Modifier>, at time: HostTime) -> InputEvent? {
        switch phase {
        case .press, .repeat: held.insert(key)
        case .release: if held.remove(key) == nil { return nil }
        }
        return .key(KeyEvent(device: device, key: key, phase: phase, modifiers: modifiers, time: time))
    }

    /// Handles the end of a report; `touching` are all contacts on the device.
    mutating func report(_ touching: [Contact], at time: HostTime) -> [InputEvent] {
        let stuck = expire(at: time)
        let ids = Set(touching.map(\.id))
        ignored.formIntersection(ids)
        ignored.formUnion(touching.filter(\.isPalm).map(\.id))
        var meant = touching.filter { !ignored.contains($0.id) }
        if meant.count > Self.mostContacts {
            ignored.formUnion(ids)
            meant = []
        }
        var events = stuck
        for told in contacts where !ids.contains(told.contact.id) {
            let isGhost = hasGhosts && time - told.downAt < Self.ghostDuration
            events.append(event(told.contact, isGhost ? .cancelled : .up, time))
        }
        events += contacts.filter { ignored.contains($0.contact.id) }.map { event($0.contact, .cancelled, time) }
        contacts.removeAll { !ids.contains($0.contact.id) || ignored.contains($0.contact.id) }
        var begun: [Contact] = []
        for contact in meant {
            guard let index = contacts.firstIndex(where: { $0.contact.id == contact.id }) else {
                begun.append(contact)
                continue
            }
            if contacts[index].contact != contact { events.append(event(contact, .move, time)) }
            contacts[index].move(contact, at: time)
        }
        contacts += begun.map { Told($0, at: time) }
        return events + begun.map { event($0, .down, time) }
    }

    /// Cancels contacts that have rested for too long at `time`.
    mutating func expire(at time: HostTime) -> [InputEvent] {
        let stuck = contacts.filter { time - $0.restsSince >= Self.stuckDuration }
        if stuck.isEmpty { return [] }
        ignored.formUnion(stuck.map(\.contact.id))
        contacts.removeAll { ignored.contains($0.contact.id) }
        return stuck.map { event($0.contact, .cancelled, time) }
    }

    /// Ends all contacts, and releases the keys that are not `isStillHeld`, because later events have no connection with earlier ones.
    /// `touching` are the contacts on the device now.
    mutating func cancel(touching: [Contact], isStillHeld: (KeyCode) -> Bool = { _ in false }, at time: HostTime) -> [InputEvent] {
        let released = held.filter { !isStillHeld($0) }.sorted { $0.rawValue < $1.rawValue }
        let events =
            released.map { InputEvent.key(KeyEvent(device: device, key: $0, phase: .release, time: time)) }
            + contacts.map { event($0.contact, .cancelled, time) }
        held.subtract(released)
        contacts = []
        ignored = Set(touching.map(\.id))
        return events
    }

    private func event(_ contact: Contact, _ phase: ContactEvent.Phase, _ time: HostTime) -> InputEvent {
        .contact(ContactEvent(device: device, contact: contact, phase: phase, time: time))
    }
}
