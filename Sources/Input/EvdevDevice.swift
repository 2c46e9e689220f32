import CKioskEvdev
import CKioskInput
import Glibc
import KioskPlatform
import KioskVocabulary
import Logging

/// An open evdev node. The corresponding C type is `struct libevdev`. Belongs to one thread.
///
/// libevdev keeps the state of keys and slots as of the last event read; ``isHeld(_:)`` and ``modifiers()`` read it. ``contacts()`` returns
/// those of the last report.
struct EvdevDevice: ~Copyable {
    let path: String
    let name: String
    /// Its place on the bus: `usb-0000:00:14.0-1/input0`.
    let place: String
    /// Its name, place and serial number, separated by blanks: these distinguish it from other devices.
    let identity: String
    /// The vendor and product that the device reports: the ids of USB devices.
    let vendor: UInt16, product: UInt16
    let abilities: DeviceAbilities
    private let node: Descriptor
    var descriptor: Int32 { node.raw }
    private var reported: [Contact] = []
    /// The matrix in udev's property LIBINPUT_CALIBRATION_MATRIX.
    var calibration = CalibrationMatrix.identity
    private let device: OpaquePointer
    private var anonymous: AnonymousContacts
    private var palms: PalmFilter

    /// Why a node does not open. `errno` is positive.
    struct OpenError: Error, Hashable, CustomStringConvertible {
        var path: String
        var errno: Int32

        var description: String {
            switch errno {
            case EACCES, EPERM: "no permission to open \(path); add the user to the group input"
            default: "cannot open \(path): \(SystemError(errno))"
            }
        }
    }

    /// Its properties for `[input] allow`.
    var lockDevice: InputLock.Device { InputLock.Device(identity: identity, place: place, vendor: vendor, product: product) }

    /// Opens a node without blocking; its events carry the time of CLOCK_MONOTONIC. `keys` are the keys of interest.
    ///
    /// - Throws: the error of open(2) or libevdev, with the path.
    static func open(_ path: String, keys: Set<KeyCode>) throws(OpenError) -> EvdevDevice {
        guard let node = Descriptor(opening: path, O_RDONLY | O_NONBLOCK) else { throw OpenError(path: path, errno: errno) }
        var device: OpaquePointer?
        var result = libevdev_new_from_fd(node.raw, &device)
        if result == 0 { result = libevdev_set_clock_id(device, CLOCK_MONOTONIC) }
        guard result == 0, let device else {
            libevdev_free(device)
            throw OpenError(path: path, errno: -result)
        }
        return EvdevDevice(path: path, node: node, device: device, keys: keys)
    }

    /// Creates a device from libevdev's, which this value frees; `node` is open, or none.
    init(path: String, node: consuming Descriptor, device: OpaquePointer, keys: Set<KeyCode>) {
        self.path = path
        self.node = node
        self.device = device
        name = String(cString: libevdev_get_name(device))
        place = libevdev_get_phys(device).map { String(cString: $0) } ?? ""
        let serial = libevdev_get_uniq(device).map { String(cString: $0) } ?? ""
        identity = [name, place, serial].filter { !$0.isEmpty }.joined(separator: " ")
        vendor = UInt16(truncatingIfNeeded: libevdev_get_id_vendor(device))
        product = UInt16(truncatingIfNeeded: libevdev_get_id_product(device))
        abilities = DeviceAbilities(device, keys: keys)
        func has(_ code: Int32) -> Bool { libevdev_has_event_code(device, UInt32(EV_ABS), UInt32(code)) != 0 }
        func maximum(_ code: Int32) -> Int32 { libevdev_get_abs_maximum(device, UInt32(code)) }
        func width(_ code: Int32) -> Int32 {
            maximum(code).subtractingReportingOverflow(libevdev_get_abs_minimum(device, UInt32(code))).partialValue
        }
        anonymous = AnonymousContacts(width: width(ABS_MT_POSITION_X), height: width(ABS_MT_POSITION_Y))
        // Sizes are in the units of positions; some drivers report a resolution of their own for them.
        let resolutions = [ABS_MT_TOUCH_MAJOR, ABS_MT_POSITION_X].map { libevdev_get_abs_resolution(device, UInt32($0)) }
        palms = PalmFilter(
            PalmFilter.Ranges(
                majorMaximum: has(ABS_MT_TOUCH_MAJOR) ? maximum(ABS_MT_TOUCH_MAJOR) : nil,
                majorUnitsPerMillimetre: resolutions.first { $0 > 0 }.map(Double.init),
                pressureMaximum: has(ABS_MT_PRESSURE) ? maximum(ABS_MT_PRESSURE) : nil))
    }

    deinit { libevdev_free(device) }

    /// Keeps the device's events from everybody else (the console, a shell), or gives them back. Returns false if another process has them.
    /// The corresponding C function is `libevdev_grab`.
    func grab(_ isGrabbed: Bool) -> Bool {
        libevdev_grab(device, isGrabbed ? LIBEVDEV_GRAB : LIBEVDEV_UNGRAB) == 0
    }

    /// An event of a device.
    enum Event: Equatable {
        case key(KeyCode, KeyEvent.Phase, HostTime)
        /// A knob or a wheel turns by this number of notches, at most ``EvdevDevice/mostNotches``.
        case notches(KeyCode, count: Int, HostTime)
        /// Positions and buttons are complete as of this time (SYN_REPORT): ``EvdevDevice/contacts()`` is up to date.
        case report(HostTime)
        /// The kernel's queue overflowed at this time and events are missing (SYN_DROPPED). The state is up to date.
        case lost(HostTime)
    }

    /// Returns the next event with the kernel's time; nil if there is none now. The corresponding C function is `libevdev_next_event`.
    ///
    /// - Throws: an error if the device is gone.
    mutating func next() throws(OpenError) -> Event? {
        while true {
            var event = input_event()
            var status = libevdev_next_event(device, UInt32(LIBEVDEV_READ_FLAG_NORMAL.rawValue), &event)
            let time = HostTime(event.time)
            if status == Int32(LIBEVDEV_READ_STATUS_SYNC.rawValue) {
                // libevdev now holds the difference between the reported and the actual state; reading it updates libevdev's own state.
                repeat {
                    status = libevdev_next_event(device, UInt32(LIBEVDEV_READ_FLAG_SYNC.rawValue), &event)
                } while status == Int32(LIBEVDEV_READ_STATUS_SYNC.rawValue)
                reported = touching()
                return .lost(time)
            }
            if status == -EAGAIN { return nil }
            if status == -EINTR { continue }
            guard status >= 0 else { throw OpenError(path: path, errno: -status) }
            if let told = take(event) { return told }
        }
    }

    /// The udev properties of interest.
    static let calibrationProperty = "LIBINPUT_CALIBRATION_MATRIX"
    static let outputProperty = "WL_OUTPUT"
    static let propertyNames = [calibrationProperty, outputProperty]

    /// Takes the calibration from udev's properties of the device.
    mutating func calibrate(by properties: [String: String]) {
        guard let text = properties[Self.calibrationProperty] else { return }
        if let matrix = CalibrationMatrix(text) {
            calibration = matrix
            log.info("\(path): calibration matrix \(matrix)")
        } else {
            log.warning("\(path): \(Self.calibrationProperty) is not six numbers that make a usable matrix: \(text)")
        }
    }

    /// Larger turns are clamped to this.
    static let mostNotches = 10

    /// Returns the meaning of an event that libevdev has taken into its state; nil if it has none yet.
    mutating func take(_ event: input_event) -> Event? {
        let time = HostTime(event.time)
        let (type, code) = (Int32(event.type), Int32(event.code))
        if abilities.contacts == .anonymous { anonymous.take(type: type, code: code, value: event.value) }
        switch (type, code) {
        case (EV_KEY, _): return KeyEvent.Phase(rawValue: event.value).map { .key(KeyCode(rawValue: event.code), $0, time) }
        case (EV_REL, REL_DIAL), (EV_REL, REL_WHEEL):
            guard event.value != 0 else { return nil }
            return .notches(event.value > 0 ? .dialUp : .dialDown, count: Int(min(event.value.magnitude, UInt32(Self.mostNotches))), time)
        case (EV_SYN, SYN_REPORT):
            anonymous.endReport()
            reported = touching()
            return .report(time)
        default: return nil
        }
    }

    /// Whether a key is down.
    func isHeld(_ key: KeyCode) -> Bool { libevdev_get_event_value(device, UInt32(EV_KEY), UInt32(key.rawValue)) != 0 }

    /// The modifier keys that are down, without shift.
    func modifiers() -> Set<KeyTrigger.Modifier> { Set(Self.modifierKeys.filter { isHeld($0) }.compactMap(\.modifier)) }

    private static let modifierKeys = [KEY_LEFTCTRL, KEY_RIGHTCTRL, KEY_LEFTALT, KEY_RIGHTALT, KEY_LEFTMETA, KEY_RIGHTMETA].map {
        KeyCode($0)
    }

    /// The contacts on the panel as of the last report, slot by slot, in its own coordinates after calibration.
    func contacts() -> [Contact] { reported }

    private mutating func touching() -> [Contact] {
        switch abilities.contacts {
        case .none: return []
        case .multitouch(let slots): return (0..<slots).compactMap { slot in touch(slot).map { contact($0, slot) } }
        case .anonymous: return anonymous.touches.enumerated().map { contact($1, $0) }
        case .absolute(let button):
            guard isHeld(button) else { return [] }
            return [contact(slot: 0, id: 0, x: fraction(value(ABS_X), ABS_X), y: fraction(value(ABS_Y), ABS_Y))]
        case .mouse:
            return isHeld(KeyCode(BTN_LEFT)) ? [Contact(slot: 0, id: 0, x: 0.5, y: 0.5, surface: abilities.surface)] : []
        }
    }

    /// Returns the touch in a slot of protocol B.
    private func touch(_ slot: Int) -> AnonymousContacts.Touch? {
        func value(_ code: Int32) -> Int32 { libevdev_get_slot_value(device, UInt32(slot), UInt32(code)) }
        func optional(_ code: Int32) -> Int32? { libevdev_has_event_code(device, UInt32(EV_ABS), UInt32(code)) != 0 ? value(code) : nil }
        let id = value(ABS_MT_TRACKING_ID)
        if id < 0 { return nil }
        return AnonymousContacts.Touch(
            id: Int(id), x: value(ABS_MT_POSITION_X), y: value(ABS_MT_POSITION_Y), major: optional(ABS_MT_TOUCH_MAJOR),
            pressure: optional(ABS_MT_PRESSURE), isPalmTool: optional(ABS_MT_TOOL_TYPE) == MT_TOOL_PALM)
    }

    private mutating func contact(_ touch: AnonymousContacts.Touch, _ slot: Int) -> Contact {
        var contact = contact(
            slot: slot, id: touch.id, x: fraction(touch.x, ABS_MT_POSITION_X), y: fraction(touch.y, ABS_MT_POSITION_Y))
        contact.isPalm = palms.isPalm(isPalmTool: touch.isPalmTool, major: touch.major, pressure: touch.pressure)
        return contact
    }

    private func contact(slot: Int, id: Int, x: Double, y: Double) -> Contact {
        Contact(slot: slot, id: id, x: x, y: y, surface: abilities.surface).calibrated(calibration)
    }

    private func value(_ axis: Int32) -> Int32 { libevdev_get_event_value(device, UInt32(EV_ABS), UInt32(axis)) }

    /// Returns the position of a value between the ends of its axis. An axis without ends has the range of most controllers, 0…4095.
    private func fraction(_ value: Int32, _ axis: Int32) -> Double {
        var (low, high) = (libevdev_get_abs_minimum(device, UInt32(axis)), libevdev_get_abs_maximum(device, UInt32(axis)))
        if high <= low { (low, high) = (0, 4095) }
        let fraction = (Double(value) - Double(low)) / (Double(high) - Double(low))
        // Does not clamp here if there is a calibration: its matrix may bring outside positions back in.
        return calibration == .identity ? min(max(0, fraction), 1) : fraction
    }
}

extension DeviceState {
    /// Returns the events for an event of `device`; `rotation` is the clockwise rotation of its picture.
    mutating func events(
        for event: EvdevDevice.Event, of device: borrowing EvdevDevice, takesContacts: Bool, rotation: Rotation
    ) -> [InputEvent] {
        switch event {
        case .key(let key, let phase, let time):
            return self.key(key, phase, modifiers: device.modifiers(), at: time).map { [$0] } ?? []
        case .notches(let dial, let count, let time):
            let modifiers = device.modifiers()
            return (0..<count).flatMap { _ in
                [KeyEvent.Phase.press, .release].compactMap { key(dial, $0, modifiers: modifiers, at: time) }
            }
        case .report(let time):
            guard takesContacts else { return [] }
            return report(device.abilities.isDirect ? device.contacts().map { $0.upright(rotation) } : device.contacts(), at: time)
        case .lost(let time):
            return cancel(touching: device.contacts(), isStillHeld: { device.isHeld($0) }, at: time)
        }
    }
}

private let evdevLog = Logger(label: "evdev")

/// The log of libevdev.
package enum EvdevLog {
    /// Logs libevdev's lines at `debug` with the label `evdev` for the rest of the process, instead of on standard error. Call after
    /// swift-log is bootstrapped. The corresponding C function is `libevdev_set_log_function`.
    package static func capture() { kiosk_capture_evdev_log { evdevLog.debug("\(String(cString: $0))") } }
}
