import Foundation
import TestSupport
import Testing

/// `kiosk screenshot`, of a player that runs offscreen.
@Suite(.blocking) struct ScreenshotTests {
    private func gray(_ path: String) throws -> [UInt8] {
        try Clips.bytes(Clips.make("\(UUID().uuidString).raw", ["-i", path, "-f", "rawvideo", "-pix_fmt", "gray"]))
    }

    @Test(arguments: ["0", "90", "180"]) func whatIsShownUpright(_ rotation: String) throws {
        let folder = try TestFolder()
        let socket = folder.path + "/control.sock"
        let configuration = try folder.file(
            "test.conf", "[input]\ngrab = false\ntouch = false\n[control]\nsocket = \"\(socket)\"\n")
        // Standing on its side, the display is as wide as it is high upright.
        let mode = rotation == "90" ? "180x320" : "320x180"
        let kiosk = try KioskProcess(
            ["--config", configuration, "--display", "offscreen", "--mode", mode, "--audio", "off", "--rotation", rotation]
                + [Clips.named("still.png")])
        let picture = folder.path + "/screen.png"
        // The background comes before the picture.
        #expect(
            eventually(30) {
                guard let shot = try? KioskProcess(["screenshot", "--config", configuration, picture]), shot.status() == 0,
                    let gray = try? gray(picture), gray.count == 320 * 180
                else { return false }
                return burnedInNumber(width: 320, height: 180) { x, y in Int(gray[y * 320 + x]) } == 401
            })
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["control.sock", "screen.png", "test.conf"])
        let lost = try KioskProcess(["screenshot", "--socket", socket, "/nonexistent/a.png"])
        #expect(lost.status() == 1 && lost.errors == "write /nonexistent/a.png: No such file or directory\n")
        #expect(kiosk.end() == 0)
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    @Test func nobodyListens() throws {
        let folder = try TestFolder()
        let kiosk = try KioskProcess(["screenshot", "--socket", folder.path + "/none.sock", folder.path + "/a.png"])
        #expect(kiosk.status() == 1)
        #expect(
            kiosk.errors
                == "no player listens at \(folder.path)/none.sock: start one, or name its socket ([control] socket) with --socket\n")
    }
}
