import Foundation
import Glibc
import TestSupport
import Testing

/// `kiosk check`.
@Suite(.blocking) struct CheckTests {
    /// Returns the gallery and four more: a missing file, black at the end, an odd rate, a name in Japanese.
    static func clips() throws -> [String] {
        try Clips.all()
        let black = "testsrc2=s=320x180:r=30:d=2,drawbox=color=black:t=fill:enable='gte(n,50)'"
        return try Clips.names().map(Clips.named) + [
            Clips.folder + "/missing.mp4",
            Clips.make("black-tail.mp4", ["-f", "lavfi", "-i", black, "-c:v", "libx264", "-pix_fmt", "yuv420p"]),
            Clips.numbered("odd-rate.mp4", frames: 34, rate: 17, sound: false),
            Clips.make("日本語の映像.mp4", ["-i", Clips.named("thirty.mp4"), "-c", "copy"]),
        ]
    }

    @Test func everyKindOfClip() throws {
        let kiosk = try KioskProcess(["check", "--display", "offscreen"] + Self.clips())
        #expect(kiosk.status(within: 120) == 1)
        try expect(kiosk.output, isAsIn: "check.txt")
        #expect(kiosk.errors == "")
    }

    /// At a desk without the display, `--mode` gives the refresh rate.
    @Test func theModeOfTheFileTellsTheRefresh() throws {
        let kiosk = try KioskProcess(["check", "--mode", "1280x720@50", "--display", "offscreen", Clips.named("faststart.mp4")])
        #expect(kiosk.status() == 0 && kiosk.output.hasSuffix("frame rates judged for 50 Hz\n"), "\(kiosk.output)")
    }

    @Test func goodClipsAreStatusZero() throws {
        let good = try Clips.named("faststart.mp4")
        let kiosk = try KioskProcess(["check", "--refresh", "50", "--display", "offscreen", good])
        #expect(kiosk.status() == 0)
        #expect(
            kiosk.output == """
                   item           kind   codec  size     rate  duration  sound
                1  faststart.mp4  video  h264   320×180  30    0:02.0    aac 48 kHz stereo
                     ! 30 frames a second on a 50 Hz display: frames stand for different numbers of vblanks
                Ways of pictures to the screen not checked: offscreen has no planes: all pictures are converted in software
                1 item, 0 cannot be played; frame rates judged for 50 Hz

                """)
    }

    @Test func warningsAreStatusOneWhereAskedFor() throws {
        let good = try Clips.named("faststart.mp4")
        for (refresh, status) in [("60", 0), ("50", 1)] {
            #expect(try KioskProcess(["check", "--strict", "--refresh", refresh, good]).status() == Int32(status))
        }
    }

    @Test func aFileHasOneNameWhateverItsURL() throws {
        let folder = try TestFolder()
        let clip = try Clips.named("faststart.mp4")
        let path = folder.path + "/a b.mp4"
        try FileManager.default.copyItem(atPath: clip, toPath: path)
        let url = folder.path + "/a%20b.mp4"
        let list = try folder.file("list.m3u", "#EXTM3U\nfile://\(url)\na%20b.mp4\n")
        let named = try folder.file("k.conf", "[[playlist]]\nsource = \"file:a b.mp4\"\n")
        let kiosk = try KioskProcess(
            ["check", "--refresh", "60", "--display", "offscreen", "file:\(path)", "file://\(url)", "file://localhost\(url)", list])
        #expect(kiosk.status() == 0, "\(kiosk.output)")
        #expect(kiosk.output.contains("5 items, 0 cannot be played"), "\(kiosk.output)")
        #expect(try KioskProcess(["check", "--refresh", "60", "--display", "offscreen", "--config", named]).status() == 0)
    }

    @Test func aRecordingThatBeginsBetweenTwoKeyFramesIsNotCutOff() throws {
        let whole = try Clips.bytes(
            Clips.numbered("key-frames.ts", frames: 90, extra: ["-g", "45", "-keyint_min", "45", "-sc_threshold", "0", "-bf", "0"]))
        let clip = try Clips.file("between.ts", Array(whole.dropFirst(whole.count / 188 / 5 * 188)))
        let folder = try TestFolder()
        for arguments in [
            ["check", "--refresh", "60", "--display", "offscreen", clip],
            ["export", clip, "--output", folder.path + "/film.mp4", "--size", "320x180", "--priority", "normal"],
        ] {
            let kiosk = try KioskProcess(arguments)
            #expect(kiosk.status() == 0 && !(kiosk.output + kiosk.errors).contains("cut off"), "\(kiosk.output)\(kiosk.errors)")
        }
    }

    @Test func aStreamIsAskedForAsItsEntrySays() throws {
        let server = try FileServer(.init(Clips.bytes(Clips.named("faststart.mp4"))))
        server.change { $0.required = ("authorization", "Bearer 0123") }
        let folder = try TestFolder()
        let entry = "[[playlist]]\nsource = \"\(server.url("faststart.mp4"))\"\n"
        let bare = try KioskProcess(["check", "--config", folder.file("bare.conf", entry), "--display", "offscreen"])
        #expect(bare.status() == 1 && bare.output.contains("cannot be played"), "\(bare.output)")
        let asked = server.requests.count
        let own = "headers = { Authorization = \"Bearer 0123\" }\nuser-agent = \"sign 7\"\n"
        let kiosk = try KioskProcess(["check", "--config", folder.file("own.conf", entry + own), "--display", "offscreen"])
        #expect(kiosk.status() == 0, "\(kiosk.output)")
        let requests = server.requests.dropFirst(asked)
        #expect(!requests.isEmpty && requests.allSatisfy { $0.headers["user-agent"] == "sign 7" }, "\(requests)")
    }

    @Test func noPasswordIsPrinted() throws {
        let folder = try TestFolder()
        let list = try folder.file("list.m3u", "http://viewer:secret@127.0.0.1:9/a.mp4\n")
        for arguments in [["check", "rtsp://viewer:secret@127.0.0.1:9", list], ["check", "http://viewer:sec/ret@127.0.0.1:9/"]] {
            let kiosk = try KioskProcess(arguments)
            #expect(kiosk.status() == 1)
            #expect(kiosk.output.contains("cannot be played") && !(kiosk.output + kiosk.errors).contains("viewer"))
            #expect(!(kiosk.output + kiosk.errors).contains("ret@"))
        }
    }

    @Test func foldersAndLists() throws {
        let good = try Clips.named("faststart.mp4")
        let folder = try TestFolder()
        for name in ["clip 10.mp4", "clip 2.mp4", "._clip 2.mp4"] {
            try FileManager.default.copyItem(atPath: good, toPath: "\(folder.path)/\(name)")
        }
        _ = try folder.file("notes.txt", "nothing to play")
        let list = try folder.file("list.m3u", "#EXTM3U\n#EXTINF:2,A clip\nclip 10.mp4\r\n\n\(good)\nhttp://127.0.0.1:9/stream.mp4\n")
        let kiosk = try KioskProcess(["check", "--display", "offscreen", folder.path, list])
        #expect(kiosk.status() == 1)
        try expect(kiosk.output.replacing(folder.path, with: "/media"), isAsIn: "check-lists.txt")
    }

    @Test func aLongNameDoesNotBreakTheTable() throws {
        let folder = try TestFolder()
        let long = String(repeating: "a long name ", count: 12) + "B.mp4"
        for name in ["1.mp4", long] {
            try FileManager.default.copyItem(atPath: Clips.named("faststart.mp4"), toPath: "\(folder.path)/\(name)")
        }
        let kiosk = try KioskProcess(["check", "--refresh", "60", "--display", "offscreen", folder.path])
        #expect(kiosk.status() == 0)
        let rows = kiosk.output.split(separator: "\n").prefix(3)
        #expect(
            rows.allSatisfy { $0.count < 110 } && rows[2].contains("a long name") && rows[2].contains("…")
                && rows[2].contains(" B.mp4  video"))
    }

    @Test func whatCommandsPlay() throws {
        let good = try Clips.named("faststart.mp4")
        let folder = try TestFolder()
        _ = try folder.file(
            "kiosk.conf",
            """
            [input.keys]
            f1 = "play gone.mp4 then resume"
            [[playlist]]
            source = "\(good)"
            on-tap = "play \(good)"
            """)
        let kiosk = try KioskProcess(["check", "--refresh", "60"], in: folder.path)
        #expect(kiosk.status() == 1)
        #expect(kiosk.output.contains("gone.mp4") && kiosk.output.contains("\n2 items, 1 cannot be played"))
        let named = try KioskProcess(["check", "--refresh", "60", good], in: folder.path)
        #expect(named.status() == 0, "only what is named is looked at")
    }

    @Test func nothingToPlay() throws {
        let folder = try TestFolder()
        let list = try folder.file("list.m3u", "# nothing\n")
        let kiosk = try KioskProcess(["check", folder.path, list, folder.path + "/gone/"])
        #expect(kiosk.status() == 1)
        #expect(
            kiosk.output == """
                there is nothing to play
                Not played, because the name does not end like that of a video, a sound or an image:
                  \(list)
                0 items, 0 cannot be played; frame rates judged for 60 Hz

                """)
        #expect(
            kiosk.errors == """
                folder \(folder.path): no video, sound or image file in it
                list \(list): no entry in it
                folder \(folder.path)/gone/: No such file or directory

                """)
    }

    /// The words that run a program as nobody, none without root; nil if nobody cannot run the built binary.
    static let asNobody: [String]? = {
        if getuid() != 0 { return [] }
        let wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        let test = Process()
        test.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        test.arguments = wrapper + ["test", "-x", KioskProcess.binary]
        guard (try? test.run()) != nil else { return nil }
        test.waitUntilExit()
        return test.terminationStatus == 0 ? wrapper : nil
    }()

    @Test(.enabled(if: asNobody != nil, "root may read everything, and setpriv cannot run the binary as nobody"))
    func whatMayNotBeRead() throws {
        let good = try Clips.named("faststart.mp4")
        let folder = try TestFolder()
        let path = folder.path + "/secret.mp4"
        try FileManager.default.copyItem(atPath: good, toPath: path)
        #expect(chmod(path, 0) == 0)
        let configuration = try folder.file("secret.conf", "")
        #expect(chmod(configuration, 0) == 0)

        let check = try KioskProcess(["check", path], wrapper: try #require(Self.asNobody))
        #expect(check.status() == 1)
        #expect(check.output.contains("! cannot be played: permission denied: make it readable for the user that kiosk runs as\n"))
        let play = try KioskProcess(["--config", configuration], wrapper: try #require(Self.asNobody))
        #expect(play.status() == 78)
        #expect(play.errors == "\(configuration): cannot be read: permission denied; let the player's user read the file\n")
    }

    /// The package installs kiosk.conf in this way: only root and its group may read it.
    @Test(.enabled(if: getuid() == 0 && asNobody?.isEmpty == false, "only root gives a file to another group"))
    func `a kiosk.conf that only its group may read is never taken for none`() throws {
        let folder = try TestFolder()
        let path = try folder.file("kiosk.conf", "[audio]\ndevice = \"off\"\n")
        let group = try #require(getgrnam("audio")).pointee.gr_gid
        try #require(chown(path, 0, group) == 0 && chmod(path, 0o640) == 0)
        let complaint = "\(path): cannot be read: permission denied; use sudo, or join the group audio: sudo usermod -aG audio NAME\n"
        let asks = [["check"], ["devices"], ["status"], ["ctl"], ["wants-sticks"], []]
        for command in asks {
            let kiosk = try KioskProcess(
                command + ["--config", path] + (command == ["ctl"] ? ["pause"] : []), wrapper: try #require(Self.asNobody))
            #expect(kiosk.status() == 78 && kiosk.errors == complaint, "\(command): \(kiosk.output)\(kiosk.errors)")
        }
        let json = try KioskProcess(["ctl", "--config", path, "--json", "pause"], wrapper: try #require(Self.asNobody))
        #expect(json.status() == 78 && json.output.contains("join the group audio"), "\(json.output)")
        let doctor = try KioskProcess(["doctor", "--config", path], wrapper: try #require(Self.asNobody))
        _ = doctor.status()
        #expect(doctor.errors == complaint && doctor.output.contains("not checked: \(path), as"), "\(doctor.output)")
        #expect(doctor.output.contains("→ sudo kiosk doctor"))
    }
}
