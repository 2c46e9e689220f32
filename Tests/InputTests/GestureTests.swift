import Platform
import Testing
import Vocabulary

@testable import Input

@Suite struct GestureTests {
    /// One report: milliseconds, and where each finger is (finger k has id k); nil for a finger that is up.
    typealias Report = (Int64, [(Double, Double)?])

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var reports: [@Sendable () -> Report]
        var gestures: [Gesture]

        init(_ name: String, _ reports: [Report], _ gestures: Gesture...) {
            testDescription = name
            self.reports = reports.map { report in { report } }
            self.gestures = gestures
        }
    }

    private static let up: [(Double, Double)?] = []

    private static let cases: [Case] = [
        Case("a tap", [(0, [(0.5, 0.5)]), (80, up)], .tap),
        Case("a tap that jitters", [(0, [(0.5, 0.5)]), (20, [(0.52, 0.49)]), (40, [(0.48, 0.52)]), (80, up)], .tap),
        Case("a tap at the very edge", [(0, [(0, 1)]), (80, up)], .tap),
        Case("a touch of just 700 ms is no tap", [(0, [(0.5, 0.5)]), (700, up)]),
        Case("a touch of just less is", [(0, [(0.5, 0.5)]), (699, up)], .tap),
        Case("a resting hand", [(0, [(0.5, 0.5)]), (5000, up)]),
        Case("a tap that wandered and came back", [(0, [(0.5, 0.5)]), (50, [(0.55, 0.5)]), (100, [(0.5, 0.5)]), (150, up)]),
        Case("a short stroke is neither", [(0, [(0.5, 0.5)]), (50, [(0.59, 0.5)]), (100, up)]),
        Case("a swipe to the right", [(0, [(0.2, 0.5)]), (60, [(0.3, 0.51)]), (120, [(0.4, 0.52)]), (140, up)], .swipe(steps: 1)),
        Case("a swipe to the left", [(0, [(0.4, 0.5)]), (120, [(0.2, 0.5)]), (140, up)], .swipe(steps: -1)),
        Case("a longer swipe", [(0, [(0.1, 0.5)]), (120, [(0.5, 0.5)]), (140, up)], .swipe(steps: 2)),
        Case("a swipe across everything", [(0, [(1, 0.5)]), (300, [(0, 0.5)]), (310, up)], .swipe(steps: -4)),
        Case("a slow drag", [(0, [(0.2, 0.5)]), (900, [(0.6, 0.5)]), (1000, up)]),
        Case("a diagonal", [(0, [(0.2, 0.2)]), (100, [(0.5, 0.4)]), (140, up)]),
        Case("a slanting swipe", [(0, [(0.2, 0.2)]), (100, [(0.5, 0.34)]), (140, up)], .swipe(steps: 1)),
        Case("a stroke down", [(0, [(0.5, 0.2)]), (100, [(0.5, 0.8)]), (140, up)]),
        Case("there and back", [(0, [(0.2, 0.5)]), (100, [(0.6, 0.5)]), (200, [(0.25, 0.5)]), (240, up)]),
        Case("two fingers", [(0, [(0.2, 0.5), (0.4, 0.5)]), (100, up)]),
        Case("a second finger later", [(0, [(0.2, 0.5)]), (30, [(0.2, 0.5), (0.4, 0.5)]), (60, [(0.2, 0.5)]), (90, up)]),
        Case("the first of two lifts first", [(0, [(0.2, 0.5)]), (30, [(0.2, 0.5), (0.4, 0.5)]), (60, [nil, (0.4, 0.5)]), (90, up)]),
        Case("after two fingers one tap counts", [(0, [(0.2, 0.5), (0.4, 0.5)]), (90, up), (200, [(0.5, 0.5)]), (250, up)], .tap),
        Case("one finger replaces another", [(0, [(0.2, 0.5)]), (60, [nil, (0.8, 0.5)]), (120, up)], .tap),
        Case("two taps", [(0, [(0.5, 0.5)]), (60, up), (160, [(0.5, 0.5)]), (220, up)], .tap, .tap),
        Case("a flickering panel", [(0, [(0.5, 0.5)]), (60, up), (75, [(0.5, 0.5)]), (120, up)], .tap),
        Case("nothing, repeatedly", [(0, up), (10, up), (20, up)]),
    ]

    /// A panel of which somebody says where all fingers are, and what is recognised of it.
    private struct Panel {
        var device = DeviceState(device: DeviceID(rawValue: 0))
        var recognizer = GestureRecognizer()

        mutating func report(_ milliseconds: Int64, _ contacts: [Contact]) -> [Gesture] {
            recognize(device.report(contacts, at: HostTime(nanoseconds: 0) + .milliseconds(milliseconds)))
        }

        mutating func lose(_ milliseconds: Int64, touching contacts: [Contact]) -> [Gesture] {
            recognize(device.cancel(touching: contacts, at: HostTime(nanoseconds: 0) + .milliseconds(milliseconds)))
        }

        private mutating func recognize(_ events: [InputEvent]) -> [Gesture] {
            events.compactMap { event in
                guard case .contact(let event) = event else { return nil }
                return recognizer.update(event)
            }
        }
    }

    private static func finger(_ id: Int, _ x: Double, _ y: Double) -> Contact { Contact(slot: id, id: id, x: x, y: y, surface: .display) }

    @Test(arguments: cases) func table(_ example: Case) {
        var panel = Panel()
        var found: [Gesture] = []
        for report in example.reports {
            let (milliseconds, fingers) = report()
            let contacts = fingers.enumerated().compactMap { index, place in place.map { Self.finger(index, $0.0, $0.1) } }
            found += panel.report(milliseconds, contacts)
        }
        #expect(found == example.gestures)
    }

    @Test func lostEventsSpoilOnlyTheGestureAtHand() {
        var panel = Panel()
        let finger = [Self.finger(0, 0.5, 0.5)]
        #expect(panel.report(0, finger) == [])
        #expect(panel.lose(20, touching: finger) == [])
        #expect(panel.report(50, []) == [])
        #expect(panel.report(150, finger) == [])
        #expect(panel.report(200, []) == [.tap])
        // With nothing touching, the next touch is a new one.
        #expect(panel.lose(210, touching: []) == [])
        #expect(panel.report(1000, finger) == [])
        #expect(panel.report(1050, []) == [.tap])
    }

    /// What is cancelled completes nothing, but is no second finger either.
    @Test func aCancelledFingerIsGone() {
        var panel = Panel()
        #expect(panel.report(0, [Self.finger(0, 0.2, 0.5), Self.finger(1, 0.4, 0.5)]) == [])
        #expect(panel.lose(30, touching: []) == [])
        #expect(panel.report(40, [Self.finger(2, 0.5, 0.5)]) == [])
        #expect(panel.report(90, []) == [.tap])
    }

    @Test func whatGesturesAskFor() {
        #expect(Gesture.tap.command == .togglePlayback)
        #expect(Gesture.swipe(steps: -2).command == .seekSteps(-2))
    }

    /// Where the corners of the panel are on a picture turned on it: the picture's own top left is at the panel's top left, top
    /// right, bottom right, bottom left.
    @Test(arguments: zip(Rotation.allCases, [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]))
    func touchTurnsWithThePicture(rotation: Rotation, panel: (Double, Double)) {
        #expect(Self.finger(3, panel.0, panel.1).upright(rotation) == Self.finger(3, 0, 0))
        #expect(Self.finger(3, 0.5, 0.5).upright(rotation) == Self.finger(3, 0.5, 0.5))
    }

    /// A stroke that a viewer of the turned picture sees go to the right.
    @Test(
        arguments: zip(
            Rotation.allCases, [((0.2, 0.5), (0.5, 0.5)), ((0.5, 0.2), (0.5, 0.5)), ((0.8, 0.5), (0.5, 0.5)), ((0.5, 0.8), (0.5, 0.5))]))
    func aSwipeIsWhatTheViewerSees(rotation: Rotation, stroke: ((Double, Double), (Double, Double))) {
        var panel = Panel()
        #expect(panel.report(0, [Self.finger(0, stroke.0.0, stroke.0.1).upright(rotation)]) == [])
        #expect(panel.report(100, [Self.finger(0, stroke.1.0, stroke.1.1).upright(rotation)]) == [])
        #expect(panel.report(110, []) == [.swipe(steps: 1)])
    }
}
