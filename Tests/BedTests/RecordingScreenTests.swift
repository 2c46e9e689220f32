import Bed
import Foundation
import KioskVocabulary
import Testing

@testable import KioskControlsCore

/// Recording in the player, as a visitor has it: vivid is the camera, and fingers press the buttons on the screen.
extension BedTests.Recordings {
    /// A player that records, with the paths of its films and its socket.
    struct Stage {
        let folder = "/tmp/kiosk-bed-films-\(UUID().uuidString)"
        let clip: NumberedClip
        var socket: String { folder + ".sock" }
        var ctl: String { "$(readlink /proc/$PLAYER/exe) ctl --socket \(socket)" }

        init() throws {
            clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        func remove() { for path in [folder, socket] { try? FileManager.default.removeItem(atPath: path) } }

        /// Returns a program that plays the clip, and with `playsFilms` the films, too. A tap on the clip shows the camera.
        func program(
            _ more: String = "", films: String? = nil, size: String = "640x360@30", microphone: String = "hw:Loopback,1",
            playsFilms: Bool = false
        ) -> Program {
            .kiosk(
                KioskConfiguration(
                    display: "physical-size = \"154x86\"",
                    input:
                        "[record]\nfolder = \"\(films ?? folder)\"\nsize = \"\(size)\"\nmicrophone = \"\(microphone)\"\non-record = \"review\"\n\(more)",
                    control: "socket = \"\(socket)\"",
                    playlist: ["source = \"\(clip.path)\"\non-tap = \"record preview\""] + (playsFilms ? ["source = \"\(folder)\""] : [])))
        }

        static let framing: [RecordingOrder] = [.start, .cancel]
        static let recording: [RecordingOrder] = [.stop, .pause, .cancel]
        static let paused: [RecordingOrder] = [.stop, .resume, .cancel]
        static let reviewing: [RecordingOrder] = [.keep, .retake, .cancel]

        /// Returns a tap on a button, in its place among `buttons`.
        static func tap(_ button: RecordingOrder, _ buttons: [RecordingOrder]) -> ActionTimeline.Action {
            let geometry = ScreenGeometry(width: 1280, height: 720, physicalWidth: 154, physicalHeight: 86)
            let place = RecordingPanel(buttons: buttons).places(on: geometry).first { $0.button == button }!
            return .tap(place.x, place.y)
        }

        var films: [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasPrefix("film-") }.sorted()
        }
    }

    private static let free = Machine { ($0.time, $0.recordsSound) = (.free, false) }

    @Test func `a visitor records by touch, looks at it, makes another one and keeps it, and the playlist goes on`() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let record = try await Bed.run(
            "record-by-touch", for: .seconds(38), playing: [stage.clip], stage.program(playsFilms: true), on: Self.free
        ) { at in
            at(1, .shell("\(stage.ctl) watch record & w=$!; sleep 30; kill $w"), "watch")
            at(2, .tap(640, 200), "preview")
            at(4, .screenshot(), "framing")
            at(4.5, Stage.tap(.start, Stage.framing))
            at(6.5, .screenshot(), "recording")
            at(7, Stage.tap(.pause, Stage.recording))
            at(7.5, .screenshot(), "paused")
            at(8, Stage.tap(.resume, Stage.paused))
            at(9, Stage.tap(.stop, Stage.recording))
            at(11, .screenshot(), "reviewing")
            at(11.5, .shell("\(stage.ctl) record status; ls \(stage.folder)/.new"), "reviewed")
            at(12, Stage.tap(.retake, Stage.reviewing))
            at(14, Stage.tap(.start, Stage.framing))
            at(16, Stage.tap(.stop, Stage.recording), "stop")
            at(22, Stage.tap(.keep, Stage.reviewing), "keep")
            at(23, .shell("\(stage.ctl) record status"), "kept")
        }
        for (name, picture) in record.screenshots { try save(picture, name) }
        // The last frame before and the first frame after: the clip resumes.
        let (preview, stop, keep) = (record.time(of: "preview"), record.time(of: "stop"), record.time(of: "keep"))
        let left = try #require(record.frames.last { $0.time < preview + .seconds(1) }).number
        let next = try #require(record.frames.first { $0.time > keep }).number
        #expect((left...left + 2).contains(next), "left at \(left), went on at \(next)")
        // The display shows the camera, and then the film in a loop. No frame of the clip passes.
        let during = Set(record.vblanks.filter { $0.time > stop + .seconds(1) && $0.time < keep }.map(\.number))
        #expect(during.filter(record.isFrame).count < 3, "\(during)")
        let states = try #require(record.outputs["watch"]).matches(of: #/"state":"([a-z]+)"/#).map { String($0.output.1) }
        var wanted = [
            "framing", "recording", "paused", "recording", "reviewing", "framing", "recording", "reviewing", "idle",
        ][...]
        for state in states where state == wanted.first { wanted.removeFirst() }
        #expect(wanted.isEmpty, "\(states)")
        let reviewed = try #require(record.outputs["reviewed"])
        #expect(reviewed.contains("state: reviewing") && reviewed.contains("film-"), "\(reviewed)")
        // Only the second film is left, and the next round plays it.
        #expect(stage.films.count == 1, "\(stage.films)")
        let film = try #require(stage.films.first)
        #expect(record.outputs["kept"]?.contains("film: \(stage.folder)/\(film)") == true, "\(record.outputs)")
        try expectSound("\(stage.folder)/\(film)")
        let length = try times("\(stage.folder)/\(film)").max() ?? 0
        #expect(abs(length - 2) < 0.3, "\(length) s")
        let shown = record.itemStatistics[film]?.shown ?? 0
        #expect(shown >= 50, "\(record.itemStatistics)")
        #expect(record.status == 0)
    }

    /// The arrows of a keyboard or a remote control move from button to button, and Enter presses one.
    @Test func `a visitor records by keys`() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let record = try await Bed.run(
            "record-by-keys", for: .seconds(20), playing: [stage.clip], stage.program(), on: Self.free
        ) { at in
            at(2, .shell("\(stage.ctl) record preview"), "preview")
            at(4, .key(.enter), "start")
            at(5.9, .key(.right))
            at(6, .key(.right))
            at(6.5, .shell("\(stage.ctl) record status"), "recording")
            at(6.6, .screenshot(), "focus")
            at(6.8, .key(.escape))
            at(7, .key(.left))
            at(7.2, .key(.left))
            at(8, .key(.enter), "stop")
            at(10, .shell("\(stage.ctl) record status"), "reviewing")
            at(11, .key(.enter), "keep")
            at(12, .shell("\(stage.ctl) record status"), "kept")
            at(15, .key(.left))
        }
        for (name, picture) in record.screenshots { try save(picture, name) }
        func status(_ name: String) -> String { record.outputs[name] ?? "" }
        #expect(status("preview").contains("state: framing"), "\(status("preview"))")
        #expect(status("recording").contains("state: recording"), "\(status("recording"))")
        #expect(status("reviewing").contains("state: reviewing"), "\(status("reviewing"))")
        let film = try #require(stage.films.first)
        #expect(stage.films.count == 1 && status("kept").contains("film: \(stage.folder)/\(film)"), "\(status("kept"))")
        let length = try times("\(stage.folder)/\(film)").max() ?? 0
        #expect(abs(length - 4) < 0.4, "\(length) s")
        #expect(record.status == 0)
    }

    /// Saves a picture for people to look at, in `KIOSK_CONTROLS_PICTURES=/some/folder`. `KIOSK_RECORD=1` renews the one in docs/record.md.
    private func save(_ picture: Picture, _ name: String) throws {
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment["KIOSK_CONTROLS_PICTURES"] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try picture.write(to: "\(folder)/record-\(name).png")
        }
        if environment["KIOSK_RECORD"] != nil, name == "recording" { try picture.write(to: Bed.package + "/docs/record.jpg", width: 960) }
    }

    /// `[idle]` is six seconds. The visitor touches nothing for longer than that.
    @Test func `nobody is taken for gone who is recorded or looks at the film`() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let record = try await Bed.run(
            "record-idle", for: .seconds(38), playing: [stage.clip], stage.program("[idle]\nafter = 6"), on: Self.free
        ) { at in
            at(2, .tap(640, 200), "preview")
            at(3, Stage.tap(.start, Stage.framing))
            at(14.5, .shell("\(stage.ctl) record status"), "recording")
            at(15, Stage.tap(.stop, Stage.recording))
            at(25.5, .shell("\(stage.ctl) record status"), "reviewing")
            at(26, Stage.tap(.keep, Stage.reviewing), "keep")
        }
        let recording = record.outputs["recording"] ?? ""
        let elapsed = recording.firstMatch(of: #/elapsed: ([0-9.]+)/#).flatMap { Double($0.output.1) } ?? 0
        #expect(recording.contains("state: recording") && elapsed > 11 && elapsed < 11.6, "\(recording)")
        #expect(record.outputs["reviewing"]?.contains("state: reviewing") == true, "\(record.outputs)")
        let (preview, keep) = (record.time(of: "preview"), record.time(of: "keep"))
        let left = try #require(record.frames.last { $0.time < preview + .seconds(1) }).number
        let after = record.frames.filter { $0.time > keep }
        #expect((left...left + 2).contains(after.first?.number ?? 0), "left at \(left), went on at \(after.first?.number ?? 0)")
        // From the last touch on, the idle time counts again.
        let restart = zip(after, after.dropFirst()).first { $1.number == 1 && $0.number < 148 }.map { $1.time - keep }
        #expect(restart.map { $0 > .seconds(5.5) && $0 < .seconds(6.5) } == true, "\(String(describing: restart))")
        #expect(stage.films.count == 1)
        #expect(record.status == 0)
    }

    @Test func `a camera that is unplugged while it is seen, and one that is not there, are told of, and the playlist goes on`()
        async throws
    {
        let stage = try Stage()
        defer { stage.remove() }
        let record = try await Bed.run(
            "record-unplugged", for: .seconds(16), playing: [stage.clip], stage.program(), on: Self.free
        ) { at in
            at(2, .tap(640, 200), "preview")
            at(4, .shell("camera /dev/video0 0x00f0f041 1"), "unplug")
            at(5, .screenshot(), "unplugged")
            at(5.2, .shell("\(stage.ctl) record status"), "gone")
            // vivid comes back by itself, so the test removes its device files.
            at(6, .shell("rm -f /dev/video*"))
            at(12, .tap(640, 200), "again")
            at(13, .screenshot(), "no camera")
            at(13.2, .shell("\(stage.ctl) record status"), "none")
        }
        for (name, picture) in record.screenshots { try save(picture, name) }
        let gone = record.outputs["gone"] ?? "", none = record.outputs["none"] ?? ""
        #expect(gone.contains("state: idle") && gone.contains("/dev/video0 was unplugged"), "\(gone)")
        #expect(none.contains("state: idle") && none.contains("there is no camera"), "\(none)")
        for name in ["unplug", "again"] {
            let time = record.time(of: name)
            let numbers = Set(record.frames.filter { $0.time > time + .seconds(1) && $0.time < time + .seconds(2.9) }.map(\.number))
            #expect(numbers.count > 50, "\(name): the playlist stands still")
        }
        // The line stays on the screen for six seconds.
        let changes = record.overlayChanges().filter { $0.time > record.time(of: "unplug") }
        let hidden = try #require(changes.first { $0.kind == .hidden }).time - record.time(of: "unplug")
        #expect(hidden > .seconds(5.5) && hidden < .seconds(7), "\(hidden)")
        #expect(record.status == 0)
    }

    @Test func `a camera that is unplugged during a pause leaves the film to be reviewed, and another one cannot be made`() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let record = try await Bed.run(
            "record-unplugged-paused", for: .seconds(12), playing: [stage.clip], stage.program(), on: Self.free
        ) { at in
            at(1.5, .tap(640, 200))
            at(2.5, Stage.tap(.start, Stage.framing))
            at(4.5, Stage.tap(.pause, Stage.recording))
            at(5.5, .shell("camera /dev/video0 0x00f0f041 1"))
            at(7, .screenshot(), "paused and unplugged")
            at(7, .shell("\(stage.ctl) record status; cp \(stage.folder)/.new/film-*.mp4 \(stage.folder)/reviewed.mp4"), "reviewing")
            at(7.5, .shell("rm -f /dev/video*"))
            at(8, Stage.tap(.retake, Stage.reviewing), "retake")
            at(9, .shell("\(stage.ctl) record status; ls -A \(stage.folder)/.new"), "none")
        }
        for (name, picture) in record.screenshots { try save(picture, name) }
        let reviewing = record.outputs["reviewing"] ?? "", none = record.outputs["none"] ?? ""
        #expect(reviewing.contains("state: reviewing") && reviewing.contains("was unplugged"), "\(reviewing)")
        try expectSound(stage.folder + "/reviewed.mp4")
        let length = try times(stage.folder + "/reviewed.mp4").max() ?? 0
        #expect(abs(length - 2) < 0.3, "\(length) s")
        #expect(none.contains("state: idle") && none.contains("there is no camera") && !none.contains("film-"), "\(none)")
        let retake = record.time(of: "retake")
        #expect(Set(record.frames.filter { $0.time > retake + .seconds(1) && $0.time < retake + .seconds(3) }.map(\.number)).count > 50)
        #expect(record.status == 0)
    }

    @Test func `a microphone that is unplugged is told of, and the film goes on in silence`() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let record = try await Bed.run(
            "record-silence", for: .seconds(12), playing: [stage.clip], stage.program(microphone: "hw:Dummy"), on: Self.free
        ) { at in
            at(1.5, .tap(640, 200))
            at(2.5, Stage.tap(.start, Stage.framing))
            at(4.5, .shell("echo snd_dummy.0 >/sys/bus/platform/drivers/snd_dummy/unbind"))
            at(5.5, .screenshot(), "silence")
            at(6, .shell("\(stage.ctl) record status"), "recording")
            at(7.5, Stage.tap(.stop, Stage.recording))
            at(9, Stage.tap(.keep, Stage.reviewing))
        }
        for (name, picture) in record.screenshots { try save(picture, name) }
        let recording = record.outputs["recording"] ?? ""
        #expect(recording.contains("state: recording") && recording.contains("the microphone was lost"), "\(recording)")
        let film = try #require(stage.films.first)
        try expectSound("\(stage.folder)/\(film)")
        let length = try times("\(stage.folder)/\(film)").max() ?? 0
        #expect(abs(length - 5) < 0.3, "\(length) s")
        #expect(record.status == 0)
    }

    @Test func `a disk that is full, or cannot be written to, is told of`() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let disk = "/run/films"
        let record = try await Bed.run(
            "record-full", for: .seconds(20), playing: [stage.clip], stage.program(films: disk), on: Self.free
        ) { at in
            at(-1, .shell("mkdir \(disk); mount -t tmpfs -o size=20M none \(disk)"))
            at(2, .shell("\(stage.ctl) record start"))
            at(5, .shell("head -c 19000000 /dev/zero >\(disk)/other"))
            at(7, .screenshot(), "full")
            at(7.2, .shell("\(stage.ctl) record status"), "full")
            at(8, Stage.tap(.keep, Stage.reviewing))
            at(9, .shell("cp \(disk)/film-*.mp4 \(stage.folder)/kept.mp4; \(stage.ctl) record start 2>&1; echo \"said $?\""), "refused")
            at(11, .shell("\(stage.ctl) record status"), "no space")
            at(11.5, .shell("\(stage.ctl) record stop 2>&1; echo \"said $?\""), "nothing to stop")
            at(12, .shell("rm \(disk)/other; mount -o remount,ro \(disk); \(stage.ctl) record start"))
            at(14, .shell("\(stage.ctl) record status"), "read-only")
            at(14.5, .screenshot(), "read-only")
        }
        for (name, picture) in record.screenshots { try save(picture, name) }
        func status(_ name: String) -> String { record.outputs[name] ?? "" }
        #expect(status("full").contains("state: reviewing") && status("full").contains("its disk is full"), "\(status("full"))")
        try expectSound(stage.folder + "/kept.mp4")
        let length = try times(stage.folder + "/kept.mp4").max() ?? 0
        #expect(length > 2 && length < 4, "\(length) s")
        #expect(
            status("no space").contains("state: idle") && status("no space").contains("free: delete files there"), "\(status("no space"))")
        #expect(
            status("read-only").contains("state: idle") && status("read-only").contains("its disk cannot be written to"),
            "\(status("read-only"))")
        #expect(status("refused").contains("free: delete files there") && status("refused").contains("said 1"), "\(status("refused"))")
        // A later, different command does not report that error as new.
        #expect(status("nothing to stop").contains("state: idle") && status("nothing to stop").contains("said 0"), "\(record.outputs)")
        // The playlist goes on if a film cannot be made.
        let from = Duration.seconds(9.5), frames = record.frames.filter { $0.time > from }
        #expect(frames.count > 280 && record.wrongHolds(from: from).isEmpty, "\(frames.count) frames, \(record.wrongHolds(from: from))")
        #expect(record.status == 0)
    }
}
