import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskInputCore

@Suite struct GestureTests {
    /// One report: milliseconds, and each finger's place (finger k has id k); nil for a lifted finger.
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

    private static func tap(_ x: Double, _ y: Double = 0.5) -> Gesture { .tap(x: x, y: y) }

    private static let cases: [Case] = [
        Case("a tap", [(0, [(0.5, 0.5)]), (80, up)], tap(0.5)),
        Case("a tap that jitters", [(0, [(0.5, 0.5)]), (20, [(0.52, 0.49)]), (40, [(0.48, 0.52)]), (80, up)], tap(0.5)),
        Case("a tap at the very edge", [(0, [(0, 1)]), (80, up)], tap(0, 1)),
        Case("a touch of just 700 ms is a long press", [(0, [(0.5, 0.5)]), (700, up)], .longPress(x: 0.5, y: 0.5)),
        Case("a touch of just less is a tap", [(0, [(0.5, 0.5)]), (699, up)], tap(0.5)),
        Case("a resting finger is told once", [(0, [(0.3, 0.6)]), (2000, [(0.31, 0.6)]), (5000, up)], .longPress(x: 0.3, y: 0.6)),
        Case("one that then moves is nothing more", [(0, [(0.3, 0.6)]), (900, [(0.6, 0.6)]), (1000, up)], .longPress(x: 0.3, y: 0.6)),
        Case(
            "a tap that wandered and came back", [(0, [(0.5, 0.5)]), (50, [(0.55, 0.5)]), (100, [(0.5, 0.5)]), (150, up)],
            drag(.began, 0.5, 0.55), drag(.moved, 0.5, 0.5), drag(.ended, 0.5, 0.5)),
        Case(
            "a short stroke is only a drag", [(0, [(0.5, 0.5)]), (50, [(0.59, 0.5)]), (100, up)], drag(.began, 0.5, 0.59),
            drag(.ended, 0.5, 0.59)),
        Case(
            "a swipe to the right", [(0, [(0.2, 0.5)]), (60, [(0.3, 0.5)]), (120, [(0.4, 0.5)]), (140, up)], drag(.began, 0.2, 0.3),
            drag(.moved, 0.2, 0.4), drag(.ended, 0.2, 0.4), .swipe(steps: 1)),
        Case(
            "a swipe to the left", [(0, [(0.4, 0.5)]), (120, [(0.2, 0.5)]), (140, up)], drag(.began, 0.4, 0.2), drag(.ended, 0.4, 0.2),
            .swipe(steps: -1)),
        Case("two fingers", [(0, [(0.2, 0.5), (0.4, 0.7)]), (100, up)], .twoFingerTap(x: 0.30000000000000004, y: 0.6)),
        Case(
            "one soon after the other", [(0, [(0.2, 0.5)]), (199, [(0.2, 0.5), (0.4, 0.5)]), (260, [(0.2, 0.5)]), (290, up)],
            .twoFingerTap(x: 0.30000000000000004, y: 0.5)),
        Case(
            "the first of two lifts first", [(0, [(0.2, 0.5)]), (30, [(0.2, 0.5), (0.4, 0.5)]), (60, [nil, (0.4, 0.5)]), (90, up)],
            .twoFingerTap(x: 0.30000000000000004, y: 0.5)),
        Case("one too late after the other", [(0, [(0.2, 0.5)]), (200, [(0.2, 0.5), (0.4, 0.5)]), (260, up)]),
        Case("two fingers for too long", [(0, [(0.2, 0.5), (0.4, 0.5)]), (700, up)]),
        Case("two fingers that move", [(0, [(0.2, 0.5), (0.4, 0.5)]), (50, [(0.2, 0.5), (0.5, 0.5)]), (100, up)]),
        Case("three fingers", [(0, [(0.2, 0.5), (0.4, 0.5), (0.6, 0.5)]), (100, up)]),
        Case("a third finger in the end", [(0, [(0.2, 0.5), (0.4, 0.5)]), (50, [(0.2, 0.5), nil, (0.6, 0.5)]), (100, up)]),
        Case(
            "a second finger ends a drag", [(0, [(0.2, 0.5)]), (50, [(0.3, 0.5)]), (80, [(0.3, 0.5), (0.7, 0.5)]), (120, up)],
            drag(.began, 0.2, 0.3), drag(.cancelled, 0.2, 0.3)),
        Case(
            "after three fingers one tap counts", [(0, [(0.2, 0.5), (0.4, 0.5), (0.6, 0.5)]), (90, up), (200, [(0.5, 0.5)]), (250, up)],
            tap(0.5)),
        Case("one finger replaces another", [(0, [(0.2, 0.5)]), (60, [nil, (0.8, 0.5)]), (120, up)], tap(0.2)),
        Case("a flickering panel", [(0, [(0.5, 0.5)]), (60, up), (75, [(0.5, 0.5)]), (120, up)], tap(0.5)),
        Case("nothing, repeatedly", [(0, up), (10, up), (20, up)]),
        Case("two taps in the middle", [(0, [(0.5, 0.5)]), (60, up), (160, [(0.5, 0.5)]), (220, up)], tap(0.5), tap(0.5)),
        Case(
            "a double tap on the left", [(0, [(0.1, 0.5)]), (60, up), (360, [(0.3, 0.4)]), (420, up)], tap(0.1), .doubleTap(x: 0.3, y: 0.4)),
        Case(
            "a double tap on the right", [(0, [(0.9, 0.5)]), (60, up), (160, [(0.7, 0.5)]), (220, up)], tap(0.9), .doubleTap(x: 0.7, y: 0.5)
        ),
        Case("a second tap just too late", [(0, [(0.1, 0.5)]), (60, up), (361, [(0.1, 0.5)]), (420, up)], tap(0.1), tap(0.1)),
        Case("a tap left and one right", [(0, [(0.1, 0.5)]), (60, up), (160, [(0.9, 0.5)]), (220, up)], tap(0.1), tap(0.9)),
        Case(
            "three taps are two and one", [(0, [(0.1, 0.5)]), (60, up), (160, [(0.1, 0.5)]), (220, up), (320, [(0.1, 0.5)]), (380, up)],
            tap(0.1), .doubleTap(x: 0.1, y: 0.5), tap(0.1)),
        Case(
            "four are two and two",
            [
                (0, [(0.1, 0.5)]), (60, up), (160, [(0.1, 0.5)]), (220, up), (320, [(0.1, 0.5)]), (380, up), (480, [(0.1, 0.5)]), (540, up),
            ], tap(0.1), .doubleTap(x: 0.1, y: 0.5), tap(0.1), .doubleTap(x: 0.1, y: 0.5)),
        Case(
            "a tap and a swipe", [(0, [(0.1, 0.5)]), (60, up), (160, [(0.1, 0.5)]), (220, [(0.3, 0.5)]), (240, up)], tap(0.1),
            drag(.began, 0.1, 0.3), drag(.ended, 0.1, 0.3), .swipe(steps: 1)),
        Case(
            "up along the right edge", [(0, [(0.9, 0.8)]), (50, [(0.9, 0.7)]), (100, [(0.88, 0.5)]), (5000, [(0.88, 0.55)]), (5100, up)],
            .volumeDrag(by: 10), .volumeDrag(by: 20), .volumeDrag(by: -5)),
        Case(
            "hundredths are not told twice", [(0, [(0.9, 0.5)]), (50, [(0.9, 0.541)]), (60, [(0.9, 0.549)]), (70, [(0.9, 0.5)]), (90, up)],
            .volumeDrag(by: -4), .volumeDrag(by: 4)),
        Case(
            "a second finger ends it",
            [(0, [(0.9, 0.8)]), (50, [(0.9, 0.7)]), (60, [(0.9, 0.7), (0.5, 0.5)]), (70, [(0.9, 0.3), (0.5, 0.5)]), (90, up)],
            .volumeDrag(by: 10)),
    ]

    private static func drag(_ phase: Gesture.Drag.Phase, _ start: Double, _ x: Double) -> Gesture {
        .drag(Gesture.Drag(phase, startX: start, startY: 0.5, x: x, y: 0.5))
    }

    /// The gestures that come with a drag.
    private static let swipes: [Case] = [
        Case("a longer swipe", [(0, [(0.1, 0.5)]), (120, [(0.5, 0.5)]), (140, up)], .swipe(steps: 2)),
        Case("a swipe across everything", [(0, [(0.95, 0.5)]), (300, [(0, 0.5)]), (310, up)], .swipe(steps: -4)),
        Case("a slow drag", [(0, [(0.2, 0.5)]), (600, [(0.6, 0.5)]), (1000, up)]),
        Case("a diagonal", [(0, [(0.2, 0.2)]), (100, [(0.5, 0.4)]), (140, up)]),
        Case("a slanting swipe", [(0, [(0.2, 0.2)]), (100, [(0.5, 0.34)]), (140, up)], .swipe(steps: 1)),
        Case("a stroke down", [(0, [(0.5, 0.2)]), (100, [(0.5, 0.8)]), (140, up)]),
        Case("there and back", [(0, [(0.2, 0.5)]), (100, [(0.6, 0.5)]), (200, [(0.25, 0.5)]), (240, up)]),
        Case("sideways at the right edge", [(0, [(0.9, 0.5)]), (100, [(0.6, 0.5)]), (140, up)], .swipe(steps: -1)),
        Case("from the left edge", [(0, [(0.01, 0.5)]), (100, [(0.3, 0.5)]), (140, up)], .edgeSwipe(.left)),
        Case("from the right edge", [(0, [(1, 0.5)]), (100, [(0.6, 0.5)]), (140, up)], .edgeSwipe(.right)),
        Case("from the top", [(0, [(0.5, 0)]), (100, [(0.52, 0.2)]), (140, up)], .edgeSwipe(.top)),
        Case("from the bottom", [(0, [(0.5, 0.98)]), (100, [(0.5, 0.7)]), (140, up)], .edgeSwipe(.bottom)),
        Case("from the top, slowly", [(0, [(0.5, 0)]), (100, [(0.5, 0.2)]), (1000, up)]),
        Case("to the edge", [(0, [(0.3, 0.5)]), (100, [(0, 0.5)]), (140, up)], .swipe(steps: -1)),
        Case("along the top", [(0, [(0.3, 0)]), (100, [(0.6, 0)]), (140, up)], .swipe(steps: 1)),
    ]

    /// A panel with given places of all fingers, and a recogniser for its contacts.
    private struct Panel {
        var device = DeviceState(device: DeviceID(rawValue: 0))
        var recognizer: GestureRecognizer

        init(_ wanted: Set<GestureName> = Set(GestureName.allCases)) { recognizer = GestureRecognizer(wanted) }

        /// Plays all reports of a case.
        mutating func play(_ example: Case) -> [Gesture] {
            example.reports.flatMap { report in
                let (milliseconds, fingers) = report()
                let contacts = fingers.enumerated().compactMap { index, place in place.map { finger(index, $0.0, $0.1) } }
                return self.report(milliseconds, contacts)
            }
        }

        mutating func report(_ milliseconds: Int64, _ contacts: [Contact]) -> [Gesture] {
            recognize(device.report(contacts, at: HostTime(nanoseconds: 0) + .milliseconds(milliseconds)))
        }

        mutating func lose(_ milliseconds: Int64, touching contacts: [Contact]) -> [Gesture] {
            recognize(device.cancel(touching: contacts, at: HostTime(nanoseconds: 0) + .milliseconds(milliseconds)))
        }

        private mutating func recognize(_ events: [InputEvent]) -> [Gesture] {
            events.flatMap { event -> [Gesture] in
                guard case .contact(let event) = event else { return [] }
                return recognizer.update(event)
            }
        }
    }

    private static func finger(_ id: Int, _ x: Double, _ y: Double) -> Contact { Contact(slot: id, id: id, x: x, y: y, surface: .display) }

    @Test(arguments: cases) func table(_ example: Case) {
        var panel = Panel()
        #expect(panel.play(example) == example.gestures)
    }

    @Test(arguments: swipes) func swipe(_ example: Case) {
        var panel = Panel()
        let told = panel.play(example).filter { if case .drag = $0 { false } else { true } }
        #expect(told == example.gestures)
    }

    /// An unbound gesture counts as the gesture that it would otherwise be.
    @Test func whatIsNotWanted() {
        func told(_ wanted: Set<GestureName>, _ reports: Report...) -> [Gesture] {
            var panel = Panel(wanted)
            return panel.play(Case("", reports)).filter { if case .drag = $0 { false } else { true } }
        }
        let double: [Report] = [(0, [(0.1, 0.5)]), (60, Self.up), (160, [(0.1, 0.5)]), (220, Self.up)]
        #expect(told([.tap], double[0], double[1], double[2], double[3]) == [Self.tap(0.1), Self.tap(0.1)])
        #expect(told([.tap, .doubleTapRight], double[0], double[1], double[2], double[3]) == [Self.tap(0.1), Self.tap(0.1)])
        let edge: [Report] = [(0, [(0.01, 0.5)]), (100, [(0.3, 0.5)]), (140, Self.up)]
        #expect(told([.swipeRight, .edgeRight], edge[0], edge[1], edge[2]) == [.swipe(steps: 1)])
        #expect(told([.swipeLeft], edge[0], edge[1], edge[2]) == [])
        #expect(told([.tap], (0, [(0.5, 0.5)]), (700, Self.up)) == [], "neither a tap nor a long press")
        #expect(told([.tap], (0, [(0.2, 0.5), (0.4, 0.5)]), (100, Self.up)) == [])
        #expect(told([.tap], (0, [(0.9, 0.8)]), (50, [(0.9, 0.7)]), (100, Self.up)) == [])
    }

    /// A touchpad has no edges and no thirds, since its positions are not on the picture.
    @Test func onATouchpad() {
        var recognizer = GestureRecognizer()
        func pad(_ x: Double, _ phase: ContactEvent.Phase, _ milliseconds: Int64) -> ContactEvent {
            ContactEvent(
                device: DeviceID(rawValue: 0), contact: Contact(slot: 0, id: 1, x: x, y: 0.5, surface: .touchpad), phase: phase,
                time: HostTime(nanoseconds: 0) + .milliseconds(milliseconds))
        }
        var told: [Gesture] = []
        for event in [
            pad(0.1, .down, 0), pad(0.1, .up, 50), pad(0.1, .down, 150), pad(0.1, .up, 200), pad(0, .down, 1000), pad(0.4, .move, 1100),
            pad(0.4, .up, 1150),
        ] {
            told += recognizer.update(event)
        }
        #expect(told.filter { if case .drag = $0 { false } else { true } } == [Self.tap(0.1), Self.tap(0.1), .swipe(steps: 2)])
    }

    /// A long press comes at the recogniser's deadline; if no caller asks in time, with the next event.
    @Test func aLongPressIsDue() {
        var panel = Panel()
        #expect(panel.recognizer.nextDeadline == nil)
        #expect(panel.report(0, [Self.finger(0, 0.5, 0.5)]) == [])
        let due = HostTime(nanoseconds: 0) + GestureRecognizer.tapDuration
        #expect(panel.recognizer.nextDeadline == due)
        #expect(panel.recognizer.expire(at: due - .milliseconds(1)) == [])
        #expect(panel.recognizer.expire(at: due) == [.longPress(x: 0.5, y: 0.5)])
        #expect(panel.recognizer.nextDeadline == nil && panel.recognizer.expire(at: due + .seconds(9)) == [])
        #expect(panel.report(800, []) == [])
    }

    @Test func lostEventsSpoilOnlyTheGestureAtHand() {
        var panel = Panel()
        let finger = [Self.finger(0, 0.5, 0.5)]
        #expect(panel.report(0, finger) == [])
        #expect(panel.lose(20, touching: finger) == [])
        #expect(panel.report(50, []) == [])
        #expect(panel.report(150, finger) == [])
        #expect(panel.report(200, []) == [Self.tap(0.5)])
        // With nothing touching, the next touch is a new one.
        #expect(panel.lose(210, touching: []) == [])
        #expect(panel.report(1000, finger) == [])
        #expect(panel.report(1050, []) == [Self.tap(0.5)])
    }

    /// A cancelled finger completes no gesture, and is no second finger either.
    @Test func aCancelledFingerIsGone() {
        var panel = Panel()
        #expect(panel.report(0, [Self.finger(0, 0.2, 0.5), Self.finger(1, 0.4, 0.5)]) == [])
        #expect(panel.lose(30, touching: []) == [])
        #expect(panel.report(40, [Self.finger(2, 0.5, 0.5)]) == [])
        #expect(panel.report(90, []) == [Self.tap(0.5)])
    }

    /// The picture's top left is at another corner of the panel for each rotation: top left, top right, bottom right, bottom left.
    @Test(arguments: zip(Rotation.allCases, [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]))
    func touchTurnsWithThePicture(rotation: Rotation, panel: (Double, Double)) {
        #expect(Self.finger(3, panel.0, panel.1).upright(rotation) == Self.finger(3, 0, 0))
        #expect(Self.finger(3, 0.5, 0.5).upright(rotation) == Self.finger(3, 0.5, 0.5))
    }

    /// A stroke to the right for a viewer of the turned picture.
    @Test(
        arguments: zip(
            Rotation.allCases, [((0.2, 0.5), (0.5, 0.5)), ((0.5, 0.2), (0.5, 0.5)), ((0.8, 0.5), (0.5, 0.5)), ((0.5, 0.8), (0.5, 0.5))]))
    func aSwipeIsWhatTheViewerSees(rotation: Rotation, stroke: ((Double, Double), (Double, Double))) {
        var panel = Panel()
        #expect(panel.report(0, [Self.finger(0, stroke.0.0, stroke.0.1).upright(rotation)]) == [])
        _ = panel.report(100, [Self.finger(0, stroke.1.0, stroke.1.1).upright(rotation)])
        #expect(panel.report(110, []).last == .swipe(steps: 1))
    }
}
