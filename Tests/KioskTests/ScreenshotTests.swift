import Foundation
import TestSupport
import Testing

/// `kiosk screenshot` of a player that runs offscreen.
@Suite(.blocking) struct ScreenshotTests {
    private func gray(_ path: String) throws -> [UInt8] {
        try Clips.bytes(Clips.make("\(UUID().uuidString).raw", ["-i", path, "-f", "rawvideo", "-pix_fmt", "gray"]))
    }

    @Test(arguments: ["0", "90", "180"]) func whatIsShownUpright(_ rotation: String) throws {
        let folder = try TestFolder()
        let socket = folder.path + "/control.sock"
        let configuration = try folder.file(
            "test.conf", "[input]\ngrab = false\ntouch = false\n[control]\nsocket = \"\(socket)\"\n")
        // On its side, the display is as wide as the upright picture is high.
        let mode = rotation == "90" ? "180x320" : "320x180"
        let kiosk = try KioskProcess(
            ["--config", configuration, "--display", "offscreen", "--mode", mode, "--audio", "off", "--rotation", rotation]
                + [Clips.named("still.png")])
        let picture = folder.path + "/screen.png"
        // The background comes before the picture.
        #expect(
            eventually(120) {
                guard let shot = try? KioskProcess(["screenshot", "--config", configuration, picture]), shot.status() == 0,
                    let gray = try? gray(picture), gray.count == 320 * 180
                else { return false }
                return burnedInNumber(width: 320, height: 180) { x, y in Int(gray[y * 320 + x]) } == 401
            })
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["control.sock", "screen.png", "test.conf"])
        if rotation == "0" { try writesInto(what: folder.path, socket) }
        let lost = try KioskProcess(["screenshot", "--socket", socket, "/nonexistent/a.png"])
        #expect(lost.status() == 1 && lost.errors == "write /nonexistent/a.png: No such file or directory\n")
        #expect(kiosk.end() == 0)
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    /// A link, a FIFO and standard output stay what they are. An earlier version replaced a device by a picture, as root.
    private func writesInto(what folder: String, _ socket: String) throws {
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47]
        func bytes(_ path: String) -> [UInt8] { Array((FileManager.default.contents(atPath: path) ?? Data()).prefix(4)) }
        func type(_ path: String) throws -> FileAttributeType? {
            try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        }
        func shoot(_ file: String, into output: String? = nil) throws -> Int32? {
            let script = output.map { "exec \"$@\" >'\($0)'" } ?? "exec \"$@\""
            return try KioskProcess(["screenshot", "--socket", socket, file], wrapper: ["sh", "-c", script, "sh"]).status()
        }
        let own = try TestFolder()
        try FileManager.default.createSymbolicLink(atPath: own.path + "/link.png", withDestinationPath: own.path + "/there.png")
        try FileManager.default.createSymbolicLink(atPath: own.path + "/null", withDestinationPath: "/dev/null")
        #expect(try shoot(own.path + "/link.png") == 0 && type(own.path + "/link.png") == .typeSymbolicLink)
        #expect(bytes(own.path + "/there.png") == png)
        #expect(try shoot(own.path + "/null") == 0 && type(own.path + "/null") == .typeSymbolicLink)
        #expect(try type("/dev/null") == .typeCharacterSpecial)
        for name in ["-", "/dev/stdout"] {
            #expect(try shoot(name, into: own.path + "/output.png") == 0, "\(name)")
            #expect(bytes(own.path + "/output.png") == png, "\(name)")
            try FileManager.default.removeItem(atPath: own.path + "/output.png")
        }
        mkfifo(own.path + "/fifo", 0o600)
        let reader = try KioskProcess(["screenshot", "--socket", socket, own.path + "/fifo"])
        _ = try Clips.run(["sh", "-c", "cat '\(own.path)/fifo' >'\(own.path)/copy.png'"])
        #expect(bytes(own.path + "/copy.png") == png && reader.status() == 0)
        #expect(try type(own.path + "/fifo") != .typeRegular)
        if geteuid() == 0, mknod(own.path + "/device", S_IFCHR | 0o600, 0x103) == 0 {
            #expect(try shoot(own.path + "/device") == 0 && type(own.path + "/device") == .typeCharacterSpecial)
        }
        for name in ["a.jpg", "b.JPEG", "c.webp", "d.mp4"] {
            let refused = try KioskProcess(["screenshot", "--socket", socket, own.path + "/" + name])
            #expect(refused.status() == 64 && refused.errors.contains("screenshots are PNG: name it \(own.path)/\(name.prefix(1)).png"))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: own.path).allSatisfy { !$0.contains("png.") && $0 != "a.jpg" })
    }

    @Test func nobodyListens() throws {
        let folder = try TestFolder()
        let kiosk = try KioskProcess(["screenshot", "--socket", folder.path + "/none.sock", folder.path + "/a.png"])
        #expect(kiosk.status() == 1)
        #expect(
            kiosk.errors
                == "no player listens at \(folder.path)/none.sock: if one runs, its log has the reason; or name its socket "
                + "([control] socket) with --socket\n")
    }
}
