import Testing

@testable import KioskInputCore

/// Palms by a device's values; nil for a value that it does not report.
@Suite struct PalmFilterTests {
    /// Contacts one after the other; `isPalm` is for the last one.
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var ranges: PalmFilter.Ranges
        var contacts: [(isPalmTool: Bool, major: Int32?, pressure: Int32?)]
        var isPalm: Bool
    }

    private static let inMillimetres = PalmFilter.Ranges(majorMaximum: 1000, majorUnitsPerMillimetre: 10, pressureMaximum: nil)
    private static let bare = PalmFilter.Ranges(majorMaximum: 100, majorUnitsPerMillimetre: nil, pressureMaximum: 255)

    private static let cases: [Case] = [
        Case(testDescription: "nothing is known", ranges: PalmFilter.Ranges(), contacts: [(false, nil, nil)], isPalm: false),
        Case(testDescription: "the kernel says so", ranges: PalmFilter.Ranges(), contacts: [(true, nil, nil)], isPalm: true),
        Case(testDescription: "a thumb of 20 mm", ranges: inMillimetres, contacts: [(false, 200, nil)], isPalm: false),
        Case(testDescription: "a palm of 40 mm, the first time", ranges: inMillimetres, contacts: [(false, 400, nil)], isPalm: true),
        Case(testDescription: "nearly the largest, and nothing else was seen", ranges: bare, contacts: [(false, 95, 250)], isPalm: false),
        Case(testDescription: "always the largest", ranges: bare, contacts: [(false, 100, 255), (false, 100, 255)], isPalm: false),
        Case(testDescription: "a finger, then a palm", ranges: bare, contacts: [(false, 20, 60), (false, 95, 60)], isPalm: true),
        Case(testDescription: "by pressure", ranges: bare, contacts: [(false, 20, 60), (false, 20, 250)], isPalm: true),
        Case(testDescription: "a finger, then a thumb", ranges: bare, contacts: [(false, 20, 60), (false, 80, 200)], isPalm: false),
        Case(testDescription: "0 is none that was measured", ranges: bare, contacts: [(false, 0, 0), (false, 100, 255)], isPalm: false),
        Case(
            testDescription: "a device that knows yes and no", ranges: PalmFilter.Ranges(majorMaximum: 1, pressureMaximum: 1),
            contacts: [(false, 0, 0), (false, 1, 1)], isPalm: false),
    ]

    @Test(arguments: cases) func table(_ example: Case) {
        var filter = PalmFilter(example.ranges)
        let judged = example.contacts.map { filter.isPalm(isPalmTool: $0.isPalmTool, major: $0.major, pressure: $0.pressure) }
        #expect(judged.last == example.isPalm)
    }
}
