import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskInputCore

/// Keys pressed, held and released, and the resulting commands with their times.
@Suite struct KeyRecognizerTests {
    /// A step: a key is pressed, repeated by the kernel or released, or time passes. Milliseconds from the beginning.
    enum Step: Sendable {
        case press(String, Int64, device: Int = 0)
        case kernelRepeat(String, Int64, device: Int = 0)
        case release(String, Int64, device: Int = 0)
        case wait(Int64)
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bindings: [String: Command]
        var steps: [Step]
        var asked: [(Command, Int64)]

        init(_ name: String, _ bindings: [String: Command], _ steps: [Step], _ asked: (Command, Int64)...) {
            (testDescription, self.bindings, self.steps, self.asked) = (name, bindings, steps, asked)
        }
    }

    private static let chord: [String: Command] = [
        "volumeup+volumedown": .player(.toggleMute), "volumeup": .player(.changeVolume(by: 5)),
        "volumedown": .player(.changeVolume(by: -5)),
    ]

    private static let cases: [Case] = [
        Case(
            "a key acts when it is pressed, once", ["n": .player(.nextItem)],
            [.press("n", 0), .kernelRepeat("n", 250), .release("n", 300)],
            (.player(.nextItem), 0)),
        Case("another key", ["n": .player(.nextItem)], [.press("m", 0), .release("m", 50)]),
        Case(
            "what goes by steps repeats as the kernel does", ["right": .player(.seekSteps(1))],
            [.press("right", 0), .kernelRepeat("right", 250), .kernelRepeat("right", 283), .release("right", 300), .wait(3000)],
            (.player(.seekSteps(1)), 0), (.player(.seekSteps(1)), 250), (.player(.seekSteps(1)), 283)),
        Case(
            "a device that does not repeat is repeated here", ["right": .player(.seekSteps(1))],
            [.press("right", 0), .wait(599), .wait(900), .release("right", 900), .wait(3000)],
            (.player(.seekSteps(1)), 0), (.player(.seekSteps(1)), 600), (.player(.seekSteps(1)), 725), (.player(.seekSteps(1)), 850)),
        Case(
            "once the kernel has repeated a device's keys they are not repeated here", ["right": .player(.seekSteps(1))],
            [
                .press("right", 0), .kernelRepeat("right", 250), .release("right", 260), .press("right", 1000), .wait(3000),
                .release("right", 3000),
            ],
            (.player(.seekSteps(1)), 0), (.player(.seekSteps(1)), 250), (.player(.seekSteps(1)), 1000)),
        Case(
            "repeat", ["repeat n": .player(.nextItem)], [.press("n", 0), .kernelRepeat("n", 500), .release("n", 550)],
            (.player(.nextItem), 0),
            (.player(.nextItem), 500)),
        Case(
            "once", ["once right": .player(.seekSteps(1))],
            [.press("right", 0), .kernelRepeat("right", 250), .wait(2000), .release("right", 2000)],
            (.player(.seekSteps(1)), 0)),
        Case(
            "pressed before anybody listened", ["right": .player(.seekSteps(1))],
            [.kernelRepeat("right", 0), .kernelRepeat("right", 30), .release("right", 40)], (.player(.seekSteps(1)), 0),
            (.player(.seekSteps(1)), 30)),
        Case("the same of what does not repeat", ["n": .player(.nextItem)], [.kernelRepeat("n", 0), .release("n", 40)]),
        Case(
            "hold", ["hold power": .program(.quit)],
            [.press("power", 0), .kernelRepeat("power", 250), .wait(999), .wait(1000), .wait(5000), .release("power", 5000)],
            (.program(.quit), 1000)),
        Case("not held for long enough", ["hold power": .program(.quit)], [.press("power", 0), .release("power", 999), .wait(3000)]),
        Case(
            "a short press of a key with hold acts on the release", ["hold power": .program(.quit), "power": .player(.togglePlayback)],
            [.press("power", 0), .release("power", 400)], (.player(.togglePlayback), 400)),
        Case(
            "a long one does not", ["hold power": .program(.quit), "power": .player(.togglePlayback)],
            [.press("power", 0), .release("power", 1500)],
            (.program(.quit), 1000)),
        Case(
            "a key with hold does not repeat", ["hold right": .player(.nextItem), "right": .player(.seekSteps(1))],
            [.press("right", 0), .kernelRepeat("right", 250), .kernelRepeat("right", 1200), .release("right", 1300)],
            (.player(.nextItem), 1000)),
        Case(
            "with Ctrl held a key is somebody else's", ["q": .program(.quit)],
            [.press("leftctrl", 0), .press("q", 100), .release("q", 150)]),
        Case(
            "unless it is bound so", ["ctrl+q": .program(.quit)], [.press("rightctrl", 0), .press("q", 100), .release("q", 150)],
            (.program(.quit), 100)),
        Case("the key alone is then not bound", ["ctrl+q": .program(.quit)], [.press("q", 100), .release("q", 150)]),
        Case("nor with one modifier more", ["ctrl+q": .program(.quit)], [.press("leftctrl", 0), .press("leftalt", 10), .press("q", 100)]),
        Case(
            "two modifiers", ["ctrl+alt+q": .program(.quit)], [.press("leftalt", 0), .press("leftctrl", 10), .press("q", 100)],
            (.program(.quit), 100)),
        Case(
            "a modifier that is let go", ["ctrl+q": .program(.quit), "q": .player(.play)],
            [.press("leftctrl", 0), .release("leftctrl", 50), .press("q", 100)], (.player(.play), 100)),
        Case(
            "a modifier on another keyboard", ["ctrl+q": .program(.quit)], [.press("leftctrl", 0, device: 1), .press("q", 100)],
            (.program(.quit), 100)),
        Case(
            "shift counts where it is named", ["shift+n": .player(.previousItem), "n": .player(.nextItem)],
            [.press("leftshift", 0), .press("n", 10), .release("n", 20), .release("leftshift", 30), .press("n", 40)],
            (.player(.previousItem), 10),
            (.player(.nextItem), 40)),
        Case("elsewhere it does not", ["n": .player(.nextItem)], [.press("leftshift", 0), .press("n", 10)], (.player(.nextItem), 10)),
        Case(
            "a modifier as a key of its own", ["leftmeta": .showControls], [.press("leftmeta", 0), .release("leftmeta", 50)],
            (.showControls, 0)),
        Case(
            "hold with a modifier", ["hold ctrl+q": .program(.quit)], [.press("leftctrl", 0), .press("q", 100), .wait(1100)],
            (.program(.quit), 1100)),
        Case(
            "two keys together", chord,
            [.press("volumeup", 0), .press("volumedown", 60), .release("volumeup", 200), .release("volumedown", 220), .wait(3000)],
            (.player(.toggleMute), 60)),
        Case(
            "in the other order, on two devices", chord,
            [
                .press("volumedown", 0), .press("volumeup", 99, device: 3), .release("volumeup", 200, device: 3),
                .release("volumedown", 220),
            ], (.player(.toggleMute), 99)),
        Case(
            "one of them alone, a tenth of a second later", chord,
            [.press("volumeup", 0), .wait(99), .wait(100), .release("volumeup", 200)], (.player(.changeVolume(by: 5)), 100)),
        Case(
            "and released before that, then", chord, [.press("volumeup", 0), .release("volumeup", 40), .wait(3000)],
            (.player(.changeVolume(by: 5)), 40)),
        Case(
            "the second one later than that: it has acted, and repeats no more", chord,
            [
                .press("volumeup", 0), .kernelRepeat("volumeup", 250), .press("volumedown", 300), .kernelRepeat("volumedown", 550),
                .release("volumedown", 600), .release("volumeup", 610), .wait(3000),
            ],
            (.player(.changeVolume(by: 5)), 100), (.player(.changeVolume(by: 5)), 250), (.player(.toggleMute), 300)),
        Case(
            "a chord that is held", ["hold volumeup+volumedown": .program(.quit), "volumeup": .player(.play)],
            [.press("volumeup", 0), .press("volumedown", 50), .wait(1050), .release("volumeup", 2000)], (.program(.quit), 1050)),
        Case(
            "a larger chord wins", ["a+b": .player(.play), "a+b+c": .player(.pause)],
            [.press("a", 0), .press("b", 20), .press("c", 40), .wait(2000)],
            (.player(.pause), 40)),
        Case(
            "the smaller one when the third does not come", ["a+b": .player(.play), "a+b+c": .player(.pause)],
            [.press("a", 0), .press("b", 20), .wait(2000)], (.player(.play), 120)),
        Case(
            "a knob", ["dial-up": .player(.changeVolume(by: 5))],
            [.press("dial-up", 0), .release("dial-up", 0), .press("dial-up", 10), .release("dial-up", 10), .wait(2000)],
            (.player(.changeVolume(by: 5)), 0), (.player(.changeVolume(by: 5)), 10)),
        Case(
            "a knob with a key held", ["ctrl+dial-up": .player(.seekSteps(1))],
            [.press("leftctrl", 0), .press("dial-up", 10), .release("dial-up", 10)], (.player(.seekSteps(1)), 10)),
        Case(
            "what is due comes before the event that follows", ["hold power": .program(.quit), "n": .player(.nextItem)],
            [.press("power", 0), .press("n", 1200)], (.program(.quit), 1000), (.player(.nextItem), 1200)),
    ]

    private static func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: 7_000_000_000) + .milliseconds(milliseconds) }

    @Test(arguments: cases) func table(_ example: Case) throws {
        let map = try KeyMap(bindings: example.bindings.map { (try #require(KeyTrigger($0.key)), $0.value) })
        var recognizer = KeyRecognizer(map)
        func event(_ name: String, _ phase: KeyEvent.Phase, _ time: Int64, _ device: Int) throws -> KeyEvent {
            KeyEvent(device: DeviceID(rawValue: device), key: try KeyCode(named: name), phase: phase, time: Self.at(time))
        }
        var asked: [TimedCommand] = []
        for step in example.steps {
            switch step {
            case .press(let key, let time, let device): asked += recognizer.update(try event(key, .press, time, device))
            case .kernelRepeat(let key, let time, let device): asked += recognizer.update(try event(key, .repeat, time, device))
            case .release(let key, let time, let device): asked += recognizer.update(try event(key, .release, time, device))
            case .wait(let time):
                let due = recognizer.nextDeadline
                let expired = recognizer.expire(at: Self.at(time))
                #expect(expired.isEmpty || due.map { $0 <= Self.at(time) } == true, "nobody would have asked")
                asked += expired
            }
        }
        #expect(asked == example.asked.map { TimedCommand($0.0, at: Self.at($0.1)) })
    }

    /// The modifiers that the device reports as held count, even without a press event.
    @Test func modifiersHeldBeforeAnybodyListened() throws {
        let map = try KeyMap(bindings: [
            (KeyTrigger(["KEY_Q"], modifiers: [.control]), .program(.quit)), (KeyTrigger(["KEY_Q"]), .player(.play)),
        ])
        var recognizer = KeyRecognizer(map)
        let event = KeyEvent(
            device: DeviceID(rawValue: 0), key: try KeyCode(named: "q"), phase: .press, modifiers: [.control], time: Self.at(0))
        #expect(recognizer.update(event) == [TimedCommand(.program(.quit), at: Self.at(0))])
    }
}
