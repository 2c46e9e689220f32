import Foundation
import KioskPlatform
import TestSupport
import Testing

/// `kiosk export` as a user runs it.
@Suite(.blocking, .serialized) struct ExportTests {
    private func names(_ folder: TestFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    /// Returns ffprobe's report on a file: codecs, size, pictures.
    private func probe(_ path: String) throws -> String {
        let program = Process(), output = Pipe()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        program.arguments =
            [
                "ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,width,height,nb_read_frames", "-of",
                "csv=p=0", path,
            ]
        program.standardOutput = output
        try program.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        program.waitUntilExit()
        #expect(program.terminationStatus == 0)
        return text
    }

    @Test func aFilmOfClipsAndMusic() throws {
        let folder = try TestFolder()
        let film = folder.path + "/film.mp4"
        let kiosk = try KioskProcess(
            [
                "export", Clips.named("thirty.mp4"), Clips.named("turned-90.mp4"), Clips.named("still.jpg"), "--music",
                Clips.named("sound-only.m4a"), "--image-duration", "1", "--size", "320x180", "--title", "Test", "--priority", "normal",
                "-o", film,
            ])
        #expect(kiosk.status(within: 120) == 0)
        #expect(kiosk.output == "\(film): 0:02.8, 320x180 at 30 pictures a second, 84 pictures (libx264)\n")
        #expect(kiosk.errors.contains(" %, "))
        #expect(kiosk.errors.hasSuffix("note: the music is 0:01.8 shorter than the film: it begins again\n"))
        #expect(try names(folder) == ["film.mp4"])
        let said = try probe(film)
        #expect(said.contains("h264,320,180,84") && said.contains("aac"))
    }

    @Test func anArrangement() throws {
        let folder = try TestFolder()
        try FileManager.default.copyItem(atPath: Clips.named("thirty.mp4"), toPath: folder.path + "/a.mp4")
        let path = try folder.file(
            "film.toml",
            """
            [output]
            rate = 25
            [film]
            transition = "fade"
            transition-duration = 0.4
            [[clip]]
            card = "Hello"
            duration = 1
            [[clip]]
            source = "a.mp4"
            """)
        let film = folder.path + "/film.mp4"
        let kiosk = try KioskProcess(["export", path, "-o", film, "--quiet", "--priority", "normal"])
        #expect(kiosk.status(within: 120) == 0)
        #expect(kiosk.output == "" && kiosk.errors == "")
        #expect(try probe(film).contains("h264,320,180,40"))
    }

    @Test func mistakes() throws {
        let folder = try TestFolder()
        let path = try folder.file("film.toml", "[output]\nsize = \"big\"\n[[clip]]\nsorce = \"a.mp4\"\n")
        let kiosk = try KioskProcess(["export", path, "-o", folder.path + "/film.mp4"])
        #expect(kiosk.status() == 78)
        #expect(
            kiosk.errors == """
                \(path):2:8: [output] size: expected a size such as "1920x1080", even numbers from 16 to 8192, found "big"
                \(path):3:1: [[clip]] source: missing; name a file or a URL, or write a title with card
                \(path):4:1: [[clip]] sorce: unknown key, did you mean “source”?

                """)
        let none = try KioskProcess(["export", "-o", "film.mp4"])
        #expect(none.status() == 64 && none.errors.hasPrefix("Error: name the sources of the film, or an arrangement file\n"))
        let two = try KioskProcess(["export", path, "a.mp4", "-o", "film.mp4"])
        #expect(two.status() == 64 && two.errors.contains("an arrangement file stands alone; name its clips in the file"))
        let mode = try KioskProcess(["export", "a.mp4", "--music-mode", "mix", "-o", "film.mp4"])
        #expect(mode.status() == 64 && mode.errors.contains("there is no music: name it with --music"))
        let size = try KioskProcess(["export", "a.mp4", "--size", "3x3", "-o", "film.mp4"])
        #expect(size.status() == 64)
        #expect(
            size.errors.hasPrefix(
                "Error: The value '3x3' is invalid for '--size <size>': expected a size such as 1920x1080, even numbers from 16 to 8192\n"))
        let missing = try KioskProcess(["export", "/nowhere/a.mp4", "/nowhere/b.mp4", "-o", folder.path + "/film.mp4"])
        #expect(missing.status() == 1)
        #expect(
            missing.errors
                == "/nowhere/a.mp4: no such file: check the path, or copy the file there\n"
                + "/nowhere/b.mp4: no such file: check the path, or copy the file there\n")
        #expect(try names(folder) == ["film.toml"])
    }

    /// Starts an export that takes a while.
    private func long(_ folder: TestFolder, _ extra: [String] = []) throws -> KioskProcess {
        try KioskProcess(
            [
                "export", Clips.named("corners.mp4"), Clips.named("still.png"), "--image-duration", "60", "--size", "1280x720",
                "--priority",
                "normal", "-o", folder.path + "/film.mp4",
            ] + extra)
    }

    @Test(arguments: [SIGINT, SIGTERM]) func cancelledNothingIsLeft(_ signal: Int32) throws {
        let folder = try TestFolder()
        let kiosk = try long(folder)
        #expect(eventually(120) { (try? names(folder)) == [".film.mp4.part"] })
        #expect(kiosk.end(signal) == 130)
        #expect(kiosk.errors.hasSuffix("cancelled; nothing is left of it\n"))
        #expect(try names(folder) == [])
    }

    @Test func killedAtAnyInstantNoHalfFileIsInTheWay() throws {
        let folder = try TestFolder()
        for attempt in 0..<6 {
            let kiosk = try long(folder)
            if attempt > 0 { #expect(eventually(120) { (try? names(folder)) == [".film.mp4.part"] }) }
            usleep(UInt32.random(in: 0..<700_000))
            #expect(kiosk.end(SIGKILL) == nil)
            // The file is hidden, and does not have the film's name.
            #expect(try names(folder).allSatisfy { $0 == ".film.mp4.part" })
        }
        // The remains do not block the next export.
        let again = try KioskProcess(
            ["export", Clips.named("corners.mp4"), "--priority", "normal", "--quiet", "-o", folder.path + "/film.mp4"])
        #expect(again.status(within: 120) == 0 && again.errors == "")
        #expect(try names(folder) == ["film.mp4"])
        #expect(try probe(folder.path + "/film.mp4").contains("640,480,60"))
    }

    @Test func twoOfOneName() throws {
        let folder = try TestFolder()
        let kiosk = try long(folder)
        #expect(eventually(120) { (try? names(folder)) == [".film.mp4.part"] })
        let other = try long(folder)
        #expect(other.status(within: 120) == 1)
        #expect(other.errors == "\(folder.path)/film.mp4: another kiosk is writing it: wait for that, or choose another name\n")
        #expect(kiosk.end() == 130)
    }
}
