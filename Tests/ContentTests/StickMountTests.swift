import Configuration
import Foundation
import Testing

/// When deploy/kiosk-usb@.service mounts a stick: grep has to find in kiosk.conf what the player reads there.
@Suite struct StickMountTests {
    /// The regular expression of its ExecCondition.
    private static func expression() throws -> String {
        let unit = try String(
            contentsOfFile: #filePath.dropLast("Tests/ContentTests/StickMountTests.swift".count) + "deploy/kiosk-usb@.service",
            encoding: .utf8)
        let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecCondition=/bin/grep -Eqs '") })
        // systemd's way to write a dollar.
        return String(line.split(separator: "'")[1].replacing("$$", with: "$"))
    }

    @Test(arguments: [
        "", "[playback]\nusb = \"play\"", "[playback]\n  usb='copy'", "[playback]\nusb = \"off\"", "[playback]\n#usb = \"play\"",
        "[shelf]\nfolders = [\"/srv/videos\", \"usb\"]", "[shelf]\nfolders = ['usb']",
        "[shelf]\nfolders = [ \"usb\" , \"/srv\" ]  # sticks",
        "[shelf]\nfolders = [\n  \"/srv\",\n  \"usb\",\n]", "[shelf]\nfolders = [\n  \"usb\"\n]",
        "[shelf]\n# folders = [\"/srv/videos\", \"usb\"]",
        "[shelf]\nfolders = [\"/srv/usb\", \"usb.d\"]", "[shelf]\nfolders = [\"/srv\"] # or \"usb\"", "[[playlist]]\nsource = \"usb\"",
    ])
    func `sticks are mounted where kiosk.conf asks for them`(text: String) throws {
        let path = NSTemporaryDirectory() + "kiosk-sticks-\(UUID().uuidString).conf"
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let configuration = try Configuration.load(path)
        let isWanted = configuration.playback.usb != .off || configuration.shelf.folders.contains(StickUse.mounts)
        let grep = Process()
        grep.executableURL = URL(fileURLWithPath: "/bin/grep")
        grep.arguments = ["-Eqs", try Self.expression(), path]
        try grep.run()
        grep.waitUntilExit()
        #expect((grep.terminationStatus == 0) == isWanted, "\(text)")
    }
}
