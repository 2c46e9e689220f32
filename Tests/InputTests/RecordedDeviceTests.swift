import CKioskEvdev
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskInputCore

/// The events of each kind of device for taps, swipes and palms, and the resulting contacts and gestures.
@Suite struct RecordedDeviceTests {
    /// A projected-capacitive panel with protocol B, 12 bits an axis, which also reports the position of a single finger.
    private static func panel(_ recording: String, palms: Bool = false) -> RecordedDevice {
        var axes: [RecordedDevice.Axis] = [
            ("ABS_X", 0, 4095, 0), ("ABS_Y", 0, 4095, 0), ("ABS_MT_SLOT", 0, 9, 0), ("ABS_MT_POSITION_X", 0, 4095, 0),
            ("ABS_MT_POSITION_Y", 0, 4095, 0), ("ABS_MT_TRACKING_ID", 0, 65535, 0),
        ]
        if palms { axes += [("ABS_MT_TOOL_TYPE", 0, 2, 0), ("ABS_MT_TOUCH_MAJOR", 0, 255, 0), ("ABS_MT_PRESSURE", 0, 255, 0)] }
        return RecordedDevice(
            name: "ILITEK ILITEK-TP", properties: [INPUT_PROP_DIRECT], axes: axes, keys: ["BTN_TOUCH"], recording: recording)
    }

    private static let tap = """
        0 ABS_MT_TRACKING_ID=45 ABS_MT_POSITION_X=2048 ABS_MT_POSITION_Y=1024 BTN_TOUCH=1 ABS_X=2048 ABS_Y=1024
        12 ABS_MT_POSITION_X=2050 ABS_X=2050
        76 ABS_MT_TRACKING_ID=-1 BTN_TOUCH=0
        """

    @Test func protocolB() throws {
        let told = try Self.panel(Self.tap).play()
        #expect(told.contacts == ["down 45 0.50 0.25", "move 45 0.50 0.25", "up 45 0.50 0.25"])
        #expect(told.events.map(\.time.nanoseconds).last == 76_000_000, "the kernel's time")
        guard case .tap(let x, let y) = told.gestures.first else { return #expect(Bool(false), "no tap") }
        #expect(told.gestures.count == 1 && abs(x - 0.5) < 0.001 && abs(y - 0.25) < 0.001)
    }

    @Test func protocolBWithTwoFingers() throws {
        let told = try Self.panel(
            """
            0 ABS_MT_SLOT=0 ABS_MT_TRACKING_ID=1 ABS_MT_POSITION_X=1000 ABS_MT_POSITION_Y=2000 BTN_TOUCH=1
            30 ABS_MT_SLOT=1 ABS_MT_TRACKING_ID=2 ABS_MT_POSITION_X=2000 ABS_MT_POSITION_Y=2000
            90 ABS_MT_SLOT=0 ABS_MT_TRACKING_ID=-1
            95 ABS_MT_SLOT=1 ABS_MT_TRACKING_ID=-1 BTN_TOUCH=0
            """
        ).play()
        #expect(told.contacts == ["down 1 0.24 0.49", "down 2 0.49 0.49", "up 1 0.24 0.49", "up 2 0.49 0.49"])
        #expect(told.gestures.map(\.name) == [.twoFingerTap])
    }

    /// A drop of water stays while a viewer taps. After half a minute it stops counting, and taps act again.
    @Test func aContactThatNeverEnds() throws {
        let told = try Self.panel(
            """
            0 ABS_MT_SLOT=0 ABS_MT_TRACKING_ID=1 ABS_MT_POSITION_X=300 ABS_MT_POSITION_Y=3000 BTN_TOUCH=1
            5000 ABS_MT_SLOT=1 ABS_MT_TRACKING_ID=2 ABS_MT_POSITION_X=2000 ABS_MT_POSITION_Y=2000
            5080 ABS_MT_TRACKING_ID=-1
            31000 ABS_MT_TRACKING_ID=3 ABS_MT_POSITION_X=2000 ABS_MT_POSITION_Y=2000
            31080 ABS_MT_TRACKING_ID=-1
            """
        ).play()
        #expect(
            told.contacts == [
                "down 1 0.07 0.73", "down 2 0.49 0.49", "up 2 0.49 0.49", "cancelled 1 0.07 0.73", "down 3 0.49 0.49", "up 3 0.49 0.49",
            ])
        #expect(told.gestures.map(\.name) == [.longPress, .tap])
    }

    @Test func palms() throws {
        let tool = try Self.panel(
            """
            0 ABS_MT_TRACKING_ID=1 ABS_MT_POSITION_X=1000 ABS_MT_POSITION_Y=2000 ABS_MT_TOOL_TYPE=0
            30 ABS_MT_TOOL_TYPE=2
            60 ABS_MT_TRACKING_ID=-1
            """, palms: true
        ).play()
        #expect(tool.contacts == ["down 1 0.24 0.49", "cancelled 1 0.24 0.49"] && tool.gestures.isEmpty)
        // The first touch shows that the panel measures the size of a contact.
        let large = try Self.panel(
            """
            0 ABS_MT_TRACKING_ID=1 ABS_MT_POSITION_X=1000 ABS_MT_POSITION_Y=2000 ABS_MT_TOUCH_MAJOR=30 ABS_MT_PRESSURE=60
            80 ABS_MT_TRACKING_ID=-1
            1000 ABS_MT_TRACKING_ID=2 ABS_MT_POSITION_X=2000 ABS_MT_POSITION_Y=2000 ABS_MT_TOUCH_MAJOR=250 ABS_MT_PRESSURE=60
            1080 ABS_MT_TRACKING_ID=-1
            2000 ABS_MT_TRACKING_ID=3 ABS_MT_POSITION_X=2000 ABS_MT_POSITION_Y=2000 ABS_MT_TOUCH_MAJOR=40 ABS_MT_PRESSURE=255
            2080 ABS_MT_TRACKING_ID=-1
            """, palms: true
        ).play()
        #expect(large.contacts == ["down 1 0.24 0.49", "up 1 0.24 0.49"] && large.gestures.map(\.name) == [.tap])
        // A constant value tells nothing.
        let constant = try Self.panel(
            """
            0 ABS_MT_TRACKING_ID=1 ABS_MT_POSITION_X=1000 ABS_MT_POSITION_Y=2000 ABS_MT_TOUCH_MAJOR=255 ABS_MT_PRESSURE=255
            80 ABS_MT_TRACKING_ID=-1
            """, palms: true
        ).play()
        #expect(constant.gestures.map(\.name) == [.tap])
    }

    /// Interference: contacts of some milliseconds in several places.
    @Test func ghosts() throws {
        let told = try Self.panel(
            """
            0 ABS_MT_TRACKING_ID=1 ABS_MT_POSITION_X=10 ABS_MT_POSITION_Y=20
            8 ABS_MT_TRACKING_ID=-1
            100 ABS_MT_TRACKING_ID=2 ABS_MT_POSITION_X=4000 ABS_MT_POSITION_Y=20
            104 ABS_MT_TRACKING_ID=-1
            105 ABS_MT_TRACKING_ID=3 ABS_MT_POSITION_X=500 ABS_MT_POSITION_Y=3000
            111 ABS_MT_TRACKING_ID=-1
            """
        ).play()
        #expect(told.gestures.isEmpty)
        #expect(told.contacts.filter { $0.hasPrefix("up") }.isEmpty && told.contacts.count == 6)
    }

    /// A resistive panel with one position and a button. It has 10 bits an axis, and unusual limits.
    private static func single(_ recording: String, udev: [String: String] = [:]) -> RecordedDevice {
        RecordedDevice(
            name: "eGalax Inc. USB TouchController", properties: [],
            axes: [("ABS_X", 40, 1000, 0), ("ABS_Y", 1000, 3000, 0), ("ABS_PRESSURE", 0, 255, 0)], keys: ["BTN_TOUCH"], udev: udev,
            recording: recording)
    }

    @Test func singleTouch() throws {
        let told = try Self.single(
            """
            0 ABS_X=520 ABS_Y=2000 ABS_PRESSURE=120 BTN_TOUCH=1
            40 ABS_X=521
            80 ABS_PRESSURE=0 BTN_TOUCH=0
            1000 ABS_X=136 ABS_Y=2000 BTN_TOUCH=1
            1060 ABS_X=400
            1120 ABS_X=520
            1140 BTN_TOUCH=0
            """
        ).play()
        #expect(told.contacts.prefix(3) == ["down 0 0.50 0.50", "move 0 0.50 0.50", "up 0 0.50 0.50"])
        #expect(told.meant.map(\.name) == [.tap, .swipeRight])
        #expect(told.meant.last == .swipe(steps: 2))
    }

    /// A pen tablet with a display hovers before it touches. The button on the pen's side is no touch.
    @Test func pen() throws {
        let told = try RecordedDevice(
            name: "Wacom Cintiq 16 Pen", properties: [INPUT_PROP_DIRECT],
            axes: [("ABS_X", 0, 69632, 200), ("ABS_Y", 0, 39518, 200), ("ABS_PRESSURE", 0, 8191, 0), ("ABS_DISTANCE", 0, 63, 0)],
            keys: ["BTN_TOOL_PEN", "BTN_TOUCH", "BTN_STYLUS"],
            recording: """
                0 ABS_X=34816 ABS_Y=19759 ABS_DISTANCE=20 BTN_TOOL_PEN=1
                20 BTN_STYLUS=1
                30 BTN_STYLUS=0
                50 ABS_DISTANCE=0 ABS_PRESSURE=800 BTN_TOUCH=1
                120 ABS_PRESSURE=0 BTN_TOUCH=0
                200 BTN_TOOL_PEN=0
                """
        ).play()
        #expect(told.contacts == ["down 0 0.50 0.50", "up 0 0.50 0.50"])
        #expect(told.gestures == [.tap(x: 0.5, y: 0.5)])
    }

    /// The tablet of a virtual machine: it reports positions all the time, and a left button. A program may click it very fast.
    @Test func absoluteMouse() throws {
        let device = RecordedDevice(
            name: "QEMU QEMU USB Tablet", axes: [("ABS_X", 0, 32767, 0), ("ABS_Y", 0, 32767, 0)],
            keys: ["BTN_LEFT", "BTN_RIGHT", "BTN_MIDDLE"], relative: ["REL_WHEEL"],
            recording: """
                0 ABS_X=8192 ABS_Y=16384
                10 BTN_LEFT=1
                12 BTN_LEFT=0
                500 BTN_RIGHT=1
                600 BTN_RIGHT=0
                700 REL_WHEEL=-2
                """)
        let told = try device.play()
        #expect(told.contacts == ["down 0 0.25 0.50", "up 0 0.25 0.50"] && told.gestures.map(\.name) == [.tap])
        let turned = told.events.compactMap { event -> KeyEvent.Phase? in
            if case .key(let event) = event, event.key == .dialDown { event.phase } else { nil }
        }
        #expect(turned == [.press, .release, .press, .release])
        #expect(try device.open(keys: [.dialUp]).abilities.keys == [.dialUp])
    }

    /// An old driver without slots: each report has all fingers, but not which is which.
    private static func anonymous(_ recording: String) -> RecordedDevice {
        RecordedDevice(
            name: "usbtouchscreen", properties: [INPUT_PROP_DIRECT],
            axes: [("ABS_MT_POSITION_X", 0, 1000, 0), ("ABS_MT_POSITION_Y", 0, 1000, 0), ("ABS_MT_TOUCH_MAJOR", 0, 255, 0)],
            keys: ["BTN_TOUCH"], recording: recording)
    }

    @Test func protocolA() throws {
        let told = try Self.anonymous(
            """
            0 ABS_MT_POSITION_X=200 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            20 ABS_MT_POSITION_X=250 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            60 ABS_MT_POSITION_X=400 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            80 SYN_MT_REPORT
            """
        ).play()
        #expect(told.contacts == ["down 0 0.20 0.50", "move 0 0.25 0.50", "move 0 0.40 0.50", "up 0 0.40 0.50"])
        #expect(told.meant == [.swipe(steps: 1)])
    }

    /// Two fingers whose order in the report changes. The first to come is the first to go.
    @Test func protocolAWithTwoFingers() throws {
        let told = try Self.anonymous(
            """
            0 ABS_MT_POSITION_X=200 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            20 ABS_MT_POSITION_X=205 ABS_MT_POSITION_Y=500 SYN_MT_REPORT ABS_MT_POSITION_X=600 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            40 ABS_MT_POSITION_X=605 ABS_MT_POSITION_Y=500 SYN_MT_REPORT ABS_MT_POSITION_X=210 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            60 ABS_MT_POSITION_X=606 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            80 BTN_TOUCH=0
            """
        ).play()
        #expect(
            told.contacts == [
                "down 0 0.20 0.50", "move 0 0.21 0.50", "down 1 0.60 0.50", "move 1 0.61 0.50", "move 0 0.21 0.50", "up 0 0.21 0.50",
                "move 1 0.61 0.50", "up 1 0.61 0.50",
            ])
        #expect(told.gestures.map(\.name) == [.twoFingerTap])
    }

    /// A finger where another has just gone is a new one. A report without contacts changes nothing.
    @Test func protocolAWithOthers() throws {
        let told = try Self.anonymous(
            """
            0 ABS_MT_POSITION_X=200 ABS_MT_POSITION_Y=500 SYN_MT_REPORT BTN_TOUCH=1
            10 ABS_MT_TOUCH_MAJOR=20
            60 ABS_MT_POSITION_X=800 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            120 ABS_MT_POSITION_X=800 ABS_MT_POSITION_Y=500 ABS_MT_TOUCH_MAJOR=0 SYN_MT_REPORT
            """
        ).play()
        #expect(told.contacts == ["down 0 0.20 0.50", "up 0 0.20 0.50", "down 1 0.80 0.50", "up 1 0.80 0.50"])
    }

    @Test func protocolAThatTracks() throws {
        var device = Self.anonymous(
            """
            0 ABS_MT_TRACKING_ID=7 ABS_MT_POSITION_X=200 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            20 ABS_MT_TRACKING_ID=7 ABS_MT_POSITION_X=900 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            40 ABS_MT_TRACKING_ID=8 ABS_MT_POSITION_X=900 ABS_MT_POSITION_Y=500 SYN_MT_REPORT
            """)
        device.axes.append(("ABS_MT_TRACKING_ID", 0, 15, 0))
        #expect(try device.play().contacts == ["down 7 0.20 0.50", "move 7 0.90 0.50", "up 7 0.90 0.50", "down 8 0.90 0.50"])
    }

    /// Infrared and HDMI-CEC remote controls, and GPIO buttons: kiosk reads their keys only, and ignores switches.
    @Test func remotesAndButtons() throws {
        let keys = try Set(["OK", "UP", "NUMERIC_1", "PLAYPAUSE"].map { try KeyCode(named: $0) })
        // An rc device has the axes of a pointing stick besides its keys.
        let infrared = RecordedDevice(
            name: "gpio_ir_recv", properties: [INPUT_PROP_POINTING_STICK], keys: ["KEY_OK", "KEY_UP", "KEY_NUMERIC_1", "KEY_RED"],
            relative: ["REL_X", "REL_Y"],
            recording: """
                0 KEY_UP=1
                500 KEY_UP=2
                625 KEY_UP=2
                750 KEY_UP=0
                """)
        let remote = try infrared.open(keys: keys).abilities
        #expect(remote.isUsed && remote.isGrabbed && remote.contacts == .none)
        #expect(remote.keys.count == 3)
        let phases = try infrared.play(keys: keys).events.compactMap { event -> KeyEvent.Phase? in
            if case .key(let event) = event { event.phase } else { nil }
        }
        #expect(phases == [.press, .repeat, .repeat, .release])

        let buttons = RecordedDevice(
            name: "gpio-keys", keys: ["KEY_PLAYPAUSE"], recording: "0 KEY_PLAYPAUSE=1\n90 KEY_PLAYPAUSE=0\n100 SW_LID=1\n")
        #expect(try buttons.open(keys: keys).abilities.isGrabbed)
        #expect(try buttons.play(keys: keys).events.count == 2)
        let lid = RecordedDevice(name: "Lid Switch", recording: "")
        #expect(try !lid.open(keys: keys).abilities.isUsed)
    }

    /// Swapped and mirrored axes, corrected by udev's property, and a rotated picture on top.
    @Test func calibration() throws {
        let turned = ["LIBINPUT_CALIBRATION_MATRIX": "0 -1 1 1 0 0"]
        let touch = "0 ABS_X=136 ABS_Y=1200 BTN_TOUCH=1\n60 BTN_TOUCH=0\n"
        #expect(try Self.single(touch).play().contacts.first == "down 0 0.10 0.10")
        #expect(try Self.single(touch, udev: turned).play().contacts.first == "down 0 0.90 0.10")
        #expect(try Self.single(touch, udev: turned).play(rotation: .clockwise90).contacts.first == "down 0 0.10 0.10")
        #expect(try Self.single(touch, udev: ["LIBINPUT_CALIBRATION_MATRIX": "1 2 3"]).play().contacts.first == "down 0 0.10 0.10")
        // The panel uses a part of its range. The matrix stretches it, and positions beyond stay at the edge.
        let stretched = ["LIBINPUT_CALIBRATION_MATRIX": "4 0 -1.5 0 1 0"]
        #expect(try Self.single("0 ABS_X=520 ABS_Y=2000 BTN_TOUCH=1", udev: stretched).play().contacts == ["down 0 0.50 0.50"])
        #expect(try Self.single("0 ABS_X=280 ABS_Y=2000 BTN_TOUCH=1", udev: stretched).play().contacts == ["down 0 0.00 0.50"])
    }

    /// A driver that reports no ranges.
    @Test func noRange() throws {
        let device = RecordedDevice(
            name: "serial", axes: [("ABS_X", 0, 0, 0), ("ABS_Y", 0, 0, 0)], keys: ["BTN_TOUCH"],
            recording: "0 ABS_X=2048 ABS_Y=4095 BTN_TOUCH=1")
        #expect(try device.play().contacts == ["down 0 0.50 1.00"])
    }
}
