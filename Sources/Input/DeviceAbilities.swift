import CKioskEvdev

/// The abilities of a device that kiosk uses.
struct DeviceAbilities: Hashable, Sendable {
    enum ContactSource: Hashable, Sendable {
        case none
        /// Protocol B, with this number of slots.
        case multitouch(slots: Int)
        /// Protocol A.
        case anonymous
        /// One position, touched while a button is down: old touch screens, pens, the absolute mice of virtual machines.
        case absolute(button: KeyCode)
        /// Relative; only its clicks are used.
        case mouse
    }

    var contacts: ContactSource
    /// Whether its positions are on the picture and rotate with it, as on a touch screen but not on a touchpad.
    var isDirect: Bool
    /// The keys of interest on the device.
    var keys: Set<KeyCode>

    /// The surface of its positions.
    var surface: Contact.Surface { contacts == .mouse ? .mouse : isDirect ? .display : .touchpad }

    /// Whether it is a panel that may report touches by nobody.
    var hasGhosts: Bool {
        switch contacts {
        case .multitouch, .anonymous, .absolute(KeyCode(BTN_TOUCH)): true
        case .none, .absolute, .mouse: false
        }
    }

    /// Whether kiosk uses anything on it.
    var isUsed: Bool { contacts != .none || !keys.isEmpty }

    /// Whether to keep its events from everybody else. The power button's own device is logind's, even if one of its keys is of interest.
    var isGrabbed: Bool { contacts != .none || !keys.subtracting(Self.systemKeys).isEmpty }

    private static let systemKeys: Set<KeyCode> = [
        KeyCode(KEY_POWER), KeyCode(KEY_POWER2), KeyCode(KEY_SLEEP), KeyCode(KEY_SUSPEND), KeyCode(KEY_WAKEUP), KeyCode(KEY_RESTART),
    ]
}

extension DeviceAbilities: CustomStringConvertible {
    init(_ device: OpaquePointer, keys: Set<KeyCode>) {
        func has(_ type: Int32, _ code: Int32) -> Bool { libevdev_has_event_code(device, UInt32(type), UInt32(code)) != 0 }
        func hasProperty(_ property: Int32) -> Bool { libevdev_has_property(device, UInt32(property)) != 0 }
        let hasDial = has(EV_REL, REL_DIAL) || has(EV_REL, REL_WHEEL)
        self.keys = keys.filter { $0 == .dialUp || $0 == .dialDown ? hasDial : has(EV_KEY, Int32($0.rawValue)) }
        isDirect = !hasProperty(INPUT_PROP_POINTER) || hasProperty(INPUT_PROP_DIRECT)
        let slots = Int(libevdev_get_num_slots(device))
        let hasPosition = has(EV_ABS, ABS_X) && has(EV_ABS, ABS_Y) && !hasProperty(INPUT_PROP_ACCELEROMETER)
        contacts =
            if slots > 0, has(EV_ABS, ABS_MT_POSITION_X), has(EV_ABS, ABS_MT_POSITION_Y) {
                .multitouch(slots: slots)
            } else if has(EV_ABS, ABS_MT_POSITION_X), has(EV_ABS, ABS_MT_POSITION_Y), !has(EV_ABS, ABS_MT_SLOT) {
                .anonymous
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

    /// `touch screen, 10 fingers; 24 keys`.
    var description: String {
        var parts: [String] = []
        switch contacts {
        case .none: break
        case .multitouch(let slots): parts.append("\(isDirect ? "touch screen" : "touch pad"), \(slots) finger\(slots == 1 ? "" : "s")")
        case .anonymous: parts.append("\(isDirect ? "touch screen" : "touch pad"), protocol A")
        case .absolute(KeyCode(BTN_TOUCH)): parts.append(isDirect ? "touch screen, one finger" : "touch pad, one finger")
        case .absolute: parts.append("absolute pointer")
        case .mouse: parts.append("mouse")
        }
        if !keys.isEmpty { parts.append("\(keys.count) key\(keys.count == 1 ? "" : "s")") }
        return parts.isEmpty ? "nothing of use" : parts.joined(separator: "; ")
    }
}
