package import KioskInputCore
import KioskPlatform
import KioskPlayer

extension InputEvent {
    /// Makes the engine's event of an application's own, on a device of its own. A place beside the display is moved to its edge. A time of
    /// zero, and one in the future, is the present. nil for a key without a name in the kernel's headers, and for a place that is no number.
    package init?(_ event: InputDevices.Event) {
        func instant(_ time: Duration) -> HostTime {
            let (given, now) = (HostTime(nanoseconds: MediaTime(time).nanoseconds), HostTime.now)
            return given.nanoseconds > 0 && given < now ? given : now
        }
        let device = DeviceID(rawValue: -1)
        switch event {
        case .touch(let touch):
            guard touch.x.isFinite, touch.y.isFinite else { return nil }
            let contact = Contact(slot: 0, id: touch.id, x: min(max(touch.x, 0), 1), y: min(max(touch.y, 0), 1), surface: .display)
            let phase: ContactEvent.Phase =
                switch touch.phase {
                case .began: .down
                case .moved: .move
                case .ended: .up
                case .cancelled: .cancelled
                }
            self = .contact(ContactEvent(device: device, contact: contact, phase: phase, time: instant(touch.time)))
        case .key(let key):
            guard let code = try? KeyCode(named: key.name) else { return nil }
            let phase: KeyEvent.Phase =
                switch key.phase {
                case .pressed: .press
                case .repeated: .repeat
                case .released: .release
                }
            self = .key(KeyEvent(device: device, key: code, phase: phase, time: instant(key.time)))
        }
    }
}
