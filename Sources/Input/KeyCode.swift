import CKioskEvdev
import KioskPlatform
import KioskVocabulary

/// The kernel's number for a key or button (`KEY_*`, `BTN_*` of linux/input-event-codes.h). Two numbers beyond those stand for the notches
/// of a knob.
package struct KeyCode: Hashable, Sendable {
    /// The number.
    package var rawValue: UInt16

    /// Creates the key with this number.
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    init(_ code: Int32) { rawValue = UInt16(code) }

    /// A notch of a knob (REL_DIAL) or a wheel (REL_WHEEL), clockwise or away from the user. Its press and release come at once.
    package static let dialUp = KeyCode(rawValue: UInt16(KEY_MAX) + 1)
    /// A notch in the other direction.
    package static let dialDown = KeyCode(rawValue: UInt16(KEY_MAX) + 2)
    private static let dials: [(code: KeyCode, name: String)] = [(dialUp, KeyTrigger.dialUp), (dialDown, KeyTrigger.dialDown)]

    /// Finds a key by the kernel's name, in any case, with or without `KEY_`: `space`, `KEY_PLAYPAUSE`, `btn_left`. The corresponding C
    /// function is `libevdev_event_code_from_name`.
    ///
    /// - Throws: the name, and a similar one if there is any.
    package init(named name: String) throws(UnknownKey) {
        let upper = name.uppercased()
        if let dial = Self.dials.first(where: { $0.name == upper }) {
            self = dial.code
            return
        }
        for candidate in ["KEY_" + upper, upper] {
            let code = libevdev_event_code_from_name(UInt32(EV_KEY), candidate)
            if code >= 0 {
                rawValue = UInt16(code)
                return
            }
        }
        throw UnknownKey(name: name, suggestion: Self.nearest(to: upper.hasPrefix("KEY_") ? String(upper.dropFirst(4)) : upper))
    }

    /// The kernel's name; `KEY_0x2a1` for a number without one, `DIAL-UP` and `DIAL-DOWN` for a knob.
    package var name: String {
        if let dial = Self.dials.first(where: { $0.code == self }) { return dial.name }
        if let name = libevdev_event_code_get_name(UInt32(EV_KEY), UInt32(rawValue)) { return String(cString: name) }
        return "KEY_0x" + String(rawValue, radix: 16)
    }

    /// Returns the most similar name (without `KEY_`); nil if none is near.
    private static func nearest(to name: String) -> String? {
        let letters = Array(name.utf8)
        var best: (name: String, distance: Int)?
        for code in 0...UInt32(KEY_MAX) {
            guard let text = libevdev_event_code_get_name(UInt32(EV_KEY), code) else { continue }
            let known = String(cString: text)
            guard known.hasPrefix("KEY_") else { continue }
            let short = String(known.dropFirst(4))
            let distance = editDistance(letters, Array(short.utf8))
            if distance < best?.distance ?? .max { best = (short, distance) }
        }
        guard let best, best.distance <= max(1, letters.count / 2), best.distance < letters.count else { return nil }
        return best.name
    }
}

/// A key name that is not in the kernel's headers.
package struct UnknownKey: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name as written.
    package let name: String
    /// A similar name, if there is any.
    package let suggestion: String?

    /// `unknown key "spcae"; did you mean "SPACE"?`.
    package var description: String { "unknown key \"\(name)\"" + (suggestion.map { "; did you mean \"\($0)\"?" } ?? "") }
}
