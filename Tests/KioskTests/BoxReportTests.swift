import CTestSupport
import Foundation
import TestSupport
import Testing

/// `kiosk doctor --report`.
@Suite(.blocking) struct BoxReportTests {
    @Test func aReportIsWrittenWithoutWhatIsPlayed() throws {
        let folder = try TestFolder()
        let clip = try Clips.named("faststart.mp4")
        try FileManager.default.copyItem(atPath: clip, toPath: folder.path + "/wedding of ann.mp4")
        let configuration = """
            [display]
            connector = "offscreen"
            [audio]
            device = "off"
            [control]
            socket = "\(folder.path)/socket"
            [[playlist]]
            source = "wedding of ann.mp4"
            title = "Ann says yes"
            """
        let file = try folder.file("ours.conf", configuration)
        let path = folder.path + "/report.txt"
        let kiosk = try KioskProcess(["doctor", "--config", file, "--report", path])
        #expect(kiosk.status(within: 120) == 0, "\(kiosk.errors)")
        #expect(kiosk.output == "\(path): read it, then send it with your issue\n")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for heading in ["== Machine", "== Doctor", "== Player", "== Devices", "== Kernel", "No player answers.", "Displays", "Sound"] {
            #expect(text.contains(heading), "\(heading)")
        }
        // The name of a host may be a word that identifies nobody and is in every report.
        let host = ProcessInfo.processInfo.hostName
        let saysNothing = ["kiosk", "localhost", "video", "audio", "render", "input", "root", "raspberrypi", "debian"].contains(
            host.lowercased())
        for secret in ["wedding", "Ann says", folder.path] + (saysNothing || host.count < 3 ? [] : [host]) {
            #expect(!text.localizedCaseInsensitiveContains(secret), "\(secret)")
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // The report stays as it is.
        let second = try KioskProcess(["doctor", "--report", path])
        #expect(second.status(within: 60) == 64 && second.errors.contains("it exists already; name another file"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test(arguments: [["--report", "/x", "--json"], ["clip.mp4"]]) func whatDoesNotGoTogether(arguments: [String]) throws {
        let kiosk = try KioskProcess(["doctor"] + arguments)
        #expect(kiosk.status() == 64, "\(kiosk.output)")
    }
}
