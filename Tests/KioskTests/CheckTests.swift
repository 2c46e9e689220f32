import Foundation
import Glibc
import TestSupport
import Testing

/// `kiosk check`.
@Suite struct CheckTests {
    /// One clip of every kind that people bring.
    static func clips() throws -> [String] {
        let good = try Clips.numbered("good.mp4", frames: 60)
        let bytes = try Clips.bytes(good)
        let film = try Clips.numbered("film.mkv", frames: 48, rate: "24000/1001", sound: false)
        let picture = ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=2"]
        let encoded = ["-c:v", "libx264", "-pix_fmt", "yuv420p"]
        return [
            good,
            Clips.folder + "/missing.mp4",
            try Clips.file("empty.mp4", []),
            try Clips.file("truncated.mp4", Array(bytes.prefix(bytes.count / 2))),
            try Clips.file("text.mp4", Array("This is not a film.\n".utf8)),
            try Clips.make("black-tail.mp4", picture + ["-vf", "drawbox=color=black:t=fill:enable='gte(n,50)'"] + encoded),
            try Clips.make("long-sound.mp4", picture + ["-f", "lavfi", "-i", "sine=r=48000:d=3"] + encoded + ["-c:a", "aac"]),
            try Clips.numbered("silent.mp4", frames: 60, sound: false),
            try Clips.numbered("odd-rate.mp4", frames: 34, rate: "17", sound: false),
            film,
            try Clips.file("cut-off.mkv", Clips.bytes(film).dropLast(20000)),
            try Clips.make("interlaced.mp4", picture + ["-vf", "tinterlace=interleave_top", "-flags", "+ilme+ildct"] + encoded),
            try Clips.make("rotated.mp4", ["-i", good, "-c", "copy", "-metadata:s:v", "rotate=90"]),
            try Clips.make("日本語の映像.mp4", ["-i", good, "-c", "copy"]),
            try Clips.make("still.png", ["-f", "lavfi", "-i", "testsrc2=s=640x360", "-frames:v", "1"]),
            try Clips.make("sound.wav", ["-f", "lavfi", "-i", "sine=r=44100:d=2"]),
        ]
    }

    @Test func everyKindOfClip() throws {
        let kiosk = try KioskProcess(["check", "--display", "offscreen"] + Self.clips())
        #expect(kiosk.status(within: 120) == 1)
        try expect(kiosk.output.replacing(Clips.folder, with: "FOLDER"), isAsIn: "check.txt")
        #expect(kiosk.errors == "")
    }

    @Test func goodClipsAreStatusZero() throws {
        let good = try Clips.numbered("good.mp4", frames: 60)
        let kiosk = try KioskProcess(["check", "--refresh", "50", good])
        #expect(kiosk.status() == 0)
        #expect(
            kiosk.output == """
                   item      kind   codec  size     rate  duration  sound
                1  good.mp4  video  h264   320×240  30    0:02.0    aac 48 kHz mono
                     ! 30 frames a second on a 50 Hz display: frames stand for different numbers of vblanks
                1 item, 0 cannot be played; frame rates judged for 50 Hz

                """)
    }

    @Test func foldersAndLists() throws {
        let good = try Clips.numbered("good.mp4", frames: 60)
        let folder = try TestFolder()
        for name in ["clip 10.mp4", "clip 2.mp4", "._clip 2.mp4"] {
            try FileManager.default.copyItem(atPath: good, toPath: "\(folder.path)/\(name)")
        }
        _ = try folder.file("notes.txt", "nothing to play")
        let list = try folder.file("list.m3u", "#EXTM3U\n#EXTINF:2,A clip\nclip 10.mp4\r\n\n\(good)\nhttp://127.0.0.1:9/stream.mp4\n")
        let kiosk = try KioskProcess(["check", folder.path, list])
        #expect(kiosk.status() == 1)
        try expect(kiosk.output, isAsIn: "check-lists.txt")
    }

    @Test func nothingToPlay() throws {
        let folder = try TestFolder()
        let list = try folder.file("list.m3u", "# nothing\n")
        let kiosk = try KioskProcess(["check", folder.path, list, folder.path + "/gone/"])
        #expect(kiosk.status() == 1)
        #expect(kiosk.output == "there is nothing to play\n0 items, 0 cannot be played; frame rates judged for 60 Hz\n")
        #expect(
            kiosk.errors == """
                folder \(folder.path): no video, sound or image file in it
                list \(list): no entry in it
                folder \(folder.path)/gone/: No such file or directory

                """)
    }

    /// Runs a program as nobody; nil when that cannot be done with the built binary.
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
        let good = try Clips.numbered("good.mp4", frames: 60)
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
        #expect(play.errors == "\(configuration): cannot be read: permission denied; let the user the player runs as read it\n")
    }
}
