import CEvdev
import Glibc
import Platform

/// An open evdev node. The corresponding C type is `struct libevdev`. Belongs to one thread.
///
/// libevdev keeps the state of keys and slots as of the last event read; ``contacts()``, ``isHeld(_:)`` and ``modifiers()`` read it.
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

    /// Opens a node without blocking; its events will carry the time of CLOCK_MONOTONIC. `keys` are those of interest.
    ///
    /// - Throws: what open(2) or libevdev says, with the path.
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
        case key(KeyCode, KeyEvent.Phase, HostTime)
        /// Positions and buttons are complete as of this time (SYN_REPORT): the moment to look at ``EvdevDevice/contacts()``.
        case report(HostTime)
        /// The kernel's queue overflowed at this time and events are missing (SYN_DROPPED). The state is up to date.
        case lost(HostTime)
    }

    /// The next event with the kernel's time of it; nil when there is none now. The corresponding C function is `libevdev_next_event`.
    ///
    /// - Throws: when the device is gone.
    func next() throws(OpenError) -> Event? {
        while true {
            var event = input_event()
            var status = libevdev_next_event(device, UInt32(LIBEVDEV_READ_FLAG_NORMAL.rawValue), &event)
            let time = HostTime(nanoseconds: Int64(event.time.tv_sec) * 1_000_000_000 + Int64(event.time.tv_usec) * 1000)
            if status == Int32(LIBEVDEV_READ_STATUS_SYNC.rawValue) {
                // libevdev now holds the difference between what was said and what is; to take it brings its own state up to date.
                repeat {
                    status = libevdev_next_event(device, UInt32(LIBEVDEV_READ_FLAG_SYNC.rawValue), &event)
                } while status == Int32(LIBEVDEV_READ_STATUS_SYNC.rawValue)
                return .lost(time)
            }
            if status == -EAGAIN { return nil }
            if status == -EINTR { continue }
            guard status >= 0 else { throw OpenError(path: path, errno: -status) }
            switch Int32(event.type) {
            case EV_KEY:
                if let phase = KeyEvent.Phase(rawValue: event.value) { return .key(KeyCode(rawValue: event.code), phase, time) }
            case EV_SYN where Int32(event.code) == SYN_REPORT:
                return .report(time)
            default: break
            }
        }
    }

    /// Whether a key is down.
    func isHeld(_ key: KeyCode) -> Bool { libevdev_get_event_value(device, UInt32(EV_KEY), UInt32(key.rawValue)) != 0 }

    /// The modifier keys that are down.
    func modifiers() -> KeyEvent.Modifiers {
        var held: KeyEvent.Modifiers = []
        if isHeld(KeyCode(KEY_LEFTCTRL)) || isHeld(KeyCode(KEY_RIGHTCTRL)) { held.insert(.control) }
        if isHeld(KeyCode(KEY_LEFTALT)) || isHeld(KeyCode(KEY_RIGHTALT)) { held.insert(.alternate) }
        if isHeld(KeyCode(KEY_LEFTMETA)) || isHeld(KeyCode(KEY_RIGHTMETA)) { held.insert(.meta) }
        return held
    }

    /// What touches the panel, in its own coordinates, slot by slot.
    func contacts() -> [Contact] {
        switch abilities.contacts {
        case .none:
            return []
        case .multitouch(let slots):
            return (0..<slots).compactMap { slot in
                let id = libevdev_get_slot_value(device, UInt32(slot), UInt32(ABS_MT_TRACKING_ID))
                guard id >= 0 else { return nil }
                return Contact(
                    slot: slot, id: Int(id),
                    x: fraction(libevdev_get_slot_value(device, UInt32(slot), UInt32(ABS_MT_POSITION_X)), ABS_MT_POSITION_X),
                    y: fraction(libevdev_get_slot_value(device, UInt32(slot), UInt32(ABS_MT_POSITION_Y)), ABS_MT_POSITION_Y),
                    surface: abilities.surface)
            }
        case .absolute(let button):
            guard isHeld(button) else { return [] }
            return [
                Contact(
                    slot: 0, id: 0, x: fraction(libevdev_get_event_value(device, UInt32(EV_ABS), UInt32(ABS_X)), ABS_X),
                    y: fraction(libevdev_get_event_value(device, UInt32(EV_ABS), UInt32(ABS_Y)), ABS_Y), surface: abilities.surface)
            ]
        case .mouse:
            return isHeld(KeyCode(BTN_LEFT)) ? [Contact(slot: 0, id: 0, x: 0.5, y: 0.5, surface: abilities.surface)] : []
        }
    }

    private func fraction(_ value: Int32, _ axis: Int32) -> Double {
        let (low, high) = (libevdev_get_abs_minimum(device, UInt32(axis)), libevdev_get_abs_maximum(device, UInt32(axis)))
        guard high > low else { return 0 }
        return min(max(0, (Double(value) - Double(low)) / (Double(high) - Double(low))), 1)
    }
}
