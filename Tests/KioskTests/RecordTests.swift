import Foundation
import TestSupport
import Testing

/// `kiosk record`, as far as it goes without a camera; the bed has one.
@Suite(.blocking) struct RecordTests {
    static let hasCamera = FileManager.default.fileExists(atPath: "/dev/video0")

    @Test(.disabled(if: hasCamera, "this machine has a camera")) func withoutACamera() throws {
        let path = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).mp4"
        let kiosk = try KioskProcess(["record", path])
        #expect(kiosk.status() == 1)
        #expect(kiosk.errors == "there is no camera: plug one in; `kiosk devices` lists the cameras\n")
        #expect(!FileManager.default.fileExists(atPath: path))
        let named = try KioskProcess(["record", "--camera", "/dev/null", "--json", path])
        #expect(named.status() == 1)
        #expect(named.errors == "/dev/null is not a camera: plug one in; `kiosk devices` lists the cameras\n")
        #expect(named.output.hasPrefix(#"{"error":"#))
    }

    @Test func aFileThatIsThereStays() throws {
        let path = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).mp4"
        try Data("there".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let kiosk = try KioskProcess(["record", path])
        #expect(kiosk.status() == 1)
        #expect(kiosk.errors == "\(path): is there already: name another file, or replace it with --force\n")
    }

    @Test(arguments: [
        ["--size", "big"], ["--rotation", "45"], ["--duration", "0"], ["--camera", ""], ["--quality", "52"], ["--encoder", "gpu"],
    ])
    func mistakesAreSaid(arguments: [String]) throws {
        let kiosk = try KioskProcess(["record"] + arguments + ["out.mp4"])
        #expect(kiosk.status() == 64)
        #expect(kiosk.errors.contains(arguments[0]))
    }
}
