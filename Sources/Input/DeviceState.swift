import KioskPlatform
import KioskVocabulary

/// What has been told of one device: the contacts that are down and the keys that are held. A pure value; what the kernel says in, events
/// out.
///
/// The kernel says where all contacts are at the end of each report. The difference from the report before makes the events. A contact that
/// was cancelled and still touches is left out until it is lifted. What nobody meant is cancelled so:
///
/// - a palm, by what the kernel says of its tool or of its size (``PalmFilter``);
/// - more than ``mostContacts`` at once: a hand, a sleeve, water;
/// - a touch of less than ``ghostDuration``, on a touch panel: interference. No finger is that fast;
/// - a contact that has not moved for ``stuckDuration``: dirt, a drop, a finger that the panel does not let go. Others act meanwhile as
///   if it were not there.
struct DeviceState {
    /// More contacts than these count for nothing.
    static let mostContacts = 4
    /// A shorter touch counts for nothing.
    static let ghostDuration = MediaTime.milliseconds(10)
    /// A contact that rests for longer counts for nothing.
    static let stuckDuration = MediaTime.seconds(30)
    /// How far a contact may wander and still rest.
    static let stuckDistance = 0.03

    /// A contact of which `down` has been told and no end.
    private struct Told {
        /// As it was last.
        var contact: Contact
        var downAt: HostTime
        /// Since when it has been where it is, or near, and where that is.
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
    /// Whether it is a panel that may report touches which nobody has made: not a mouse.
    private let hasGhosts: Bool
    private var contacts: [Told] = []
    /// Ids of contacts that touch and have been cancelled, or touched before anybody listened.
    private var ignored: Set<Int> = []
    /// Keys of which a press or repeat has been told and no release.
    private var held: Set<KeyCode> = []

    init(device: DeviceID, hasGhosts: Bool = false) { (self.device, self.hasGhosts) = (device, hasGhosts) }

    /// The time at which ``expire(at:)`` has something to tell; nil while nothing rests.
    var nextDeadline: HostTime? { contacts.map(\.restsSince).min().map { $0 + Self.stuckDuration } }

    /// A key changes. nil for the release of a key of which nothing else was told.
    mutating func key(_ key: KeyCode, _ phase: KeyEvent.Phase, modifiers: Set<KeyTrigger.Modifier>, at time: HostTime) -> InputEvent? {
        switch phase {
        case .press, .repeat: held.insert(key)
        case .release: if held.remove(key) == nil { return nil }
        }
        return .key(KeyEvent(device: device, key: key, phase: phase, modifiers: modifiers, time: time))
    }

    /// A report ends, and `touching` are all contacts that are on the device.
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

    /// Cancels what has rested for too long at `time`.
    mutating func expire(at time: HostTime) -> [InputEvent] {
        let stuck = contacts.filter { time - $0.restsSince >= Self.stuckDuration }
        if stuck.isEmpty { return [] }
        ignored.formUnion(stuck.map(\.contact.id))
        contacts.removeAll { ignored.contains($0.contact.id) }
        return stuck.map { event($0.contact, .cancelled, time) }
    }

    /// What comes next has no connection with what was told: ends all contacts, and releases the keys that are not `isStillHeld`.
    /// `touching` are the contacts that are on the device now.
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
