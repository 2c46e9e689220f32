import Foundation
import TestSupport
import Testing

/// `kiosk status` and `kiosk ctl`: the socket that they ask, and their messages if there is no answer.
@Suite(.blocking) struct StatusTests {
    /// Starts a player offscreen with this kiosk.conf and waits until it listens at `socket`.
    private func player(_ configuration: String, _ socket: String) throws -> KioskProcess {
        let kiosk = try KioskProcess(
            ["--config", configuration, "--display", "offscreen", "--mode", "320x180", "--audio", "off", Clips.named("still.png")])
        #expect(eventually(120) { FileManager.default.fileExists(atPath: socket) })
        return kiosk
    }

    @Test(
        "A mistake that was made in kiosk.conf since the start does not keep the player from being asked",
        arguments: ["\nx = [\n", "[display]\nrotation = 45\n"])
    func brokenSince(_ mistake: String) throws {
        let folder = try TestFolder()
        let socket = folder.path + "/control.sock"
        let text = "[input]\ngrab = false\ntouch = false\n[control]\nsocket = \"\(socket)\"\n"
        let configuration = try folder.file("test.conf", text)
        let kiosk = try player(configuration, socket)
        _ = try folder.file("test.conf", text + mistake)
        for words in [["status"], ["ctl", "status"]] {
            let asked = try KioskProcess(words.prefix(1) + ["--config", configuration] + words.dropFirst())
            #expect(asked.status() == 0)
            #expect(asked.output.hasPrefix("State ") && asked.output.contains("\nItem "), "\(asked.output)")
            #expect(
                asked.errors == "\(configuration) has errors: kiosk check shows them. The player keeps the old settings\n")
        }
        #expect(kiosk.end() == 0)
        // Without a player there is only the mistake to report.
        let gone = try KioskProcess(["status", "--config", configuration])
        #expect(gone.status() == 78)
        #expect(gone.errors.hasPrefix("\(configuration):") && gone.output == "", "\(gone.errors)")
    }

    @Test("What fails is JSON for programs") func failuresAreJSON() throws {
        let folder = try TestFolder()
        let broken = try folder.file("broken.conf", "x = [\n")
        let none = ["--socket", folder.path + "/none.sock"]
        for (arguments, status, code) in [
            (["status", "--json"] + none, 1, "no-player"), (["ctl"] + none + ["pause", "--json"], 1, "no-player"),
            (["ctl", "--json"] + none + ["watch"], 1, "no-player"), (["ctl", "--json"] + none + ["sek"], 64, "invalid-words"),
            (["status", "--json", "--config", broken], 78, "invalid-configuration"),
            (["status", "--json", "--config", folder.path + "/gone.conf"], 78, "invalid-configuration"),
            (["status", "--json", "--sokcet", "x"], 64, "invalid-words"), (["status", "--json", "--socket"], 64, "invalid-words"),
            (["status", "--json", "--socket", "relative"], 64, "invalid-words"), (["ctl", "--json", "--config"], 64, "invalid-words"),
            (["doctor", "--json", "--config"], 64, "invalid-words"), (["export", "--json"], 64, "invalid-words"),
            (["record", "--json", "--duration", "soon"], 64, "invalid-words"), (["stauts", "--json"], 64, "invalid-words"),
            (["help", "stauts", "--json"], 64, "invalid-words"),
        ] {
            let kiosk = try KioskProcess(arguments)
            #expect(kiosk.status() == Int32(status), "\(arguments)")
            #expect(
                kiosk.output.hasPrefix("{\"error\":{\"code\":\"\(code)\",\"message\":\"") && kiosk.output.hasSuffix("\"},\"ok\":false}\n")
                    && kiosk.output.count { $0 == "\n" } == 1,
                "\(kiosk.output)")
            #expect(kiosk.errors == "")
        }
    }

    @Test(
        "Where no control socket can be made the log says why",
        .disabled(if: FileManager.default.fileExists(atPath: "/run/kiosk"), "this machine has a folder for sockets"))
    func noSocket() throws {
        let kiosk = try KioskProcess(
            ["--display", "offscreen", "--mode", "320x180", "--audio", "off", Clips.named("still.png")], wrapper: ["-u", "XDG_RUNTIME_DIR"])
        #expect(
            kiosk.waits(
                for: "no control socket: XDG_RUNTIME_DIR is not set, and /run/kiosk cannot be written to: No such file or directory; "
                    + "[control] socket can name a path"))
        #expect(kiosk.end() == 0)
    }
}
