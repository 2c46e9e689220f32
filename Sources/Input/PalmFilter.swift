/// Distinguishes palms from fingers, by one device's reports of its contacts. A pure value.
///
/// If the panel reports its resolution, a contact larger than ``palmWidth`` is a palm. Otherwise, and for pressure, a palm is a contact
/// near the axis's maximum. This counts only once the device has shown that it measures. Many devices always report one value, which may be
/// the maximum.
struct PalmFilter {
    /// The device's description of its axes.
    struct Ranges: Hashable {
        /// The maximum of ABS_MT_TOUCH_MAJOR, and its units per millimetre; nil if unknown.
        var majorMaximum: Int32?
        var majorUnitsPerMillimetre: Double?
        /// The maximum of ABS_MT_PRESSURE.
        var pressureMaximum: Int32?
    }

    /// The size of a palm, in millimetres; a thumb laid flat has 20.
    static let palmWidth = 28.0
    /// The part of the maximum from which a contact is a palm.
    static let nearlyAll = 0.9
    /// The part of the maximum below which a value shows that the device measures.
    static let plainlyLess = 0.5

    private let ranges: Ranges
    private var majorVaries = false
    private var pressureVaries = false

    init(_ ranges: Ranges) { self.ranges = ranges }

    /// Returns whether a contact with these values is a palm; nil for values that the device does not report.
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
        // On many panels, a contact that is just coming down reports 0.
        guard maximum >= 8, value > 0 else { return false }
        let part = Double(value) / Double(maximum)
        if part < plainlyLess { varies = true }
        return varies && part >= nearlyAll
    }
}
