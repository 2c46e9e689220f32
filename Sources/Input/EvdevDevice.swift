import CEvdev
import Glibc
import Platform

/// An open evdev node. The corresponding C type is `struct libevdev`. Belongs to one thread.
struct EvdevDevice: ~Copyable {
    let path: String
    let name: String
    let abilities: DeviceAbilities
    let descriptor: Int32
    private let device: OpaquePointer

    /// Why a node does not open. `errno` is positive.
    struct OpenError: Error, Hashable, CustomStringConvertible {
        var path: String
        var errno: Int32

        var description: String {
            switch errno {
            case EACCES, EPERM: "no permission to open \(path); add the user to the group input"
            default: "cannot open \(path): \(String(cString: strerror(errno)))"
            }
        }
    }

    /// Opens a node; its events will carry the time of CLOCK_MONOTONIC. `keys` are those of interest.
    static func open(_ path: String, keys: Set<KeyCode>) throws(OpenError) -> EvdevDevice {
        let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw OpenError(path: path, errno: errno) }
        var device: OpaquePointer?
        var result = libevdev_new_from_fd(descriptor, &device)
        if result == 0 { result = libevdev_set_clock_id(device, CLOCK_MONOTONIC) }
        guard result == 0, let device else {
            libevdev_free(device)
            close(descriptor)
            throw OpenError(path: path, errno: -result)
        }
        return EvdevDevice(path: path, descriptor: descriptor, device: device, keys: keys)
    }

    private init(path: String, descriptor: Int32, device: OpaquePointer, keys: Set<KeyCode>) {
        self.path = path
        self.descriptor = descriptor
        self.device = device
        name = String(cString: libevdev_get_name(device))
        abilities = DeviceAbilities(device, keys: keys)
    }

    deinit {
        libevdev_free(device)
        close(descriptor)
    }

    /// Keeps the device's events from everybody else (the console, a shell), or gives them back. False when another process has
    /// them. The corresponding C function is `libevdev_grab`.
    func grab(_ isGrabbed: Bool) -> Bool {
        libevdev_grab(device, isGrabbed ? LIBEVDEV_GRAB : LIBEVDEV_UNGRAB) == 0
    }

    /// What happened to a device.
    enum Event: Equatable {
        case key(KeyCode, KeyEvent, HostTime)
        /// Positions and buttons are complete as of this time: the moment to look at ``EvdevDevice/contacts()``.
        case report(HostTime)
        /// The kernel's queue overflowed; what follows brings the state up to date.
        case lost
    }

    /// The next event; nil when there is none now. Throws when the device is gone.
    func next() throws(OpenError) -> Event? {
        while true {
            var event = input_event()
            var status = libevdev_next_event(device, UInt32(LIBEVDEV_READ_FLAG_NORMAL.rawValue), &event)
            if status == Int32(LIBEVDEV_READ_STATUS_SYNC.rawValue) {
                // libevdev now holds the difference between what was said and what is; to take it brings its own state up to date.
                repeat {
                    status = libevdev_next_event(device, UInt32(LIBEVDEV_READ_FLAG_SYNC.rawValue), &event)
                } while status == Int32(LIBEVDEV_READ_STATUS_SYNC.rawValue)
                return .lost
            }
            if status == -EAGAIN { return nil }
            if status == -EINTR { continue }
            guard status >= 0 else { throw OpenError(path: path, errno: -status) }
            let time = HostTime(nanoseconds: Int64(event.time.tv_sec) * 1_000_000_000 + Int64(event.time.tv_usec) * 1000)
            switch Int32(event.type) {
            case EV_KEY:
                if let change = KeyEvent(rawValue: event.value) { return .key(KeyCode(rawValue: event.code), change, time) }
            case EV_SYN where Int32(event.code) == SYN_REPORT:
                return .report(time)
            default: break
            }
        }
    }

    /// Whether a key is down, as of the last event read.
    func isDown(_ key: KeyCode) -> Bool { libevdev_get_event_value(device, UInt32(EV_KEY), UInt32(key.rawValue)) != 0 }

    /// What touches the panel, in its own coordinates, as of the last report read.
    func contacts() -> [Contact] {
        switch abilities.contacts {
        case .none:
            return []
        case .multitouch(let slots):
            return (0..<slots).compactMap { slot in
                let id = libevdev_get_slot_value(device, UInt32(slot), UInt32(ABS_MT_TRACKING_ID))
                guard id >= 0 else { return nil }
                return Contact(
                    id: Int(id),
                    x: fraction(libevdev_get_slot_value(device, UInt32(slot), UInt32(ABS_MT_POSITION_X)), ABS_MT_POSITION_X),
                    y: fraction(libevdev_get_slot_value(device, UInt32(slot), UInt32(ABS_MT_POSITION_Y)), ABS_MT_POSITION_Y))
            }
        case .absolute(let button):
            guard isDown(button) else { return [] }
            return [
                Contact(
                    id: 0, x: fraction(libevdev_get_event_value(device, UInt32(EV_ABS), UInt32(ABS_X)), ABS_X),
                    y: fraction(libevdev_get_event_value(device, UInt32(EV_ABS), UInt32(ABS_Y)), ABS_Y))
            ]
        case .mouse:
            // Where a mouse is on the screen nobody knows: there is no pointer to be seen.
            return isDown(KeyCode(BTN_LEFT)) ? [Contact(id: 0, x: 0.5, y: 0.5)] : []
        }
    }

    private func fraction(_ value: Int32, _ axis: Int32) -> Double {
        let (low, high) = (libevdev_get_abs_minimum(device, UInt32(axis)), libevdev_get_abs_maximum(device, UInt32(axis)))
        guard high > low else { return 0 }
        return min(max(0, (Double(value) - Double(low)) / (Double(high) - Double(low))), 1)
    }
}

/// What a device has that is of use here.
struct DeviceAbilities: Hashable, Sendable {
    enum ContactSource: Hashable, Sendable {
        case none
        /// Protocol B, with so many slots.
        case multitouch(slots: Int)
        /// One position, touched while a button is down: old touch screens, pens, the absolute mice of virtual machines.
        case absolute(button: KeyCode)
        /// Relative; only its clicks are of use.
        case mouse
    }

    var contacts: ContactSource
    /// Whether positions on it are positions on the picture (a screen, not a touchpad), so that they turn with it.
    var isDirect: Bool
    /// The keys of interest that it has.
    var keys: Set<KeyCode>

    /// Whether anything on it is of use.
    var isUsed: Bool { contacts != .none || !keys.isEmpty }

    /// Whether to keep its events from everybody else. The power button's own device is logind's, even where a key of it is of interest.
    var isGrabbed: Bool { contacts != .none || !keys.subtracting(Self.systemKeys).isEmpty }

    private static let systemKeys: Set<KeyCode> = [
        KeyCode(KEY_POWER), KeyCode(KEY_POWER2), KeyCode(KEY_SLEEP), KeyCode(KEY_SUSPEND), KeyCode(KEY_WAKEUP), KeyCode(KEY_RESTART),
    ]

    init(contacts: ContactSource, isDirect: Bool, keys: Set<KeyCode>) {
        self.contacts = contacts
        self.isDirect = isDirect
        self.keys = keys
    }

    init(_ device: OpaquePointer, keys: Set<KeyCode>) {
        func has(_ type: Int32, _ code: Int32) -> Bool { libevdev_has_event_code(device, UInt32(type), UInt32(code)) != 0 }
        func hasProperty(_ property: Int32) -> Bool { libevdev_has_property(device, UInt32(property)) != 0 }
        self.keys = keys.filter { has(EV_KEY, Int32($0.rawValue)) }
        isDirect = !hasProperty(INPUT_PROP_POINTER) || hasProperty(INPUT_PROP_DIRECT)
        let slots = Int(libevdev_get_num_slots(device))
        let hasPosition = has(EV_ABS, ABS_X) && has(EV_ABS, ABS_Y) && !hasProperty(INPUT_PROP_ACCELEROMETER)
        contacts =
            if slots > 0, has(EV_ABS, ABS_MT_POSITION_X), has(EV_ABS, ABS_MT_POSITION_Y) {
                .multitouch(slots: slots)
            } else if hasPosition, has(EV_KEY, BTN_TOUCH) {
                .absolute(button: KeyCode(BTN_TOUCH))
            } else if hasPosition, has(EV_KEY, BTN_LEFT) {
                .absolute(button: KeyCode(BTN_LEFT))
            } else if has(EV_REL, REL_X), has(EV_REL, REL_Y), has(EV_KEY, BTN_LEFT) {
                .mouse
            } else {
                .none
            }
    }
}

extension DeviceAbilities: CustomStringConvertible {
    /// `touch, 10 fingers; 24 keys`.
    var description: String {
        var parts: [String] = []
        switch contacts {
        case .none: break
        case .multitouch(let slots): parts.append("\(isDirect ? "touch screen" : "touch pad"), \(slots) finger\(slots == 1 ? "" : "s")")
        case .absolute(KeyCode(BTN_TOUCH)): parts.append(isDirect ? "touch screen, one finger" : "touch pad, one finger")
        case .absolute: parts.append("absolute pointer")
        case .mouse: parts.append("mouse")
        }
        if !keys.isEmpty { parts.append("\(keys.count) key\(keys.count == 1 ? "" : "s")") }
        return parts.isEmpty ? "nothing of use" : parts.joined(separator: "; ")
    }
}
