import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore
@testable import KioskInputCore

/// Controls that draw nothing (`[input] controls = "none"`): events in, commands out, each with the kernel's time of the deciding event.
@Suite struct UndrawnTests {
    private let keyMap: KeyMap
    private let space: KeyCode
    private let right: KeyCode

    init() throws {
        keyMap = try KeyMap(bindings: [
            (KeyTrigger(["KEY_SPACE"]), .player(.togglePlayback)), (KeyTrigger(["KEY_RIGHT"]), .player(.seekSteps(1))),
        ])
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

    private static let gestures: [GestureName: Command] = [
        .tap: .player(.togglePlayback), .swipeLeft: .player(.seekSteps(-1)), .swipeRight: .player(.seekSteps(1)),
    ]

    private func state(_ gestures: [GestureName: Command], tap: Command? = nil) -> ControlsState {
        var settings = ControlsSettings()
        (settings.mode, settings.gestures) = (.none, gestures)
        var state = ControlsState(settings, keys: keyMap)
        var now = NowPlaying()
        if tap == .player(.waitEnded) { now.waitsForTap = true } else { now.onTap = tap }
        _ = state.update(now, on: nil, refreshPeriod: .milliseconds(16), at: Self.at(0))
        return state
    }

    private func commands(_ events: [InputEvent], _ gestures: [GestureName: Command] = gestures, tap: Command? = nil) -> [TimedCommand] {
        var state = state(gestures, tap: tap)
        return events.flatMap { state.handle($0) }
    }

    @Test func aKeyActsWhenItIsPressedAndWhereItGoesByStepsAgain() {
        let events = [
            key(space, .press, 0), key(space, .repeat, 250), key(space, .release, 300), key(right, .press, 400), key(right, .repeat, 650),
            key(right, .release, 700),
        ]
        #expect(
            commands(events) == [
                TimedCommand(.player(.togglePlayback), at: Self.at(0)), TimedCommand(.player(.seekSteps(1)), at: Self.at(400)),
                TimedCommand(.player(.seekSteps(1)), at: Self.at(650)),
            ])
    }

    @Test func aGestureActsWhenItsFingerIsLifted() {
        let events = [
            finger(.down, 0.5, 0), finger(.up, 0.5, 80), finger(.down, 0.2, 500), finger(.move, 0.4, 560), finger(.up, 0.4, 600),
            finger(.down, 0.5, 1000), finger(.cancelled, 0.5, 1050),
        ]
        #expect(
            commands(events) == [
                TimedCommand(.player(.togglePlayback), at: Self.at(80)), TimedCommand(.player(.seekSteps(1)), at: Self.at(600)),
            ])
    }

    /// One finger on each of two panels is not two fingers on one panel.
    @Test func eachDeviceHasItsOwnGestures() {
        let events = [
            finger(.down, 0.5, 0), finger(.down, 0.5, 20, device: 2), key(space, .press, 40), finger(.up, 0.5, 60),
            finger(.up, 0.5, 90, device: 2),
        ]
        #expect(commands(events).map(\.time) == [Self.at(40), Self.at(60), Self.at(90)])
        let oneDevice = [finger(.down, 0.5, 0), finger(.down, 0.5, 20, id: 1), finger(.up, 0.5, 60), finger(.up, 0.5, 90, id: 1)]
        #expect(commands(oneDevice) == [])
    }

    /// The whole path from a device to the commands: nothing may replace the kernel's time.
    @Test func theKernelsTimeArrivesWithTheCommand() throws {
        var (controls, asked) = (state(Self.gestures), [TimedCommand]())
        var state = DeviceState(device: DeviceID(rawValue: 0))
        let touch = Contact(slot: 2, id: 41, x: 0.3, y: 0.6, surface: .display)
        for event in state.report([touch], at: Self.at(0)) { asked += controls.handle(event) }
        for event in state.report([], at: Self.at(90)) { asked += controls.handle(event) }
        let press = state.key(space, .press, modifiers: [], at: Self.at(200))
        asked += controls.handle(try #require(press))
        #expect(
            asked == [
                TimedCommand(.player(.togglePlayback), at: Self.at(90)), TimedCommand(.player(.togglePlayback), at: Self.at(200)),
            ])
    }

    /// The current item determines a tap's command; swipes are unaffected.
    @Test func anItemsTap() {
        let events = [
            finger(.down, 0.5, 0), finger(.up, 0.5, 80), finger(.down, 0.2, 500), finger(.move, 0.4, 560), finger(.up, 0.4, 600),
        ]
        #expect(
            commands(events, tap: .player(.waitEnded)) == [
                TimedCommand(.player(.waitEnded), at: Self.at(80)), TimedCommand(.player(.seekSteps(1)), at: Self.at(600)),
            ])
        #expect(
            commands(Array(events.prefix(2)), [:], tap: .player(.waitEnded)).map(\.command) == [.player(.waitEnded)],
            "a tap that is bound to nothing")
    }

    /// The first tap of a double tap has toggled playback, and the second reverts that. Any other effect of the first tap stays.
    @Test func aDoubleTapTakesTheTapBack() {
        let taps = [finger(.down, 0.9, 0), finger(.up, 0.9, 60), finger(.down, 0.9, 200), finger(.up, 0.9, 260)]
        var gestures = Self.gestures
        #expect(
            commands(taps, gestures).map(\.command) == [.player(.togglePlayback), .player(.togglePlayback)],
            "two taps, where double taps are not bound")
        gestures[.doubleTapRight] = .player(.seekSteps(1))
        #expect(
            commands(taps, gestures) == [
                TimedCommand(.player(.togglePlayback), at: Self.at(60)), TimedCommand(.player(.togglePlayback), at: Self.at(260)),
                TimedCommand(.player(.seekSteps(1)), at: Self.at(260)),
            ])
        gestures[.tap] = .player(.nextItem)
        #expect(commands(taps, gestures).map(\.command) == [.player(.nextItem), .player(.seekSteps(1))])
    }

    /// A resting finger triggers a command without an event, at the recogniser's deadline.
    @Test func whatIsDueInTime() {
        var state = state([.longPress: .player(.toggleMute), .tap: .player(.togglePlayback)])
        #expect(state.inputDeadline == nil)
        #expect(state.handle(finger(.down, 0.5, 0)) == [])
        #expect(state.inputDeadline == Self.at(700))
        #expect(state.expire(at: Self.at(699)) == [])
        #expect(state.expire(at: Self.at(705)) == [TimedCommand(.player(.toggleMute), at: Self.at(700))])
        #expect(state.inputDeadline == nil)
        #expect(state.handle(finger(.up, 0.5, 900)) == [])
    }
}
