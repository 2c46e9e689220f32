import Foundation
import TestSupport
import Testing

/// `kiosk devices`.
@Suite(.blocking) struct DevicesTests {
    static let hasDevices = ["/dev/dri", "/dev/fb0", "/dev/snd", "/dev/input", "/dev/video0"].contains(
        where: FileManager.default.fileExists)

    @Test(.disabled(if: hasDevices, "this machine has devices")) func withoutAny() throws {
        let kiosk = try KioskProcess(["devices"])
        #expect(kiosk.status() == 0)
        try expect(kiosk.output, isAsIn: "devices-none.txt")
        #expect(kiosk.errors == "")
    }

    @Test("Whatever there is, every section ends with what would be used") func sections() throws {
        let kiosk = try KioskProcess(["devices", "--audio", "off", "--display", "offscreen"])
        #expect(kiosk.status() == 0)
        let headings = kiosk.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }
        #expect(headings == ["Displays", "Sound", "Input", "Cameras", "Microphones", "Encoders"])
        #expect(kiosk.output.contains("\n  → offscreen: "))
        #expect(kiosk.output.contains("\n  → off: "))
    }
}
