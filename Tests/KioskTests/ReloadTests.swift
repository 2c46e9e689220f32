import Foundation
import Glibc
import TestSupport
import Testing

/// kiosk.conf and the folder that it names change while the player runs.
@Suite struct ReloadTests {
    @Test func whatIsSavedIsTakenOverAndWhatIsWrongIsNot() throws {
        let folder = try TestFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/media", withIntermediateDirectories: true)
        let clip = try Clips.named("faststart.mp4")
        try FileManager.default.copyItem(atPath: clip, toPath: folder.path + "/media/a.mp4")
        func save(_ display: String, _ rest: String = "") throws -> String {
            let text =
                "[display]\nconnector = \"offscreen\"\n\(display)[audio]\ndevice = \"off\"\n[control]\nsocket = \"off\"\n\(rest)"
                + "[[playlist]]\nsource = \"media\"\n"
            return try folder.file("kiosk.conf", text)
        }
        let path = try save("")
        // A session of its own, as a service has.
        let kiosk = try KioskProcess(["--config", path, "--log-level", "debug"], wrapper: ["setsid", "--wait"])
        #expect(kiosk.waits(for: "playing a.mp4"))

        try FileManager.default.copyItem(atPath: clip, toPath: folder.path + "/media/b.mp4")
        #expect(kiosk.waits(for: "the playlist has changed: 2 items; new: b.mp4"))
        let whole = try #require(FileManager.default.contents(atPath: clip))
        try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: folder.path + "/media/cut.mp4"))
        #expect(kiosk.waits(for: "/media/cut.mp4 is left out: "))

        _ = try save("rotation = 90\n", "[playback]\nshuffle = true\n")
        #expect(kiosk.waits(for: "kiosk.conf was read again: [display] rotation, [playback] shuffle"))
        _ = try save("rotation = 91\n")
        #expect(kiosk.waits(for: "kiosk.conf:3:12: [display] rotation: expected 0, 90, 180 or 270, found 91"))
        #expect(kiosk.waits(for: "kiosk.conf is not taken over: what was read before goes on"))
        _ = try save("mode = \"640x480\"\n")
        #expect(kiosk.waits(for: "kiosk.conf: a restart is needed for [display] mode"))
        #expect(kiosk.isRunning && !kiosk.errors.contains("3 items"))
    }
}
