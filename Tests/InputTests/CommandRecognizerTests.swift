import KioskPlatform
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskInput

/// Events in, commands out, each with the kernel's time of the event that decided.
@Suite struct CommandRecognizerTests {
    private let keyMap: KeyMap
    private let space: KeyCode
    private let right: KeyCode

    init() throws {
        keyMap = try KeyMap(bindings: [
            (KeyTrigger(["KEY_SPACE"]), .togglePlayback), (KeyTrigger(["KEY_RIGHT"]), .seekSteps(1)),
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

    private static let gestures: [GestureName: Command] = [.tap: .togglePlayback, .swipeLeft: .seekSteps(-1), .swipeRight: .seekSteps(1)]

    private func commands(_ events: [InputEvent], _ gestures: [GestureName: Command] = gestures, tap: Command? = nil) -> [TimedCommand] {
        var recognizer = CommandRecognizer(keyMap, gestures: gestures)
        return events.flatMap { recognizer.commands(for: $0, tap: tap) }
    }

    @Test func aKeyActsWhenItIsPressedAndWhereItGoesByStepsAgain() {
        let events = [
            key(space, .press, 0), key(space, .repeat, 250), key(space, .release, 300), key(right, .press, 400), key(right, .repeat, 650),
            key(right, .release, 700),
        ]
        #expect(
            commands(events) == [
                TimedCommand(.togglePlayback, at: Self.at(0)), TimedCommand(.seekSteps(1), at: Self.at(400)),
                TimedCommand(.seekSteps(1), at: Self.at(650)),
            ])
    }

    @Test func aGestureActsWhenItsFingerIsLifted() {
        let events = [
            finger(.down, 0.5, 0), finger(.up, 0.5, 80), finger(.down, 0.2, 500), finger(.move, 0.4, 560), finger(.up, 0.4, 600),
            finger(.down, 0.5, 1000), finger(.cancelled, 0.5, 1050),
        ]
        #expect(
            commands(events) == [
                TimedCommand(.togglePlayback, at: Self.at(80)), TimedCommand(.seekSteps(1), at: Self.at(600)),
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
        let asked = Mutex<[TimedCommand]>([])
        let handler = CommandRecognizer.handler(keyMap, gestures: Self.gestures) { command, time in
            asked.withLock { $0.append(TimedCommand(command, at: time)) }
        }.handle
        var state = DeviceState(device: DeviceID(rawValue: 0))
        let touch = Contact(slot: 2, id: 41, x: 0.3, y: 0.6, surface: .display)
        state.report([touch], at: Self.at(0)).forEach(handler)
        state.report([], at: Self.at(90)).forEach(handler)
        let press = state.key(space, .press, modifiers: [], at: Self.at(200))
        handler(try #require(press))
        #expect(
            asked.withLock { $0 } == [
                TimedCommand(.togglePlayback, at: Self.at(90)), TimedCommand(.togglePlayback, at: Self.at(200)),
            ])
    }

    /// The item on the screen says what a tap does; swipes do what they always do.
    @Test func anItemsTap() {
        let events = [
            finger(.down, 0.5, 0), finger(.up, 0.5, 80), finger(.down, 0.2, 500), finger(.move, 0.4, 560), finger(.up, 0.4, 600),
        ]
        #expect(
            commands(events, tap: .waitEnded) == [
                TimedCommand(.waitEnded, at: Self.at(80)), TimedCommand(.seekSteps(1), at: Self.at(600)),
            ])
        #expect(commands(Array(events.prefix(2)), [:], tap: .waitEnded).map(\.command) == [.waitEnded], "a tap that is bound to nothing")
    }

    /// The first tap of a double tap has toggled, which is taken back; what else it did is not.
    @Test func aDoubleTapTakesTheTapBack() {
        let taps = [finger(.down, 0.9, 0), finger(.up, 0.9, 60), finger(.down, 0.9, 200), finger(.up, 0.9, 260)]
        var gestures = Self.gestures
        #expect(commands(taps, gestures).map(\.command) == [.togglePlayback, .togglePlayback], "two taps, where double taps are not bound")
        gestures[.doubleTapRight] = .seekSteps(1)
        #expect(
            commands(taps, gestures) == [
                TimedCommand(.togglePlayback, at: Self.at(60)), TimedCommand(.togglePlayback, at: Self.at(260)),
                TimedCommand(.seekSteps(1), at: Self.at(260)),
            ])
        gestures[.tap] = .nextItem
        #expect(commands(taps, gestures).map(\.command) == [.nextItem, .seekSteps(1)])
    }

    /// A volume drag is as many hundredths as it is long, and a long swipe as many steps.
    @Test func gesturesWithAnAmount() {
        #expect(Gesture.swipe(steps: -2).command([.swipeLeft: .seekSteps(-1)]) == .seekSteps(-2))
        #expect(Gesture.swipe(steps: 3).command([.swipeRight: .seekBy(.seconds(5))]) == .seekBy(.seconds(15)))
        #expect(Gesture.swipe(steps: 3).command([.swipeRight: .nextItem]) == .nextItem)
        #expect(Gesture.volumeDrag(by: -7).command([.volumeDrag: .changeVolume(by: 1)]) == .changeVolume(by: -7))
        #expect(Gesture.doubleTap(x: 0.5, y: 0.5).command([.tap: .play, .doubleTapLeft: .pause, .doubleTapRight: .pause]) == nil)
    }

    /// A finger that rests asks for something without an event, at a time that the recogniser names.
    @Test func whatIsDueInTime() {
        var recognizer = CommandRecognizer(keyMap, gestures: [.longPress: .showControls, .tap: .togglePlayback])
        #expect(recognizer.nextDeadline == nil)
        #expect(recognizer.commands(for: finger(.down, 0.5, 0)) == [])
        #expect(recognizer.nextDeadline == Self.at(700))
        #expect(recognizer.expire(at: Self.at(699)) == [])
        #expect(recognizer.expire(at: Self.at(705)) == [TimedCommand(.showControls, at: Self.at(700))])
        #expect(recognizer.nextDeadline == nil)
        #expect(recognizer.commands(for: finger(.up, 0.5, 900)) == [])
    }

    @Test func idleIsToldOnceAfterEachTouch() {
        var timer = IdleTimer(after: .seconds(60))
        #expect(timer.nextDeadline == nil, "nobody has touched anything yet")
        #expect(timer.expire(at: Self.at(1_000_000)) == nil)
        timer.touched(at: Self.at(0))
        timer.touched(at: Self.at(5_000))
        #expect(timer.nextDeadline == Self.at(65_000))
        #expect(timer.expire(at: Self.at(64_999)) == nil)
        #expect(timer.expire(at: Self.at(65_100)) == Self.at(65_000))
        #expect(timer.nextDeadline == nil && timer.expire(at: Self.at(200_000)) == nil)
        timer.touched(at: Self.at(300_000))
        #expect(timer.expire(at: Self.at(360_000)) == Self.at(360_000))
    }

    /// The idle time counts beside what another handler waits for.
    @Test func theHandlerWaitsForTheEarlier() {
        let told = Mutex<[HostTime]>([])
        let handler = CommandRecognizer.handler(keyMap, gestures: [.longPress: .showControls]) { _, time in
            told.withLock { $0.append(time) }
        }
        .whenIdle(after: .seconds(60)) { time in told.withLock { $0.append(time) } }
        #expect(handler.nextDeadline() == nil)
        handler.handle(finger(.down, 0.5, 0))
        #expect(handler.nextDeadline() == Self.at(700))
        handler.expire(Self.at(700))
        #expect(handler.nextDeadline() == Self.at(60_000))
        handler.expire(Self.at(60_000))
        #expect(told.withLock { $0 } == [Self.at(700), Self.at(60_000)] && handler.nextDeadline() == nil)
    }

    /// Whoever stands before a camera touches nothing, and is not to be taken for nobody.
    @Test func nobodyIsIdleWhoIsRecorded() {
        let told = Mutex<[HostTime]>([]), isInUse = Mutex(true)
        let handler = CommandRecognizer.handler(keyMap, gestures: [:]) { _, _ in }
            .whenIdle(after: .seconds(60), unless: { isInUse.withLock { $0 } }) { time in told.withLock { $0.append(time) } }
        handler.handle(finger(.down, 0.5, 0))
        handler.expire(Self.at(60_000))
        #expect(told.withLock { $0 } == [] && handler.nextDeadline() == Self.at(120_000))
        isInUse.withLock { $0 = false }
        handler.expire(Self.at(120_000))
        #expect(told.withLock { $0 } == [Self.at(120_000)] && handler.nextDeadline() == nil)
    }
}
