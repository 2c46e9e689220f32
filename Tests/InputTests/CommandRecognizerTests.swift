import Platform
import Synchronization
import Testing
import Vocabulary

@testable import Input

/// Events in, commands out, each with the kernel's time of the event that decided.
@Suite struct CommandRecognizerTests {
    private let keyMap: KeyMap
    private let space: KeyCode
    private let right: KeyCode

    init() throws {
        keyMap = try KeyMap(bindings: [("space", .togglePlayback), ("right", .seekSteps(1))])
        (space, right) = (try KeyCode(named: "space"), try KeyCode(named: "right"))
    }

    private static func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: 1_000_000_007) + .milliseconds(milliseconds) }

    private func key(_ key: KeyCode, _ phase: KeyEvent.Phase, _ milliseconds: Int64, device: Int = 0) -> InputEvent {
        .key(KeyEvent(device: DeviceID(rawValue: device), key: key, phase: phase, time: Self.at(milliseconds)))
    }

    private func finger(_ phase: ContactEvent.Phase, _ x: Double, _ milliseconds: Int64, id: Int = 0, device: Int = 1) -> InputEvent {
        .contact(
            ContactEvent(
                device: DeviceID(rawValue: device), contact: Contact(slot: id, id: id, x: x, y: 0.5, surface: .display), phase: phase,
                time: Self.at(milliseconds)))
    }

    private struct Asked: Equatable {
        var command: Command
        var time: HostTime
    }

    private func commands(_ events: [InputEvent]) -> [Asked] {
        var recognizer = CommandRecognizer(keyMap)
        return events.compactMap { event in recognizer.command(for: event).map { Asked(command: $0.command, time: $0.time) } }
    }

    @Test func aKeyActsWhenItIsPressedAndWhereItGoesByStepsAgain() {
        let events = [
            key(space, .press, 0), key(space, .repeat, 250), key(space, .release, 300), key(right, .press, 400), key(right, .repeat, 650),
            key(right, .release, 700),
        ]
        #expect(
            commands(events) == [
                Asked(command: .togglePlayback, time: Self.at(0)), Asked(command: .seekSteps(1), time: Self.at(400)),
                Asked(command: .seekSteps(1), time: Self.at(650)),
            ])
    }

    @Test func aGestureActsWhenItsFingerIsLifted() {
        let events = [
            finger(.down, 0.5, 0), finger(.up, 0.5, 80), finger(.down, 0.2, 500), finger(.move, 0.4, 560), finger(.up, 0.4, 600),
            finger(.down, 0.5, 1000), finger(.cancelled, 0.5, 1050),
        ]
        #expect(
            commands(events) == [
                Asked(command: .togglePlayback, time: Self.at(80)), Asked(command: .seekSteps(1), time: Self.at(600)),
            ])
    }

    /// Two panels with a finger each are not one panel with two.
    @Test func eachDeviceHasItsOwnGestures() {
        let events = [
            finger(.down, 0.5, 0), finger(.down, 0.5, 20, device: 2), key(space, .press, 40), finger(.up, 0.5, 60),
            finger(.up, 0.5, 90, device: 2),
        ]
        #expect(commands(events).map(\.time) == [Self.at(40), Self.at(60), Self.at(90)])
        let oneDevice = [finger(.down, 0.5, 0), finger(.down, 0.5, 20, id: 1), finger(.up, 0.5, 60), finger(.up, 0.5, 90, id: 1)]
        #expect(commands(oneDevice) == [])
    }

    /// The whole way from a device to whoever carries commands out: nobody may put another time in place of the kernel's.
    @Test func theKernelsTimeArrivesWithTheCommand() throws {
        let asked = Mutex<[Asked]>([])
        let handler = CommandRecognizer.handler(keyMap) { command, time in asked.withLock { $0.append(Asked(command: command, time: time)) }
        }
        var state = DeviceState(device: DeviceID(rawValue: 0))
        let touch = Contact(slot: 2, id: 41, x: 0.3, y: 0.6, surface: .display)
        state.report([touch], at: Self.at(0)).forEach(handler)
        state.report([], at: Self.at(90)).forEach(handler)
        let press = state.key(space, .press, modifiers: [], at: Self.at(200))
        handler(try #require(press))
        #expect(
            asked.withLock { $0 } == [
                Asked(command: .togglePlayback, time: Self.at(90)), Asked(command: .togglePlayback, time: Self.at(200)),
            ])
    }
}
