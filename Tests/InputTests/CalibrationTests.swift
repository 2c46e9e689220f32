import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskInputCore

@Suite struct CalibrationTests {
    /// The meanings of matrices in libinput's documentation, and the place of the panel's top left for each.
    @Test(arguments: [
        ("1 0 0 0 1 0", 0.0, 0.0), ("0 -1 1 1 0 0", 1, 0), ("-1 0 1 0 -1 1", 1, 1), ("0 1 0 -1 0 1", 0, 1), ("-1 0 1 0 1 0", 1, 0),
    ])
    func meaning(_ text: String, _ x: Double, _ y: Double) throws {
        let matrix = try #require(CalibrationMatrix(text))
        #expect(matrix.apply(0, 0) == (x, y))
        #expect(matrix.description == text)
    }

    @Test(arguments: [
        "", "1 0 0 0 1", "1 0 0 0 1 0 0", "a b c d e f", "0 0 0 0 0 0", "1 1 0 1 1 0", "nan 0 0 0 1 0", "inf 0 0 0 1 0", "1e9 0 0 0 1 0",
    ])
    func whatIsNoMatrix(_ text: String) { #expect(CalibrationMatrix(text) == nil) }

    @Test func blanksAndDecimals() { #expect(CalibrationMatrix(" 1.25  0 -0.125\t0 1 0 ")?.description == "1.25 0 -0.125 0 1 0") }

    private static let targets: [(x: Double, y: Double)] = [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9), (0.5, 0.5)]

    /// Panels with every kind of fault. The fit of their reports inverts the fault.
    @Test(arguments: [
        "1 0 0 0 1 0", "0 1 0 1 0 0", "-1 0 1 0 1 0", "0 -1 1 1 0 0", "0.25 0 0.5 0 0.5 0.1", "0.9 0.05 0.02 -0.04 1.1 -0.03",
    ])
    func fit(_ fault: String) throws {
        let panel = try #require(CalibrationMatrix(fault))
        let samples = Self.targets.map { CalibrationMatrix.Sample(reported: panel.apply($0.x, $0.y), target: $0) }
        let matrix = try #require(CalibrationMatrix(fitting: samples))
        #expect(matrix.largestError(of: samples) < 1e-9)
        for place in [(0.0, 0.0), (1.0, 0.0), (0.3, 0.7)] {
            let reported = panel.apply(place.0, place.1)
            let found = matrix.apply(reported.x, reported.y)
            #expect(abs(found.x - place.0) < 1e-9 && abs(found.y - place.1) < 1e-9)
        }
    }

    /// Fingers are not exact. The fit spreads errors of a hundredth, and shows a touch in a wrong place.
    @Test func errors() throws {
        let jitter = [(0.01, -0.01), (-0.01, 0.005), (0.008, 0.01), (-0.005, -0.01), (0.0, 0.008)]
        var samples = zip(Self.targets, jitter).map { target, off in
            CalibrationMatrix.Sample(reported: (target.x + off.0, target.y + off.1), target: target)
        }
        #expect(try #require(CalibrationMatrix(fitting: samples)).largestError(of: samples) < 0.02)
        samples[2] = CalibrationMatrix.Sample(reported: (0.3, 0.2), target: (0.9, 0.9))
        #expect(try #require(CalibrationMatrix(fitting: samples)).largestError(of: samples) > 0.1)
    }

    @Test func whatDoesNotDecide() {
        func samples(_ places: [(x: Double, y: Double)]) -> [CalibrationMatrix.Sample] {
            places.map { CalibrationMatrix.Sample(reported: $0, target: $0) }
        }
        #expect(CalibrationMatrix(fitting: []) == nil)
        #expect(CalibrationMatrix(fitting: samples([(0.1, 0.1), (0.9, 0.9)])) == nil)
        #expect(CalibrationMatrix(fitting: samples([(0.1, 0.1), (0.5, 0.5), (0.9, 0.9)])) == nil, "on a line")
        #expect(
            CalibrationMatrix(fitting: samples([(0.5, 0.5), (0.5, 0.5), (0.5, 0.5), (0.5, 0.5)])) == nil, "a panel that says one place")
        #expect(CalibrationMatrix(fitting: samples([(0.1, 0.1), (0.9, 0.1), (0.9, 0.9)])) == .identity)
    }

    @Test func rule() throws {
        #expect(
            CalibrationMatrix.identity.udevRule(deviceName: "TP", place: "usb-1/input0")
                == "ACTION!=\"remove\", SUBSYSTEM==\"input\", KERNEL==\"event[0-9]*\", ATTRS{name}==\"TP\", "
                + "ATTRS{phys}==\"usb-1/input0\", ENV{LIBINPUT_CALIBRATION_MATRIX}=\"1 0 0 0 1 0\"")
        #expect(
            try #require(CalibrationMatrix("0 -1 1 1 0 0")).udevRule(deviceName: "ILITEK \"TP\" [1]*")
                == "ACTION!=\"remove\", SUBSYSTEM==\"input\", KERNEL==\"event[0-9]*\", ATTRS{name}==\"ILITEK ?TP? ?1??\", "
                + "ENV{LIBINPUT_CALIBRATION_MATRIX}=\"0 -1 1 1 0 0\"")
        // A name must not add a rule of its own, which root would execute.
        let hostile = CalibrationMatrix.identity.udevRule(deviceName: "TP\"\r\nRUN+=\"/bin/sh\n\u{7}", place: "usb\n1")
        #expect(!hostile.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(hostile)")
        #expect(hostile.contains("ATTRS{name}==\"TP???RUN+=?/bin/sh??\", ATTRS{phys}==\"usb?1\""), "\(hostile)")
    }
}

/// Runs of touched targets, on panels with faults.
@Suite struct CalibrationRunTests {
    private static func lift(
        _ x: Double, _ y: Double, device: Int = 0, phase: ContactEvent.Phase = .up, surface: Contact.Surface = .display
    )
        -> ContactEvent
    {
        ContactEvent(
            device: DeviceID(rawValue: device), contact: Contact(slot: 0, id: 1, x: x, y: y, surface: surface), phase: phase,
            time: HostTime(nanoseconds: 1))
    }

    /// A viewer touches the targets on the screen, and the panel reports them with its fault. The resulting matrix corrects it for every
    /// rotation of the picture.
    @Test(arguments: Rotation.allCases, ["1 0 0 0 1 0", "0 1 0 1 0 0", "-1 0 1 0 1 0", "0.5 0 0.25 0 0.9 0.05"])
    func found(rotation: Rotation, fault: String) throws {
        let panel = try #require(CalibrationMatrix(fault))
        var calibration = Calibration(rotation: rotation)
        var outcomes: [Calibration.Outcome] = []
        for _ in Calibration.targets {
            // The target's place on the display.
            let target = calibration.target
            let glass = [(target.x, target.y), (1 - target.y, target.x), (1 - target.x, 1 - target.y), (target.y, 1 - target.x)][
                rotation.rawValue / 90]
            let upright = Contact(slot: 0, id: 1, x: glass.0, y: glass.1, surface: .display).upright(rotation)
            #expect(abs(upright.x - target.x) < 1e-9 && abs(upright.y - target.y) < 1e-9)
            let reported = panel.apply(glass.0, glass.1)
            #expect(calibration.update(Self.lift(reported.x, reported.y, phase: .down)) == .ignored)
            outcomes.append(calibration.update(Self.lift(reported.x, reported.y)))
        }
        #expect(outcomes.dropLast() == [.next, .next, .next, .next])
        guard case .found(let matrix, let device) = outcomes.last else { return #expect(Bool(false), "nothing found") }
        #expect(device == DeviceID(rawValue: 0))
        let reported = panel.apply(0.2, 0.7)
        let place = matrix.apply(reported.x, reported.y)
        #expect(abs(place.x - 0.2) < 1e-6 && abs(place.y - 0.7) < 1e-6)
    }

    @Test func whatDoesNotCount() {
        var calibration = Calibration(rotation: .none)
        #expect(
            calibration.update(Self.lift(0.5, 0.5, surface: .touchpad)) == .ignored
                && calibration.update(Self.lift(0.5, 0.5, surface: .mouse)) == .ignored)
        #expect(calibration.update(Self.lift(0.1, 0.1, phase: .cancelled)) == .ignored && calibration.count == 0)
        #expect(calibration.update(Self.lift(0.1, 0.1, device: 2)) == .next)
        #expect(calibration.update(Self.lift(0.9, 0.1, device: 1)) == .ignored, "another screen")
        #expect(calibration.update(Self.lift(0.12, 0.12, device: 2)) == .ignored, "the same place")
        #expect(calibration.count == 1 && calibration.target == (0.9, 0.1))
    }

    @Test func wrongPlacesBeginAgain() {
        var calibration = Calibration(rotation: .none)
        let places = [(0.1, 0.1), (0.9, 0.1), (0.3, 0.2), (0.1, 0.9), (0.5, 0.5)]
        let outcomes = places.map { calibration.update(Self.lift($0.0, $0.1)) }
        #expect(outcomes.last == .startedAgain && calibration.count == 0 && calibration.device == nil)
        #expect(calibration.target == Calibration.targets[0])
    }
}

@Suite struct DisplayMapTests {
    private let map = DisplayMap([
        ("ILITEK Multi", .named("HDMI-A-1", card: nil)), ("ILITEK", .named("HDMI-A-2", card: "card1")), ("panel", .framebuffer("/dev/fb0")),
    ])

    @Test func whichDisplay() {
        #expect(map.connector(of: "ILITEK Multi-Touch V3000", output: nil) == .named("HDMI-A-1", card: nil), "the first that fits")
        #expect(map.connector(of: "my ilitek tp", output: "DSI-1") == .named("HDMI-A-2", card: "card1"), "before what udev says")
        #expect(map.connector(of: "eGalax", output: "DSI-1") == .named("DSI-1", card: nil))
        #expect(map.connector(of: "eGalax", output: nil) == nil && map.connector(of: "eGalax", output: "?") == nil)
    }

    struct Row: Sendable {
        var device: String
        var output: String?
        var present: String?
        var isOurs: Bool
    }

    @Test(arguments: [
        Row(device: "ILITEK Multi", present: "HDMI-A-1", isOurs: true), Row(device: "ILITEK Multi", present: "HDMI-A-2", isOurs: false),
        Row(device: "ILITEK", present: "HDMI-A-2", isOurs: true), Row(device: "ILITEK", present: "card1:HDMI-A-2", isOurs: true),
        Row(device: "ILITEK", present: "card0:HDMI-A-2", isOurs: false), Row(device: "ILITEK", present: "offscreen", isOurs: false),
        Row(device: "panel", present: "/dev/fb0", isOurs: true), Row(device: "panel", present: "/dev/fb1", isOurs: false),
        Row(device: "eGalax", present: "HDMI-A-1", isOurs: true),
        Row(device: "eGalax", output: "DSI-1", present: "HDMI-A-1", isOurs: false),
        Row(device: "eGalax", output: "DSI-1", present: "DSI-1", isOurs: true),
        Row(device: "eGalax", output: "auto", present: "DSI-1", isOurs: true),
        Row(device: "ILITEK", isOurs: true),
    ])
    func isOurs(_ row: Row) {
        #expect(map.isOurs(row.device, output: row.output, present: row.present.flatMap(DisplayConnector.init)) == row.isOurs)
    }
}
