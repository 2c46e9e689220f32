import Foundation
import TestSupport
import Testing

/// box.txt of an image (deploy/box): people write it on other computers, and root reads it.
@Suite(.blocking) struct BoxSettingsTests {
    private static let box = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/deploy/box"
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        for name in ["root/usr/share", "root/usr/share/zoneinfo/Europe", "root/etc/systemd", "data/ssh"] {
            try FileManager.default.createDirectory(atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(atPath: "\(Self.box)/usr/share/kiosk-box", toPath: "\(folder.path)/root/usr/share/kiosk-box")
        for name in ["root/usr/share/zoneinfo/Europe/Berlin", "root/etc/systemd/import-pubring.gpg", "data/ssh/ssh_host_ed25519_key"] {
            _ = try folder.file(name, "x")
        }
    }

    /// Returns the messages of `setup` about these lines.
    private func setUp(_ text: String) throws -> [Substring] {
        let file = try folder.file("box.txt", text)
        let setup = "\(Self.box)/usr/lib/kiosk-box/setup"
        return try Clips.run(["env", "BOX_ROOT=\(folder.path)/root", "BOX_DATA=\(folder.path)/data", "sh", setup, file]).split(
            separator: "\n")
    }

    private func text(_ name: String) -> String? { try? String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8) }

    /// A file as Windows' Notepad saves it.
    @Test func `everything that it can set`() throws {
        let lines = [
            "\u{FEFF}# A box", " HostName= lobby", "timezone =Europe/Berlin ", "wifi-country = de", "wifi-name = Guests \"of\" $(house)",
            "wifi-password = `not` a secret", "wifi-name = open one", "ssh-key = ssh-ed25519 AAAA me", "ssh-key = ssh-rsa BBBB you",
            "play = a \"quoted\\\" name.mp4", "play=http://127.0.0.1:9/a.m3u", "update = http://10.0.0.1/a&b|c%20d/",
        ]
        #expect(
            try setUp(lines.joined(separator: "\r\n")) == [
                "box.txt: the playlist is in kiosk.conf now; the one before is kiosk.conf.before"
            ])
        #expect(text("root/etc/hostname") == "lobby\n" && text("root/etc/hosts")?.contains("127.0.1.1 lobby\n") == true)
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder.path)/root/etc/localtime")
                == "/usr/share/zoneinfo/Europe/Berlin")
        #expect(text("root/etc/iwd/main.conf") == "[General]\nCountry=DE\n")
        func hex(_ name: String) -> String { name.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
        #expect(text("root/var/lib/iwd/=\(hex("Guests \"of\" $(house)")).psk") == "[Security]\nPassphrase=`not` a secret\n")
        #expect(text("root/var/lib/iwd/=\(hex("open one")).open") == "")
        #expect(text("root/run/box/authorized_keys") == "ssh-ed25519 AAAA me\nssh-rsa BBBB you\n")
        #expect(text("root/run/sysupdate.d/10-root.transfer")?.contains("\nPath=http://10.0.0.1/a&b|c%%20d/\n") == true)
        #expect(text("root/run/sysupdate.d/20-system.transfer")?.contains("\nPath=http://10.0.0.1/a&b|c%%20d/\n") == true)
        // kiosk accepts the written file, and only its owner and its group may read it.
        let configuration = "\(folder.path)/data/kiosk/kiosk.conf"
        #expect(try FileManager.default.attributesOfItem(atPath: configuration)[.posixPermissions] as? Int == 0o640)
        let check = try KioskProcess(["check", "--config", configuration])
        #expect(check.status() == 1)
        let checked = check.output
        #expect(checked.contains(#"a "quoted\" name.mp4"#) && checked.contains("a.m3u"), "\(checked)")
    }

    /// `setup` names the line of each mistake, and no mistake does harm.
    @Test(arguments: [
        ("hostname = -lobby", "letters, digits and hyphens"), ("hostname = a b", "letters, digits and hyphens"),
        ("hostname = \(String(repeating: "a", count: 64))", "at most 63"), ("hostname = a\tb", "control characters"),
        ("timezone = ../../../etc/shadow", "is no time zone"), ("timezone = /etc/shadow", "is no time zone"),
        ("timezone = Europe/Nowhere", "there is no time zone"), ("timezone = Europe", "there is no time zone"),
        ("wifi-country = Germany", "two letters"), ("wifi-name = \(String(repeating: "n", count: 33))", "at most 32 bytes"),
        ("wifi-password = short", "8 to 63"), ("ssh-key = AAAA", "no public key"), ("ssh-key = command=\"sh\" ssh-rsa A", "no public key"),
        ("update = file:///data/media", "https:// or http://"), ("update = http://a b", "no spaces"),
        ("hostnme = lobby", "there is no setting hostnme"),
        ("lobby", "write NAME = VALUE"), ("= x", "there is no setting"),
    ])
    func `lines with mistakes`(line: String, words: String) throws {
        let said = try setUp("# first\n\(line)\ntimezone = Europe/Berlin")
        #expect(said.count == 1 && said[0].hasPrefix("box.txt: line 2: ") && said[0].contains(words), "\(said)")
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder.path)/root/etc/localtime")
                == "/usr/share/zoneinfo/Europe/Berlin")
        #expect(
            text("root/etc/hostname") == nil && text("root/run/box/authorized_keys") == nil
                && text("root/run/sysupdate.d/10-root.transfer") == nil)
    }

    @Test func `kiosk.conf is its owner's until the lines of the playlist change`() throws {
        #expect(try setUp("") == [] && text("data/kiosk/kiosk.conf") == text("root/usr/share/kiosk-box/kiosk.conf"))
        #expect(try setUp("play = a.mp4").count == 1 && text("data/kiosk/kiosk.conf")?.contains("/data/media/a.mp4") == true)
        _ = try folder.file("data/kiosk/kiosk.conf", "mine")
        #expect(try setUp("play = a.mp4") == [] && text("data/kiosk/kiosk.conf") == "mine")
        #expect(try setUp("play = b.mp4").count == 1 && text("data/kiosk/kiosk.conf.before") == "mine")
        #expect(text("data/kiosk/kiosk.conf")?.contains("b.mp4") == true && text("data/kiosk/kiosk.conf")?.contains("a.mp4") == false)
    }
}
