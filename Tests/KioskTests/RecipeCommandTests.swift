import Foundation
import TestSupport
import Testing

/// docs/recipes.md, tested by the program itself: each kiosk.conf has something to play, and no command is unknown.
@Suite(.blocking) struct RecipeCommandTests {
    /// Makes the files that the recipes have below /srv, in a folder of the test.
    private func media() throws -> TestFolder {
        let folder = try TestFolder()
        for name in ["kiosk", "share", "signs"] {
            try FileManager.default.createDirectory(atPath: "\(folder.path)/srv/\(name)", withIntermediateDirectories: true)
        }
        let files = [
            ("faststart.mp4", "kiosk/welcome.mp4"), ("faststart.mp4", "kiosk/film.mp4"), ("still.png", "kiosk/picture.png"),
            ("faststart.mp4", "share/far.mp4"), ("still.png", "signs/logo.png"),
        ]
        for (clip, place) in files {
            try FileManager.default.copyItem(atPath: Clips.named(clip), toPath: "\(folder.path)/srv/\(place)")
        }
        _ = try folder.file("srv/kiosk/film.de.srt", "1\n00:00:00,000 --> 00:00:02,000\nHallo\n")
        _ = try folder.file("srv/signs/ticker.txt", "Welcome\nWe close at six\n")
        return folder
    }

    /// Returns the arguments of each `kiosk` in a line of shell: as the first word, after sudo, or after ssh and a name.
    private func commands(_ line: String) -> [[String]] {
        let words = line.matches(of: #/"[^"]*"|[^\s"]+/#).map { String($0.output).replacing("\"", with: "") }
        var commands: [[String]] = []
        for index in words.indices where words[index] == "kiosk" {
            let isHere = index == 0 || words[index - 1] == "sudo"
            let isThere = index > 1 && words[index - 2] == "ssh"
            if !isHere, !isThere { continue }
            let rest = words.dropFirst(index + 1)
            commands.append(Array(rest.prefix { !["#", "|", "&", "&&", "||"].contains($0) && !$0.hasPrefix(">") }))
        }
        return commands
    }

    @Test func `each kiosk.conf has something to play`() throws {
        let folder = try media()
        let texts = try RecipePage().configurations
        #expect(texts.count >= 12)
        for text in texts {
            let path = try folder.file("kiosk.conf", text.replacing("\"/srv/", with: "\"\(folder.path)/srv/"))
            let kiosk = try KioskProcess(["check", "--refresh", "60", "--display", "offscreen", "--config", path])
            #expect(kiosk.status() == 0, "\(text)\(kiosk.output)\(kiosk.errors)")
            #expect(kiosk.errors == "", "\(text)\(kiosk.errors)")
        }
    }

    @Test(arguments: [
        ("Play only from 9 to 18 h", "10:00", " 10:00  the playlist\n"),
        ("Play only from 9 to 18 h", "20:00", " 20:00  the display is off: program “closed”"),
        ("Lower the volume at night", "21:00", "The next command: Fri 2026-11-27 22:00, “volume 20”"),
        ("Lower the volume at night", "23:00", "The next command: Sat 2026-11-28 07:00, “volume 80”"),
        ("Restart at 4", "12:00", "The next command: Sat 2026-11-28 04:00, “restart”"),
    ]) func `the schedule says what the recipe says`(heading: String, time: String, line: String) throws {
        let folder = try TestFolder()
        let path = try folder.file("kiosk.conf", try #require(try RecipePage().configuration(of: heading)))
        let kiosk = try KioskProcess(["schedule", "--config", path, "--at", "2026-11-27 \(time)"])
        #expect(kiosk.status() == 0 && kiosk.errors == "", "\(kiosk.errors)")
        #expect(kiosk.output.contains(line), "\(kiosk.output)")
    }

    /// A known command runs, or finds no player. The status of a mistake on the command line is 64. kiosk plays a word that is no
    /// subcommand, and does not end.
    @Test func `no command is unknown`() throws {
        let folder = try media()
        // No player listens on this socket.
        let path = try folder.file(
            "kiosk.conf",
            "[control]\nsocket = \"\(folder.path)/none.sock\"\n[[playlist]]\nsource = \"\(folder.path)/srv/kiosk\"\n")
        let lines = try RecipePage().scripts.flatMap { $0.split(separator: "\n").map(String.init) }
        let found = lines.flatMap { commands($0) }
        #expect(found.count >= 10, "\(found)")
        for arguments in found {
            let kiosk = try KioskProcess(arguments.map { $0 == "/etc/kiosk/kiosk.conf" ? path : $0 }, in: folder.path)
            let status = kiosk.status(within: 60)
            #expect(status == 0 || status == 1, "kiosk \(arguments.joined(separator: " ")): \(kiosk.errors)")
        }
    }
}
