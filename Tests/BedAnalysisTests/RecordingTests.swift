import Testing

@testable import Bed

/// Tests of the events that each kind of device sends for the same fingers.
struct RecordingTests {
    /// Returns the events of a recording without their times, one report per line.
    /// An event is its type, code and value: hexadecimal, hexadecimal and decimal.
    private func reports(_ device: Recording.Device, _ strokes: [Recording.Stroke]) -> [String] {
        let events = Recording("test", by: device, strokes).text.split(separator: "\n").filter { $0.hasPrefix("E:") }
        let words = events.map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
        return words.split(separator: "0000 0000 0").map { $0.joined(separator: ", ") }
    }

    @Test func `two fingers in slots`() {
        let reports = reports(.slots, [.init(0, 0.02, at: (0.5, 0.5)), .init(0.01, 0.03, at: (0.25, 0.5))])
        #expect(
            reports == [
                "0003 002f 0, 0003 0039 100, 0003 0035 2047, 0003 0036 2049, 0001 014a 1, 0003 0000 2047, 0003 0001 2049",
                "0003 002f 0, 0003 0035 2048, 0003 0036 2048, 0003 002f 1, 0003 0039 102, 0003 0035 1024, 0003 0036 2048, "
                    + "0003 0000 2048, 0003 0001 2048",
                "0003 002f 0, 0003 0039 -1, 0003 002f 1, 0003 0035 1025, 0003 0036 2047, 0003 0000 1025, 0003 0001 2047",
                "0003 002f 1, 0003 0039 -1, 0001 014a 0",
            ])
    }

    @Test func `a finger as a list of contacts, and nothing in the list at its end`() {
        #expect(
            reports(.contacts, [.init(0, 0.01, at: (0.5, 0.5))]) == [
                "0001 014a 1, 0003 0000 2047, 0003 0001 2049, 0003 0035 2047, 0003 0036 2049, 0003 0030 20, 0000 0002 0",
                "0001 014a 0, 0000 0002 0",
            ])
    }

    @Test func `a finger on a resistive panel, and a button of a tablet`() {
        let tap = [Recording.Stroke(0, 0.01, at: (0.5, 0.5))]
        #expect(reports(.single, tap) == ["0001 014a 1, 0003 0000 2047, 0003 0001 2049, 0003 0018 120", "0001 014a 0, 0003 0018 0"])
        #expect(reports(.tablet, tap) == ["0003 0000 16383, 0003 0001 16385, 0001 0110 1", "0001 0110 0"])
    }

    @Test func `a device says what it can send`() {
        let lines = Recording("test", by: .slots, []).text.split(separator: "\n")
        #expect(lines.contains("B: 00 0b 00 00 00 00 00 00 00") && lines.contains("A: 35 0 4095 0 0 0"))
        // BTN_TOUCH is bit 2 of byte 41.
        let keys = lines.filter { $0.hasPrefix("B: 01") }
        #expect(keys.count == 12 && keys[5] == "B: 01 00 04 00 00 00 00 00 00")
    }

    @Test func `times count from the first`() {
        let text = Recording("test", by: .tablet, [.init(2, 3.205, at: (0, 0), to: (1, 1))]).text
        let times = text.split(separator: "\n").filter { $0.hasPrefix("E:") }.map { $0.split(separator: " ")[1] }
        #expect(times.first == "0.000000" && times.last == "1.210000")
    }
}
