import Platform
import Testing

@testable import Input

/// What is told of a device for what the kernel says of it.
@Suite struct DeviceStateTests {
    private let device = DeviceID(rawValue: 3)
    private static func finger(_ id: Int, _ x: Double, slot: Int = 0) -> Contact {
        Contact(slot: slot, id: id, x: x, y: 0.5, surface: .display)
    }
    private static func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: 5_000_000_000) + .milliseconds(milliseconds) }

    private func contact(_ phase: ContactEvent.Phase, _ contact: Contact, _ milliseconds: Int64) -> InputEvent {
        .contact(ContactEvent(device: device, contact: contact, phase: phase, time: Self.at(milliseconds)))
    }

    private func key(_ phase: KeyEvent.Phase, _ code: UInt16, _ milliseconds: Int64, _ modifiers: KeyEvent.Modifiers = []) -> InputEvent {
        .key(
            KeyEvent(
                device: device, key: KeyCode(rawValue: code), phase: phase, modifiers: modifiers, time: Self.at(milliseconds)))
    }

    /// One edge: reports of what touches, each at 10 ms after the one before, and what is told of the last.
    struct Edge: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var reports: [[Contact]]
        var told: [(ContactEvent.Phase, Contact)]

        init(_ name: String, _ reports: [[Contact]], tells told: (ContactEvent.Phase, Contact)...) {
            (testDescription, self.reports, self.told) = (name, reports, told)
        }
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
            "ten at once, each with its own",
            [(0..<10).map { finger($0, 0.1, slot: $0) }, (0..<10).map { finger($0, $0 == 4 ? 0.3 : 0.1, slot: $0) }],
            tells: (.move, finger(4, 0.3, slot: 4))),
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

    /// SYN_DROPPED: the finger that is still there is not told of again, another one is; the key that is still held goes on.
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
        // Its id may come again: that is another finger.
        #expect(state.report([resting], at: Self.at(90)) == [contact(.down, resting, 90)])
        #expect(state.key(KeyCode(rawValue: 57), .release, modifiers: [], at: Self.at(100)) == key(.release, 57, 100))
    }

    @Test func everyReleaseHasAPress() {
        var state = DeviceState(device: device)
        let space = KeyCode(rawValue: 57)
        #expect(state.key(space, .release, modifiers: [], at: Self.at(0)) == nil, "pressed before anybody listened")
        #expect(state.key(space, .repeat, modifiers: .control, at: Self.at(1)) == key(.repeat, 57, 1, .control), "likewise, and held")
        #expect(state.key(space, .release, modifiers: [], at: Self.at(2)) == key(.release, 57, 2))
        #expect(state.key(space, .press, modifiers: [], at: Self.at(3)) == key(.press, 57, 3))
        #expect(state.key(space, .repeat, modifiers: [], at: Self.at(4)) == key(.repeat, 57, 4))
        #expect(state.cancel(touching: [], at: Self.at(5)) == [key(.release, 57, 5)])
        #expect(state.key(space, .release, modifiers: [], at: Self.at(6)) == nil, "told already")
    }
}
