import Foundation
import Glibc
import TestSupport
import Testing

/// Changes of kiosk.conf and its folder while the player runs.
@Suite struct ReloadTests {
    @Test func whatIsSavedIsTakenOverAndWhatIsWrongIsNot() throws {
        let folder = try TestFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/media", withIntermediateDirectories: true)
        let clip = try Clips.named("faststart.mp4")
        try FileManager.default.copyItem(atPath: clip, toPath: folder.path + "/media/a.mp4")
        func save(_ display: String, _ rest: String = "") throws -> String {
            try folder.file("kiosk.conf", Self.text(display, rest + "[[playlist]]\nsource = \"media\"\n"))
        }
        let path = try save("")
        // The player has a session of its own, like a service.
        let pidFile = folder.path + "/pid"
        let kiosk = try KioskProcess(
            ["--config", path, "--log-level", "debug"],
            wrapper: ["setsid", "--wait", "sh", "-c", "echo $$ > \(pidFile); exec \"$0\" \"$@\""])
        // The process that the test waits for is setsid, not the player.
        defer { if let pid = try? Self.pid(pidFile) { kill(pid, SIGKILL) } }
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
        #expect(kiosk.waits(for: "kiosk.conf is not applied: kiosk keeps the old settings"))
        _ = try save("mode = \"640x480\"\n")
        #expect(kiosk.waits(for: "kiosk.conf: restart kiosk to apply [display] mode"))
        #expect(kiosk.isRunning && !kiosk.errors.contains("3 items"))
    }

    @Test("Whatever need not wait for a restart does not") func whatIsTakenOver() throws {
        let folder = try TestFolder()
        let clip = try Clips.numbered("turns.mp4", frames: 15, from: 1)
        func save(_ table: String, _ rest: String = "") throws -> String {
            try folder.file(
                "kiosk.conf",
                "[display]\nconnector = \"offscreen\"\nmode = \"320x180\"\n[audio]\ndevice = \"off\"\n" + table
                    + "[[playlist]]\nsource = \"\(clip)\"\n")
        }
        let (first, second) = (folder.path + "/first.sock", folder.path + "/second.sock")
        let proof = folder.path + "/proof.jsonl"
        let input = "[input]\ngrab = false\ntouch = false\n"
        let path = try save(input + "[control]\nsocket = \"\(first)\"\n")
        let kiosk = try KioskProcess(["--config", path])
        #expect(eventually(120) { FileManager.default.fileExists(atPath: first) })
        func ask(_ words: String..., at socket: String) throws -> (status: Int32?, output: String) {
            let client = try KioskProcess(["ctl", "--socket", socket] + words)
            return (client.status(), client.output)
        }
        #expect(try ask("quit", at: first).status == 1)

        _ = try save(
            input + "allow-quit = true\n[input.keys]\nspace = \"pause\"\n[theme]\naccent = \"#ff0000\"\n"
                + "[idle]\nafter = 10\n[control]\nsocket = \"\(second)\"\n[log]\nlevel = \"debug\"\nproof-of-play = \"\(proof)\"\n")
        #expect(
            kiosk.waits(for: "kiosk.conf was read again: [input], [theme], [idle], [control] socket, [log] level, [log] proof-of-play"))
        #expect(eventually(120) { FileManager.default.fileExists(atPath: second) && !FileManager.default.fileExists(atPath: first) })
        #expect(try ask("log-level", at: second).output.contains("debug"))
        #expect(eventually(120) { (FileManager.default.contents(atPath: proof)?.count ?? 0) > 0 })
        #expect(try ask("log-level", "warning", at: second).status == 0)
        #expect(!kiosk.errors.contains("restart kiosk to apply"))
        // allow-quit applies now, too.
        #expect(try ask("quit", at: second).status == 0)
        #expect(kiosk.status() == 0)
        #expect(!FileManager.default.fileExists(atPath: second))
    }

    @Test("A service reads the file again on SIGHUP, also where nothing has changed") func aHangupOfAService() throws {
        let folder = try TestFolder()
        let path = try folder.file("kiosk.conf", Self.text(""))
        let clip = try Clips.named("faststart.mp4")
        let pidFile = folder.path + "/pid"
        let kiosk = try KioskProcess(
            ["--config", path, "--log-level", "debug", clip],
            wrapper: ["setsid", "--wait", "sh", "-c", "echo $$ > \(pidFile); exec \"$0\" \"$@\""])
        #expect(kiosk.waits(for: "playing faststart.mp4"))
        let pid = try Self.pid(pidFile)
        defer { kill(pid, SIGKILL) }
        _ = try folder.file("kiosk.conf", Self.text("rotation = 1\n"))
        func refusals() -> Int { kiosk.log.count { $0.contains("kiosk.conf is not applied") } }
        #expect(eventually(120) { refusals() == 1 })
        kill(pid, SIGHUP)
        #expect(eventually(120) { refusals() == 2 })
        #expect(kiosk.isRunning && !kiosk.errors.contains("ended: "))
        kill(pid, SIGTERM)
        #expect(kiosk.status() == 0)
    }

    /// Ways to change a file other than an editor: each is a line of shell that makes it, and one that changes it.
    @Test(arguments: [
        ("mkdir data etc; cp old data/k.conf; ln -s ../data/k.conf etc/k.conf", "cat new > data/k.conf", "etc/k.conf"),
        (
            "mkdir ..1 ..2; cp old ..1/k.conf; cp new ..2/k.conf; ln -s ..1 ..data; ln -s ..data/k.conf k.conf",
            "ln -s ..2 t; mv -T t ..data", "k.conf"
        ),
        ("mkdir r1 r2; cp old r1/k.conf; cp new r2/k.conf; ln -s r1 now", "ln -s r2 t; mv -T t now", "now/k.conf"),
        ("mkdir etc; cp old etc/k.conf", "mv etc gone; sleep 0.5; mkdir etc; cp new etc/k.conf", "etc/k.conf"),
    ]) func isReadAgainHoweverItIsChanged(make: String, change: String, path: String) throws {
        let folder = try TestFolder()
        let entry = "[[playlist]]\nsource = \"\(try Clips.named("faststart.mp4"))\"\n"
        for (name, line) in [("old", ""), ("new", "rotation = 180\n")] { _ = try folder.file(name, Self.text(line, entry)) }
        func run(_ line: String) { #expect(system("cd '\(folder.path)' && { \(line); }") == 0) }
        run(make)
        let kiosk = try KioskProcess(["--config", "\(folder.path)/\(path)", "--log-level", "debug"])
        #expect(kiosk.waits(for: "playing faststart.mp4"))
        run(change)
        // The player sees the change sooner than a look at everything would.
        #expect(kiosk.waits(for: "k.conf was read again: [display] rotation"))
        #expect(kiosk.end() == 0)
    }

    @Test("A file that names nothing to play any more is read twice, and told") func emptied() throws {
        let folder = try TestFolder()
        let entry = "[[playlist]]\nsource = \"\(try Clips.named("faststart.mp4"))\"\n"
        let path = try folder.file("kiosk.conf", Self.text("", entry))
        let kiosk = try KioskProcess(["--config", path, "--log-level", "debug"])
        #expect(kiosk.waits(for: "playing faststart.mp4"))
        #expect(system(": > '\(path)'; sleep 0.3; echo '\(Self.text("rotation = 90\n", entry))' > '\(path)'") == 0)
        #expect(kiosk.waits(for: "kiosk.conf was read again: [display] rotation"))
        #expect(!kiosk.errors.contains("there is nothing to play"))
        _ = try folder.file("kiosk.conf", Self.text("rotation = 90\n"))
        #expect(kiosk.waits(for: "kiosk.conf no longer names anything to play"))
        #expect(kiosk.waits(for: "kiosk.conf was read again: [[playlist]]"))
        #expect(kiosk.waits(for: "there is nothing to play"))
        #expect(kiosk.end() == 0)
    }

    @Test(
        "A terminal that is closed ends the player that was started there",
        .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/script"), "script(1) is not installed"))
    func aHangupOfATerminal() throws {
        let folder = try TestFolder()
        let path = try folder.file("kiosk.conf", Self.text(""))
        let clip = try Clips.named("faststart.mp4")
        let (pidFile, errors) = (folder.path + "/pid", folder.path + "/errors")
        // A child of the shell that leads the session, as a person starts it. It runs in the foreground: the shell's `wait` needs SIGCHLD,
        // which the threads of these tests block.
        let player = "echo $$ > \(pidFile); exec \(KioskProcess.binary) --config \(path) --log-level debug \(clip) 2> \(errors)"
        let command = "sh -c '\(player)'; exit $?"
        let terminal = Process()
        terminal.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        terminal.arguments = ["script", "-qfec", command, folder.path + "/terminal"]
        terminal.environment = ProcessInfo.processInfo.environment.merging(["JOURNAL_STREAM": "", "SHELL": "/bin/sh"]) { $1 }
        terminal.standardInput = FileHandle.nullDevice
        terminal.standardOutput = FileHandle.nullDevice
        try terminal.run()
        defer { if terminal.isRunning { terminal.terminate() } }
        func text() -> String { String(decoding: FileManager.default.contents(atPath: errors) ?? Data(), as: UTF8.self) }
        #expect(eventually(120) { text().contains("playing faststart.mp4") })
        kill(try Self.pid(pidFile), SIGHUP)
        try #require(eventually(120) { !terminal.isRunning }, "\(text())")
        #expect(text().contains("info kiosk: ended: ") && terminal.terminationStatus == 0, "\(text())")
    }

    private static func pid(_ file: String) throws -> Int32 {
        try #require(Int32(String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// Returns a kiosk.conf without a display, a sound card and a socket.
    private static func text(_ display: String, _ rest: String = "") -> String {
        "[display]\nconnector = \"offscreen\"\n\(display)[audio]\ndevice = \"off\"\n[control]\nsocket = \"off\"\n"
            + "[input]\ngrab = false\ntouch = false\n\(rest)"
    }

    @Test("Where nothing can be played the fallback is shown, and what comes later is played") func theFallback() throws {
        let folder = try TestFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/media", withIntermediateDirectories: true)
        let (clip, sign) = try (Clips.named("faststart.mp4"), Clips.numbered("sign.mp4", frames: 30, from: 500))
        let path = try folder.file(
            "kiosk.conf", Self.text("mode = \"320x180\"\n", "[playback]\nfallback = \"\(sign)\"\n[[playlist]]\nsource = \"media\"\n"))
        let kiosk = try KioskProcess(["--config", path, "--snapshots", folder.path + "/pictures"])
        #expect(kiosk.waits(for: "nothing can be played: kiosk shows sign.mp4 until something can"))
        #expect(kiosk.waits(for: "sign.mp4 looks like"))
        try FileManager.default.copyItem(atPath: clip, toPath: folder.path + "/media/a.mp4")
        #expect(kiosk.waits(for: "the playlist has changed: 1 item; new: a.mp4; gone: sign.mp4"))
        #expect(kiosk.waits(for: "a.mp4 looks like"))
        // And back.
        try FileManager.default.removeItem(atPath: folder.path + "/media/a.mp4")
        #expect(kiosk.waits(for: "the playlist has changed: 1 item; new: sign.mp4; gone: a.mp4"))
        #expect(kiosk.end() == 0)
        #expect(kiosk.log.count { $0.contains("nothing can be played: kiosk shows sign.mp4") } == 2, "\(kiosk.errors)")
    }
}
