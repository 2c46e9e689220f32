/// Tells palms from fingers by what one device reports of its contacts. A pure value.
///
/// Where the panel says how large its units are, a contact of more than ``palmWidth`` is a palm. Elsewhere, and for the pressure, it is one
/// that is near the largest value there is; but only once the device has shown that it measures at all: many report one value always, and
/// that may be the largest.
struct PalmFilter {
    /// What a device says about the axes.
    struct Ranges: Hashable {
        /// ABS_MT_TOUCH_MAJOR, and how many of its units are a millimetre; nil where it is not known.
        var majorMaximum: Int32?
        var majorUnitsPerMillimetre: Double?
        /// ABS_MT_PRESSURE.
        var pressureMaximum: Int32?
    }

    /// Of a palm, in millimetres; a thumb laid flat has 20.
    static let palmWidth = 28.0
    /// Of the largest value there is.
    static let nearlyAll = 0.9
    /// What shows that a device measures: a value below this part of the largest.
    static let plainlyLess = 0.5

    private let ranges: Ranges
    private var majorVaries = false
    private var pressureVaries = false

    init(_ ranges: Ranges) { self.ranges = ranges }

    /// Whether a contact of these values is a palm; nil for what the device does not report.
    mutating func isPalm(isPalmTool: Bool, major: Int32?, pressure: Int32?) -> Bool {
        var isPalm = isPalmTool
        if let major, let units = ranges.majorUnitsPerMillimetre, units > 0 {
            isPalm = isPalm || Double(major) / units > Self.palmWidth
        } else if let major, let maximum = ranges.majorMaximum {
            isPalm = Self.isNearlyAll(major, of: maximum, &majorVaries) || isPalm
        }
        if let pressure, let maximum = ranges.pressureMaximum {
            isPalm = Self.isNearlyAll(pressure, of: maximum, &pressureVaries) || isPalm
        }
        return isPalm
    }

    private static func isNearlyAll(_ value: Int32, of maximum: Int32, _ varies: inout Bool) -> Bool {
        // A contact that is just coming down reports 0 on many panels.
        guard maximum >= 8, value > 0 else { return false }
        let part = Double(value) / Double(maximum)
        if part < plainlyLess { varies = true }
        return varies && part >= nearlyAll
    }
}
