import Foundation
import Glibc
import KioskPlatform
import TestSupport
import Testing

/// Playing offscreen, as `make run` does on a machine without a display.
@Suite(.blocking) struct PlayTests {
    /// A folder and options that keep a test away from the machine's own screen, speakers and keyboard.
    final class Stage {
        let folder: TestFolder
        let options: [String]
        var snapshots: String { folder.path + "/pictures" }

        init(_ arguments: String...) throws {
            folder = try TestFolder()
            let configuration = try folder.file("test.conf", "[input]\ngrab = false\ntouch = false\n")
            options = ["--config", configuration, "--display", "offscreen", "--mode", "320x180", "--audio", "off"] + arguments
        }

        /// Returns the number burned into the picture of item `index`, from 1.
        func number(inPictureOf index: Int) throws -> Int {
            let path = "\(snapshots)/item-\(index).png"
            let gray = try Clips.bytes(Clips.make("\(UUID().uuidString).raw", ["-i", path, "-f", "rawvideo", "-pix_fmt", "gray"]))
            #expect(gray.count == 320 * 180)
            return burnedInNumber(width: 320, height: 180) { x, y in Int(gray[y * 320 + x]) }
        }
    }

    static func clips() throws -> [String] {
        [try Clips.named("faststart.mp4"), try Clips.numbered("short.mp4", frames: 9, sound: false)]
    }

    @Test("Plays, takes a picture of every item once, and ends in order on a signal", arguments: [SIGINT, SIGTERM])
    func playsUntilASignal(_ signal: Int32) throws {
        let stage = try Stage()
        let kiosk = try KioskProcess(stage.options + ["--snapshots", stage.snapshots] + Self.clips())
        // A busy machine may need several loops of so short a clip.
        #expect(kiosk.waits(for: "short.mp4 looks like"))
        usleep(3_000_000)  // the playlist loops
        #expect(kiosk.end(signal) == 0)

        #expect(kiosk.output == "")
        for (index, name) in ["faststart.mp4", "short.mp4"].enumerated() {
            let line = "info kiosk: \(name) looks like \(stage.snapshots)/item-\(index + 1).png"
            #expect(kiosk.log.count { $0 == line } == 1)
        }
        // The pictures are of half a second into the first, and of half-way through the second. A busy machine decides the exact frame.
        let numbers = try (stage.number(inPictureOf: 1), stage.number(inPictureOf: 2))
        #expect((1...60).contains(numbers.0) && (1...9).contains(numbers.1), "\(numbers)")
        let shape = #/info kiosk: ended: ([0-9]+) frames shown, [0-9]+ late, ([0-9]+) dropped; ([0-9]+) seams, .*/#
        let summary = try #require(kiosk.log.last?.wholeMatch(of: shape))
        #expect(Int(summary.1)! + Int(summary.2)! > 30 && Int(summary.3)! >= 2, "\(summary.0)")
    }

    @Test(
        "A scheduled restart: a service ends, for systemd to start it with its watchdog; another player begins again",
        arguments: [false, true])
    func scheduledRestart(ofAService isService: Bool) throws {
        let stage = try Stage()
        var next = time(nil) + 60
        if next % 60 > 50 { next += 60 }
        var local = tm()
        localtime_r(&next, &local)
        let minute = String(format: "%02d:%02d", local.tm_hour, local.tm_min)
        let configuration = try stage.folder.file(
            "restart.conf", "[input]\ngrab = false\ntouch = false\n[[at]]\ntime = \"\(minute)\"\ndo = \"restart\"\n")
        let kiosk = try KioskProcess(
            ["--config", configuration] + stage.options.dropFirst(2) + ["--snapshots", stage.snapshots, Self.clips()[1]],
            wrapper: isService ? ["NOTIFY_SOCKET=@kiosk-test-\(UUID().uuidString)"] : [])
        let pid = kiosk.pid
        if isService {
            #expect(kiosk.status(within: 300) == 0)
        } else {
            #expect(eventually(300) { kiosk.log.count { $0.contains("looks like") } == 2 })
            #expect(kiosk.isRunning && kiosk.pid == pid)
            #expect(kiosk.end() == 0)
        }
        #expect(kiosk.log.count { $0.contains("kiosk: ended: ") } == (isService ? 1 : 2))
    }

    @Test("Proof of play counts each turn of a clip that follows itself by itself") func proofOfPlayOfOneClip() throws {
        let folder = try TestFolder()
        let (clip, proof) = (try Clips.numbered("second.mp4", frames: 30, sound: false), folder.path + "/proof")
        let path = try folder.file(
            "k.conf",
            "[display]\nconnector = \"offscreen\"\n[audio]\ndevice = \"off\"\n[input]\ngrab = false\ntouch = false\n"
                + "[log]\nproof-of-play = \"\(proof)\"\n[[playlist]]\nsource = \"\(clip)\"\n")
        let kiosk = try KioskProcess(["--config", path])
        func lines() -> [[String: Any]] {
            String(decoding: FileManager.default.contents(atPath: proof) ?? Data(), as: UTF8.self).split(separator: "\n").compactMap {
                try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
        }
        #expect(eventually(120) { lines().count >= 4 })
        #expect(kiosk.end() == 0)
        for line in lines().filter({ $0["complete"] as? Bool == true }) {
            // A busy machine shows fewer.
            let frames = try #require(line["framesShown"] as? Int)
            #expect((1...30).contains(frames), "\(line)")
            let seconds = try #require(line["seconds"] as? Double)
            #expect(seconds > 0.5 && line["clockSet"] == nil, "\(line)")
        }
    }

    @Test("A stream is asked for as its entry says: on the screen, when it is tried while the fallback is shown, and by the cache")
    func aStreamIsAskedForAsItsEntrySays() throws {
        let server = try FileServer(.init(Clips.bytes(Clips.named("faststart.mp4"))))
        server.change { $0.required = ("authorization", "Bearer 0123") }
        server.stop()
        let folder = try TestFolder()
        let configuration = try folder.file(
            "kiosk.conf",
            """
            [input]
            grab = false
            touch = false
            [playback]
            fallback = "\(Clips.numbered("short.mp4", frames: 9, sound: false))"
            cache = "10 MB"
            cache-folder = "\(folder.path)/cache"
            [[playlist]]
            source = "\(server.url("faststart.mp4"))"
            headers = { Authorization = "Bearer 0123" }
            user-agent = "sign 7"
            """)
        let options = ["--config", configuration, "--display", "offscreen", "--mode", "320x180", "--audio", "off"]
        let kiosk = try KioskProcess(options, in: folder.path)
        #expect(kiosk.waits(for: "kiosk shows short.mp4 until something can"), "\(kiosk.errors)")
        try server.restart()
        #expect(kiosk.waits(for: "is kept now"), "\(kiosk.errors)")
        // One request of the trial, one of the player and one of the cache.
        #expect(eventually(120) { server.requests.count >= 3 }, "\(server.requests)")
        #expect(
            server.requests.allSatisfy { $0.headers["authorization"] == "Bearer 0123" && $0.headers["user-agent"] == "sign 7" },
            "\(server.requests)")
        #expect(kiosk.end() == 0)
    }

    @Test("What FFmpeg and libasound log in their own words is told at debug, under their names, and only there")
    func linesOfTheLibraries() throws {
        func errors(_ level: String) throws -> String {
            let stage = try Stage("--log-level", level, "--audio", "hw:99,0")
            let broken = try stage.folder.file("broken.mp4", "no film")
            let kiosk = try KioskProcess(stage.options + [broken])
            #expect(kiosk.waits(for: "nothing on the playlist can be played"))
            // A thread of its own opens the sound.
            if level == "debug" { #expect(kiosk.waits(for: " alsa: ")) }
            #expect(kiosk.end() == 0)
            return kiosk.errors
        }
        let debug = try errors("debug")
        #expect(debug.contains(" debug ffmpeg: ") && debug.contains(" debug alsa: "), "\(debug)")
        let info = try errors("info")
        #expect(!info.contains(" ffmpeg: ") && !info.contains(" alsa: ") && !info.contains("ALSA lib") && !info.contains("moov"), "\(info)")
    }

    @Test func nohupIsHeeded() throws {
        let stage = try Stage("--snapshots")
        let kiosk = try KioskProcess(stage.options + [stage.snapshots] + Self.clips(), wrapper: ["nohup"])
        #expect(kiosk.waits(for: "faststart.mp4 looks like"))
        kill(kiosk.pid, SIGHUP)
        #expect(kiosk.status(within: 1) == nil)
        #expect(kiosk.isRunning)
        #expect(kiosk.end() == 0)
    }

    @Test("What cannot be played is named, and the rest plays") func badItems() throws {
        let stage = try Stage()
        let good = try Clips.named("faststart.mp4")
        let list = try stage.folder.file("list.m3u", "\(good)\nmissing.mp4\n")
        let kiosk = try KioskProcess(
            stage.options + ["--snapshots", stage.snapshots, "nonsense://there", Clips.file("empty.mp4", []), list, stage.folder.path])
        #expect(kiosk.waits(for: "faststart.mp4 looks like"))
        #expect(kiosk.end() == 0)
        for line in [
            "warning kiosk: nonsense://there: nonsense: is no protocol that kiosk plays: use http, https, rtsp, rtsps, rtp, udp, srt, rist or rtmp",
            "warning kiosk: \(Clips.folder)/empty.mp4: is empty (0 bytes): copy it again",
            "warning kiosk: folder \(stage.folder.path): no video, sound or image file in it",
        ] { #expect(kiosk.log.count { $0 == line } == 1, "\(line) in \(kiosk.errors)") }
    }

    @Test("With nothing playable it says so and goes on") func nothingPlayable() throws {
        let stage = try Stage("/nowhere/a.mp4", "http://127.0.0.1:9/b.mp4")
        let kiosk = try KioskProcess(stage.options)
        #expect(kiosk.waits(for: "error kiosk: nothing on the playlist can be played; trying again until something can"))
        #expect(kiosk.status(within: 3) == nil)
        #expect(kiosk.isRunning)
        #expect(kiosk.end() == 0)
        let missing = "warning kiosk: /nowhere/a.mp4: no such file: check the path, or copy the file there"
        #expect(kiosk.log.count { $0 == missing } == 1)
        #expect(kiosk.log.count { $0.contains("nothing on the playlist") } == 1)
        #expect(try #require(kiosk.log.last).hasPrefix("info kiosk: ended: "))
    }

    @Test("An empty folder is played as soon as there is something in it") func anEmptyFolder() throws {
        let stage = try Stage()
        let folder = try TestFolder()
        let kiosk = try KioskProcess(stage.options + ["--snapshots", stage.snapshots, folder.path])
        #expect(kiosk.waits(for: "warning kiosk: there is nothing to play: kiosk shows the background until there is"))
        try FileManager.default.copyItem(atPath: Clips.named("faststart.mp4"), toPath: folder.path + "/new.mp4")
        #expect(kiosk.waits(for: "new.mp4 looks like"))
        #expect(kiosk.end() == 0)
        #expect(kiosk.log.count { $0 == "warning kiosk: folder \(folder.path): no video, sound or image file in it" } == 1)
    }

    @Test("A folder that changes is played as it is now, with the screen and the sound kept") func aFolderThatChanges() throws {
        let stage = try Stage()
        let folder = try TestFolder()
        let (clip, short) = try (Clips.named("faststart.mp4"), Clips.numbered("short.mp4", frames: 9, sound: false))
        func copy(_ source: String, _ name: String) throws {
            // The folder never has half a file.
            try FileManager.default.copyItem(atPath: source, toPath: folder.path + "/.new")
            try FileManager.default.moveItem(atPath: folder.path + "/.new", toPath: folder.path + "/" + name)
        }
        try copy(short, "a.mp4")
        let kiosk = try KioskProcess(stage.options + ["--snapshots", stage.snapshots, folder.path])
        #expect(kiosk.waits(for: "a.mp4 looks like"))
        try copy(clip, "b.mp4")
        #expect(kiosk.waits(for: "the playlist has changed: 2 items; new: b.mp4"))
        #expect(kiosk.waits(for: "b.mp4 looks like"))
        // Replaced by a file of another name.
        try FileManager.default.moveItem(atPath: folder.path + "/b.mp4", toPath: folder.path + "/c.mp4")
        #expect(kiosk.waits(for: "the playlist has changed: 2 items; new: c.mp4; gone: b.mp4"))
        #expect(kiosk.waits(for: "c.mp4 looks like"))
        // The stick is pulled out, and another one put in.
        for name in ["a.mp4", "c.mp4"] { try FileManager.default.removeItem(atPath: folder.path + "/" + name) }
        #expect(kiosk.waits(for: "warning kiosk: folder \(folder.path): no video, sound or image file in it"))
        // Log lines about files that could not be opened meanwhile may follow.
        #expect(kiosk.waits(for: "warning kiosk: there is nothing to play: kiosk shows the background until there is"))
        try copy(clip, "d.mp4")
        #expect(kiosk.waits(for: "d.mp4 looks like"))
        #expect(kiosk.end() == 0)
        #expect(
            kiosk.log.count { $0 == "warning kiosk: folder \(folder.path): no video, sound or image file in it" } == 1, "\(kiosk.errors)")
        #expect(kiosk.log.count { $0.contains("frames shown") && $0.contains("ended") } == 1, "one player from the first to the last")
    }

    @Test("What a folder's link leads to may come later, and be another folder then") func aLinkThatChanges() throws {
        let stage = try Stage()
        let (folder, first, second) = try (TestFolder(), TestFolder(), TestFolder())
        let link = folder.path + "/stick"
        let clip = try Clips.named("faststart.mp4")
        let short = try Clips.numbered("short.mp4", frames: 9, sound: false)
        try FileManager.default.copyItem(atPath: clip, toPath: first.path + "/one.mp4")
        try FileManager.default.copyItem(atPath: clip, toPath: second.path + "/two.mp4")
        let kiosk = try KioskProcess(stage.options + ["--snapshots", stage.snapshots, link + "/", short])
        #expect(kiosk.waits(for: "short.mp4 looks like"))
        #expect(kiosk.log.count { $0.contains("warning kiosk: folder \(link)/: ") } == 1, "\(kiosk.errors)")
        for (target, name) in [(first, "one.mp4"), (second, "two.mp4")] {
            try? FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target.path)
            #expect(kiosk.waits(for: "\(name) looks like"))
        }
        #expect(kiosk.end() == 0)
        #expect(!kiosk.errors.contains("there is nothing to play"))
    }

    // MARK: Standard error

    @Test("A standard error that nobody reads holds nothing up") func blockedStandardError() throws {
        let pipe = Pipe()
        let end = pipe.fileHandleForWriting.fileDescriptor
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
        while write(end, "x", 1) == 1 {}
        _ = fcntl(end, F_SETFL, 0)
        try playsUnheard(standardError: pipe.fileHandleForWriting, wrapper: [])
    }

    @Test("A standard error that was closed at the other end ends nothing") func brokenStandardError() throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        try playsUnheard(standardError: pipe.fileHandleForWriting, wrapper: [])
    }

    @Test("Standard descriptors that are closed are not taken for devices") func closedDescriptors() throws {
        try playsUnheard(standardError: nil, wrapper: ["sh", "-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"])
    }

    private func playsUnheard(standardError: FileHandle?, wrapper: [String]) throws {
        let stage = try Stage("--log-level", "trace")
        let kiosk = try KioskProcess(
            stage.options + ["--snapshots", stage.snapshots] + Self.clips(), standardError: standardError, wrapper: wrapper)
        let last = stage.snapshots + "/item-2.png"
        #expect(eventually(120) { FileManager.default.fileExists(atPath: last) })
        #expect(kiosk.isRunning)
        #expect(kiosk.end() == 0)
        let number = try stage.number(inPictureOf: 1)
        #expect((1...60).contains(number), "\(number)")
    }

    @Test(
        "At a terminal the status line is one line, and gone in the end",
        .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/script"), "script(1) is not installed"), arguments: [60, 200])
    func statusLine(_ columns: Int) throws {
        let stage = try Stage("--log-level", "debug")
        let transcript = stage.folder.path + "/terminal"
        let pidFile = stage.folder.path + "/pid"
        let words = [KioskProcess.binary] + stage.options + ["--snapshots", stage.snapshots] + (try Self.clips())
        let command = "stty cols \(columns) rows 24; echo $$ > \(pidFile); exec \(words.joined(separator: " "))"
        let script = Process()
        script.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        script.arguments = ["script", "-qfec", command, transcript]
        script.environment = ProcessInfo.processInfo.environment.merging(["JOURNAL_STREAM": "", "SHELL": "/bin/sh"]) { $1 }
        script.standardInput = FileHandle.nullDevice
        script.standardOutput = FileHandle.nullDevice
        try script.run()
        func text() -> String { String(decoding: FileManager.default.contents(atPath: transcript) ?? Data(), as: UTF8.self) }
        #expect(eventually(120) { text().contains("short.mp4 looks like") })
        usleep(1_000_000)
        let pid = try #require(Int32(String(contentsOfFile: pidFile, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
        kill(pid, SIGTERM)
        try #require(eventually(120) { !script.isRunning })
        #expect(script.terminationStatus == 0)

        // The player erases each piece of a line before it writes the next one there.
        var shown: [String] = []
        var logged: [String] = []
        let terminal = text().prefix(upTo: text().firstRange(of: "\nScript done")?.lowerBound ?? text().endIndex)
        for line in terminal.split(separator: "\r\n").dropFirst() {
            let pieces = line.split(separator: "\r\u{1B}[K", omittingEmptySubsequences: false)
            shown += pieces.dropLast().map(String.init)
            logged += pieces.suffix(1).map(String.init)
        }
        let statuses = shown.filter { !$0.isEmpty }
        #expect(statuses.count > 10)
        for status in statuses { #expect(status.columns < columns && status.prefixMatch(of: /[0-9nS]/) != nil, "\(status)") }
        #expect(statuses.contains { $0.hasPrefix("1/2 faststart.mp4  0:0") })
        #expect(statuses.contains { columns < 80 ? $0.hasSuffix("…") : $0.contains(" seams") })
        for line in logged where !line.isEmpty { #expect(line.prefixMatch(of: #/[0-9:]{8} [a-z]+ [a-z]+:\s/#) != nil, "\(line)") }
        #expect(try #require(logged.last { !$0.isEmpty }).contains("info kiosk: ended: "))
    }
}
