import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskInputCore

/// The events of a device for the kernel's reports.
@Suite struct DeviceStateTests {
    private let device = DeviceID(rawValue: 3)
    private static func finger(_ id: Int, _ x: Double, slot: Int = 0) -> Contact {
        Contact(slot: slot, id: id, x: x, y: 0.5, surface: .display)
    }
    private static func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: 5_000_000_000) + .milliseconds(milliseconds) }

    private func contact(_ phase: ContactEvent.Phase, _ contact: Contact, _ milliseconds: Int64) -> InputEvent {
        .contact(ContactEvent(device: device, contact: contact, phase: phase, time: Self.at(milliseconds)))
    }

    private func key(
        _ phase: KeyEvent.Phase, _ code: UInt16, _ milliseconds: Int64, _ modifiers: Set<KeyTrigger.Modifier> = []
    ) -> InputEvent {
        .key(
            KeyEvent(
                device: device, key: KeyCode(rawValue: code), phase: phase, modifiers: modifiers, time: Self.at(milliseconds)))
    }

    /// One edge: reports of contacts, 10 ms apart, and the events for the last one.
    struct Edge: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var reports: [[Contact]]
        var told: [(ContactEvent.Phase, Contact)]

        init(_ name: String, _ reports: [[Contact]], tells told: (ContactEvent.Phase, Contact)...) { self.init(name, reports, tells: told) }

        init(_ name: String, _ reports: [[Contact]], tells told: [(ContactEvent.Phase, Contact)]) {
            (testDescription, self.reports, self.told) = (name, reports, told)
        }
    }

    private static func hand(_ phase: ContactEvent.Phase, _ count: Int) -> [(ContactEvent.Phase, Contact)] {
        (0..<count).map { (phase, finger($0, 0.1, slot: $0)) }
    }

    private static func palm(_ id: Int, _ x: Double) -> Contact {
        var contact = finger(id, x)
        contact.isPalm = true
        return contact
    }

    private static let edges: [Edge] = [
        Edge("nothing", [[]]),
        Edge("a finger comes down", [[finger(7, 0.1)]], tells: (.down, finger(7, 0.1))),
        Edge("it rests", [[finger(7, 0.1)], [finger(7, 0.1)]]),
        Edge("it moves", [[finger(7, 0.1)], [finger(7, 0.2)]], tells: (.move, finger(7, 0.2))),
        Edge("it is lifted where it was last", [[finger(7, 0.1)], [finger(7, 0.2)], []], tells: (.up, finger(7, 0.2))),
        Edge("it is lifted once", [[finger(7, 0.1)], [], []]),
        Edge(
            "two come down", [[finger(7, 0.1), finger(8, 0.9, slot: 1)]], tells: (.down, finger(7, 0.1)), (.down, finger(8, 0.9, slot: 1))),
        Edge(
            "the second comes and the first moves", [[finger(7, 0.1)], [finger(7, 0.2), finger(8, 0.9, slot: 1)]],
            tells: (.move, finger(7, 0.2)), (.down, finger(8, 0.9, slot: 1))),
        Edge(
            "the first is lifted and the second moves", [[finger(7, 0.1), finger(8, 0.9, slot: 1)], [finger(8, 0.8, slot: 1)]],
            tells: (.up, finger(7, 0.1)), (.move, finger(8, 0.8, slot: 1))),
        Edge(
            "another contact in the same slot", [[finger(7, 0.1)], [finger(9, 0.1)]],
            tells: (.up, finger(7, 0.1)), (.down, finger(9, 0.1))),
        Edge(
            "four at once, each with its own",
            [(0..<4).map { finger($0, 0.1, slot: $0) }, (0..<4).map { finger($0, $0 == 2 ? 0.3 : 0.1, slot: $0) }],
            tells: (.move, finger(2, 0.3, slot: 2))),
        Edge(
            "a fifth makes a hand", [(0..<4).map { finger($0, 0.1, slot: $0) }, (0..<5).map { finger($0, 0.1, slot: $0) }],
            tells: hand(.cancelled, 4)),
        Edge("ten at once are nothing", [(0..<10).map { finger($0, 0.1, slot: $0) }]),
        Edge(
            "nothing of a hand counts until it is lifted",
            [(0..<6).map { finger($0, 0.1, slot: $0) }, (0..<3).map { finger($0, 0.4, slot: $0) }]),
        Edge(
            "another finger beside a hand counts",
            [(0..<6).map { finger($0, 0.1, slot: $0) }, (0..<6).map { finger($0, 0.1, slot: $0) } + [finger(7, 0.9, slot: 6)]],
            tells: [(.down, finger(7, 0.9, slot: 6))]),
        Edge("a palm", [[palm(7, 0.1)]]),
        Edge("a palm that begins as a finger", [[finger(7, 0.1)], [palm(7, 0.2)]], tells: (.cancelled, finger(7, 0.1))),
        Edge("a palm stays one", [[finger(7, 0.1)], [palm(7, 0.2)], [finger(7, 0.3)]]),
        Edge(
            "a finger beside a palm", [[palm(7, 0.1)], [palm(7, 0.1), finger(8, 0.9, slot: 1)]], tells: (.down, finger(8, 0.9, slot: 1))),
    ]

    @Test(arguments: edges) func table(_ edge: Edge) {
        var state = DeviceState(device: device)
        var events: [InputEvent] = []
        for (index, report) in edge.reports.enumerated() { events = state.report(report, at: Self.at(Int64(index) * 10)) }
        #expect(events == edge.told.map { contact($0.0, $0.1, Int64(edge.reports.count - 1) * 10) })
    }

    @Test func aDeviceThatGoesCancelsItsContactsAndReleasesItsKeys() {
        var state = DeviceState(device: device)
        _ = state.report([Self.finger(1, 0.1), Self.finger(2, 0.2, slot: 1)], at: Self.at(0))
        _ = state.key(KeyCode(rawValue: 57), .press, modifiers: [], at: Self.at(1))
        _ = state.key(KeyCode(rawValue: 30), .press, modifiers: [], at: Self.at(2))
        let events = state.cancel(touching: [], at: Self.at(40))
        #expect(
            events == [
                key(.release, 30, 40), key(.release, 57, 40), contact(.cancelled, Self.finger(1, 0.1), 40),
                contact(.cancelled, Self.finger(2, 0.2, slot: 1), 40),
            ])
        #expect(state.cancel(touching: [], at: Self.at(50)) == [], "once")
    }

    /// SYN_DROPPED: a finger that still touches is not reported again, but a new one is. A key that is still held continues.
    @Test func afterLostEventsOnlyWhatIsNewIsTold() {
        var state = DeviceState(device: device)
        let (resting, lifted, new) = (Self.finger(1, 0.1), Self.finger(2, 0.2, slot: 1), Self.finger(3, 0.3, slot: 1))
        _ = state.report([resting, lifted], at: Self.at(0))
        for code in [UInt16(57), 30] { _ = state.key(KeyCode(rawValue: code), .press, modifiers: [], at: Self.at(1)) }
        #expect(
            state.cancel(touching: [resting], isStillHeld: { $0.rawValue == 57 }, at: Self.at(40)) == [
                key(.release, 30, 40), contact(.cancelled, resting, 40), contact(.cancelled, lifted, 40),
            ])
        #expect(state.report([Self.finger(1, 0.4)], at: Self.at(50)) == [])
        #expect(state.report([Self.finger(1, 0.5), new], at: Self.at(60)) == [contact(.down, new, 60)])
        #expect(state.report([new], at: Self.at(70)) == [])
        #expect(state.report([], at: Self.at(80)) == [contact(.up, new, 80)])
        // A later contact may have the same id: that is another finger.
        #expect(state.report([resting], at: Self.at(90)) == [contact(.down, resting, 90)])
        #expect(state.key(KeyCode(rawValue: 57), .release, modifiers: [], at: Self.at(100)) == key(.release, 57, 100))
    }

    @Test func everyReleaseHasAPress() {
        var state = DeviceState(device: device)
        let space = KeyCode(rawValue: 57)
        #expect(state.key(space, .release, modifiers: [], at: Self.at(0)) == nil, "pressed before anybody listened")
        #expect(state.key(space, .repeat, modifiers: [.control], at: Self.at(1)) == key(.repeat, 57, 1, [.control]), "likewise, and held")
        #expect(state.key(space, .release, modifiers: [], at: Self.at(2)) == key(.release, 57, 2))
        #expect(state.key(space, .press, modifiers: [], at: Self.at(3)) == key(.press, 57, 3))
        #expect(state.key(space, .repeat, modifiers: [], at: Self.at(4)) == key(.repeat, 57, 4))
        #expect(state.cancel(touching: [], at: Self.at(5)) == [key(.release, 57, 5)])
        #expect(state.key(space, .release, modifiers: [], at: Self.at(6)) == nil, "told already")
    }

    /// A panel's ghosts last less than 10 ms. A program may click a mouse button as fast.
    @Test(arguments: [(true, 9, ContactEvent.Phase.cancelled), (true, 10, .up), (false, 1, .up)])
    func ghosts(hasGhosts: Bool, milliseconds: Int64, phase: ContactEvent.Phase) {
        var state = DeviceState(device: device, hasGhosts: hasGhosts)
        #expect(state.report([Self.finger(1, 0.1)], at: Self.at(0)) == [contact(.down, Self.finger(1, 0.1), 0)])
        #expect(state.report([], at: Self.at(milliseconds)) == [contact(phase, Self.finger(1, 0.1), milliseconds)])
    }

    /// After half a minute on one spot it is cancelled. Other fingers continue, and its lift reports nothing.
    @Test func aFingerThatNeverLifts() {
        var state = DeviceState(device: device)
        let (stuck, other) = (Self.finger(1, 0.1), Self.finger(2, 0.9, slot: 1))
        _ = state.report([stuck], at: Self.at(0))
        #expect(state.nextDeadline == Self.at(30_000))
        // The contact trembles, but stays on its spot.
        #expect(state.report([Self.finger(1, 0.12)], at: Self.at(20_000)) == [contact(.move, Self.finger(1, 0.12), 20_000)])
        #expect(state.nextDeadline == Self.at(30_000) && state.expire(at: Self.at(29_999)) == [])
        #expect(state.expire(at: Self.at(30_000)) == [contact(.cancelled, Self.finger(1, 0.12), 30_000)])
        #expect(state.nextDeadline == nil)
        #expect(state.report([Self.finger(1, 0.13), other], at: Self.at(40_000)) == [contact(.down, other, 40_000)])
        #expect(state.report([other], at: Self.at(41_000)) == [])
        #expect(state.report([], at: Self.at(42_000)) == [contact(.up, other, 42_000)])
        #expect(state.report([stuck], at: Self.at(43_000)) == [contact(.down, stuck, 43_000)], "it was lifted and counts again")
    }

    /// A moving contact is a finger. A report is right even if no caller has called `expire`.
    @Test func aFingerThatMovesIsNotStuck() {
        var state = DeviceState(device: device)
        _ = state.report([Self.finger(1, 0.1)], at: Self.at(0))
        _ = state.report([Self.finger(1, 0.2)], at: Self.at(20_000))
        #expect(state.nextDeadline == Self.at(50_000))
        #expect(state.report([Self.finger(1, 0.21)], at: Self.at(49_000)) == [contact(.move, Self.finger(1, 0.21), 49_000)])
        #expect(state.report([Self.finger(1, 0.22)], at: Self.at(50_000)) == [contact(.cancelled, Self.finger(1, 0.21), 50_000)])
    }
}
