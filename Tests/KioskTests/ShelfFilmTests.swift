import Foundation
import Glibc
import TestSupport
import Testing

/// The shelf's films, as the command line and the log show them.
@Suite(.blocking) struct ShelfFilmTests {
    /// A player with a shelf of two clips and a still, and a folder for films.
    private struct Box {
        let folder: TestFolder
        let configuration: String
        var films: String { folder.path + "/films" }
        var socket: String { folder.path + "/socket" }

        init(playback: String = "", exportFolder: String? = nil) throws {
            folder = try TestFolder()
            let clips = folder.path + "/clips"
            try FileManager.default.createDirectory(atPath: clips, withIntermediateDirectories: true)
            for name in ["faststart.mp4", "thirty.mp4", "still.png"] {
                try FileManager.default.copyItem(atPath: Clips.named(name), toPath: "\(clips)/\(name)")
            }
            configuration = try folder.file(
                "kiosk.conf",
                """
                [control]
                socket = "\(folder.path)/socket"
                [playback]
                \(playback)
                [shelf]
                folders = ["clips"]
                export-folder = "\(exportFolder ?? folder.path + "/films")"
                cache = "off"
                [[playlist]]
                source = "clips/faststart.mp4"
                """)
        }

        func play() throws -> KioskProcess {
            try KioskProcess(["--config", configuration, "--display", "offscreen", "--mode", "320x180", "--audio", "off"])
        }

        func ctl(_ words: String...) throws -> KioskProcess {
            let kiosk = try KioskProcess(["ctl", "--socket", socket] + words)
            _ = kiosk.status()
            return kiosk
        }

        /// Returns whether a command reaches this status within 120 s.
        func comes(to status: Int32, _ words: String...) -> Bool {
            eventually(120) { (try? KioskProcess(["ctl", "--socket", self.socket] + words))?.status() == status }
        }

        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: films)) ?? []).sorted() }
        func write(_ name: String, _ text: String) {
            _ = FileManager.default.createFile(atPath: "\(films)/\(name)", contents: Data(text.utf8))
        }
    }

    @Test func aFilmThatAPowerCutEndedIsMadeAtTheNextStart() throws {
        let box = try Box(playback: "image-duration = 1")
        try FileManager.default.createDirectory(atPath: box.films, withIntermediateDirectories: true)
        let still = box.folder.path + "/clips/still.png"
        box.write(".film-20260101-120000.mp4.toml", "[[clip]]\nsource = \"\(still)\"\n[[clip]]\nsource = \"\(still)\"\n")
        box.write(".film-20260101-120000.mp4.part", "half a film")
        box.write(".film-20260101-110000.mp4.part", "half a film")
        let kiosk = try box.play()
        let film = box.films + "/film-20260101-120000.mp4"
        // Each still lasts as long as in the player.
        #expect(kiosk.waits(for: "\(film) was made: 0:02.0", seconds: 900), "\(kiosk.errors)")
        #expect(kiosk.errors.contains("\(film) was not complete when the player ended: kiosk makes it again"))
        let other = "cannot make \(box.films)/film-20260101-110000.mp4: it was cut off, and its clips are not known"
        #expect(kiosk.errors.contains(other))
        #expect(box.names == ["film-20260101-120000.mp4"])
        #expect(kiosk.end() == 0)
    }

    @Test func aFilmIsMadeAgainAfterAKillAndAfterAnOrderlyEnd() throws {
        // The film is long enough to interrupt it.
        let box = try Box(playback: "image-duration = 600")
        var kiosk = try box.play()
        #expect(box.comes(to: 0, "shelf", "add", "still.png"))
        #expect(try box.ctl("shelf", "export").status() == 0)
        #expect(eventually(120) { box.names.contains { $0.hasSuffix(".part") } }, "\(kiosk.errors)")
        _ = kiosk.end(SIGKILL)
        let left = box.names
        #expect(left.count == 2 && left.allSatisfy { $0.hasPrefix(".film-") }, "\(left)")
        kiosk = try box.play()
        #expect(kiosk.waits(for: "kiosk makes it again"), "\(kiosk.errors)")
        #expect(eventually(120) { box.names.contains { $0.hasSuffix(".again.toml") } && box.names.contains { $0.hasSuffix(".part") } })
        #expect(kiosk.end() == 0)
        #expect(box.names.filter { $0.hasSuffix(".toml") } == left.filter { $0.hasSuffix(".toml") })
        // An orderly end is not the film's fault, so the player makes it once more. The film can be cancelled like any other.
        kiosk = try box.play()
        #expect(kiosk.waits(for: "kiosk makes it again"), "\(kiosk.errors)")
        #expect(box.comes(to: 0, "shelf", "cancel"))
        #expect(eventually(120) { box.names == [] }, "\(box.names)")
        #expect(kiosk.end() == 0)
    }

    @Test func aFolderForFilmsThatCannotBeIsSaidAtOnce() throws {
        let bad = try Box(exportFolder: "/proc/kiosk/films"), good = try Box()
        let said = "the shelf cannot make films: [shelf] export-folder /proc/kiosk/films: "
        let check = try KioskProcess(["check", "--config", bad.configuration, "--display", "offscreen"])
        #expect(check.status() == 0)
        #expect(check.errors == said + "neither it nor the folder that it lies in exists\n")
        #expect(try KioskProcess(["check", "--strict", "--config", bad.configuration, "--display", "offscreen"]).status() == 1)
        let asked = try KioskProcess(["check", "--strict", "--config", good.configuration, "--display", "offscreen"])
        #expect(asked.status() == 0 && asked.errors == "" && !FileManager.default.fileExists(atPath: good.films))
        var kiosk = try bad.play()
        #expect(kiosk.waits(for: said + "No such file or directory"), "\(kiosk.errors)")
        #expect(kiosk.end() == 0)
        kiosk = try good.play()
        #expect(eventually(120) { FileManager.default.fileExists(atPath: good.films) })
        #expect(kiosk.end() == 0 && !kiosk.errors.contains("no film"))
    }

    @Test func whatCannotBePlayedIsNotPutIntoTheFilm() throws {
        let box = try Box()
        try Data().write(to: URL(fileURLWithPath: box.folder.path + "/clips/empty.mp4"))
        let kiosk = try box.play()
        #expect(box.comes(to: 0, "shelf", "open"))
        // The player reads the clip when its card is visible.
        #expect(box.comes(to: 1, "shelf", "add", "empty.mp4"))
        #expect(try box.ctl("shelf", "add", "empty.mp4").errors.contains("empty.mp4: is empty"))
        // An `add` before that had put the clip into the film.
        _ = try box.ctl("shelf", "clear")
        for _ in 0..<2 { _ = try box.ctl("shelf", "add", "thirty.mp4") }
        _ = try box.ctl("shelf", "add", "faststart.mp4")
        _ = try box.ctl("shelf", "remove", "thirty.mp4")
        let film = try box.ctl("shelf", "film").output
        func clips(_ answer: String) -> [String] { answer.matches(of: #/(thirty|faststart)\.mp4/#).map { String($0.output.1) } }
        #expect(clips(film) == ["thirty", "faststart"], "\(film)")
        let moved = try box.ctl("shelf", "move", "1", "2")
        #expect(clips(moved.output) == ["faststart", "thirty"], "\(moved)")
        #expect(try clips(box.ctl("shelf", "move", "1", "9").output) == ["thirty", "faststart"])
        let refused = try box.ctl("shelf", "move", "3", "1")
        #expect(refused.status() == 1 && refused.errors.contains("the film has no clip 3: it has 2"), "\(refused)")
        // The thread that has read them waits for everything else: SCHED_IDLE of linux/sched.h.
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(kiosk.pid)/task").compactMap { pid_t($0) }
        let reader = threads.first { (try? String(contentsOfFile: "/proc/\($0)/comm", encoding: .utf8)) == "thumbnails\n" }
        #expect(try sched_getscheduler(#require(reader)) == 5)
        #expect(kiosk.end() == 0)
    }
}
