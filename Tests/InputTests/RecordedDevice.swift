import CKioskEvdev
import Glibc
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskInputCore

/// A device as libevdev describes it, without a node, and a recording of its events.
///
/// The code for real devices finds its abilities and reads the events; only read(2) is missing.
struct RecordedDevice {
    /// One axis: its name, its minimum and maximum, and its units per millimetre, 0 if unknown.
    typealias Axis = (name: String, low: Int32, high: Int32, resolution: Int32)

    var name: String
    var properties: [Int32] = []
    var axes: [Axis] = []
    var keys: [String] = []
    var relative: [String] = []
    /// The device's udev properties.
    var udev: [String: String] = [:]
    /// One report a line: its time in milliseconds, and its events as `CODE=VALUE`, without SYN_REPORT.
    var recording: String

    /// The results of a recording.
    struct Told {
        var events: [InputEvent] = []
        var gestures: [Gesture] = []

        /// Phase, id and rounded position of each contact event: `down 1 0.50 0.25`.
        var contacts: [String] {
            events.compactMap { event in
                guard case .contact(let event) = event else { return nil }
                return "\(event.phase) \(event.contact.id) \(Self.decimal(event.contact.x)) \(Self.decimal(event.contact.y))"
            }
        }

        /// The gestures without drags.
        var meant: [Gesture] { gestures.filter { if case .drag = $0 { false } else { true } } }

        private static func decimal(_ value: Double) -> String {
            let hundredths = Int((value * 100).rounded())
            return "\(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10)"
        }
    }

    /// Returns the device, as if opened from a node.
    func open(keys: Set<KeyCode> = []) throws -> EvdevDevice { open(try describe(), keys) }

    private func open(_ pointer: OpaquePointer, _ keys: Set<KeyCode>) -> EvdevDevice {
        var device = EvdevDevice(path: "recorded", node: Descriptor(-1), device: pointer, keys: keys)
        device.calibrate(by: udev)
        return device
    }

    private func describe() throws -> OpaquePointer {
        let pointer = try #require(libevdev_new())
        libevdev_set_name(pointer, name)
        for property in properties { libevdev_enable_property(pointer, UInt32(property)) }
        for axis in axes {
            var info = input_absinfo(value: 0, minimum: axis.low, maximum: axis.high, fuzz: 0, flat: 0, resolution: axis.resolution)
            try #require(libevdev_enable_event_code(pointer, UInt32(EV_ABS), try Self.code(axis.name).code, &info) == 0)
        }
        for key in self.keys { try #require(libevdev_enable_event_code(pointer, UInt32(EV_KEY), try Self.code(key).code, nil) == 0) }
        for name in relative { try #require(libevdev_enable_event_code(pointer, UInt32(EV_REL), try Self.code(name).code, nil) == 0) }
        return pointer
    }

    /// Plays the recording. In a pause it expires the deadlines that pass.
    func play(keys: Set<KeyCode> = [], rotation: Rotation = .none) throws -> Told {
        let pointer = try describe()
        var device = open(pointer, keys)
        var state = DeviceState(device: DeviceID(rawValue: 0), hasGhosts: device.abilities.hasGhosts)
        var recognizer = GestureRecognizer()
        var told = Told()
        func take(_ events: [InputEvent]) {
            told.events += events
            for case .contact(let event) in events { told.gestures += recognizer.update(event) }
        }
        for line in recording.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let first = words.first, let milliseconds = Int64(first) else { continue }
            let time = HostTime(nanoseconds: milliseconds * 1_000_000)
            while let due = [state.nextDeadline, recognizer.nextDeadline].compactMap({ $0 }).min(), due < time {
                take(state.expire(at: due))
                told.gestures += recognizer.expire(at: due)
            }
            for word in words.dropFirst() + ["SYN_REPORT=0"] {
                let parts = word.split(separator: "=")
                let (type, code) = try Self.code(String(parts[0]))
                var event = input_event()
                (event.time.tv_sec, event.time.tv_usec) = (Int(milliseconds / 1000), Int(milliseconds % 1000 * 1000))
                (event.type, event.code, event.value) = (UInt16(type), UInt16(code), try #require(Int32(parts.count > 1 ? parts[1] : "0")))
                // Sets libevdev's state, as libevdev_next_event does.
                if type == EV_ABS || type == EV_KEY { libevdev_set_event_value(pointer, type, code, event.value) }
                guard let happened = device.take(event) else { continue }
                take(state.events(for: happened, of: device, takesContacts: true, rotation: rotation))
            }
        }
        return told
    }

    private static func code(_ name: String) throws -> (type: UInt32, code: UInt32) {
        let type = libevdev_event_type_from_code_name(name)
        let code = libevdev_event_code_from_code_name(name)
        try #require(type >= 0 && code >= 0, "\(name)")
        return (UInt32(type), UInt32(code))
    }
}
