import Bed
import Testing

extension BedTests {
    /// The parts of an exhibit without a line of code: waiting for a touch, branching, going back to the beginning, and limits for the
    /// public.
    @Suite struct Exhibits {
        private let stage: OnScreenStage
        private let attract: NumberedClip, story: NumberedClip, details: NumberedClip
        private let x = OnScreenStage.beside.0, y = OnScreenStage.beside.1

        init() throws {
            stage = try OnScreenStage()
            attract = try OnScreenStage.clip("wide")
            story = try OnScreenStage.clip("wide-story", frames: 120, from: 1001)
            details = try OnScreenStage.clip("wide-details", frames: 30, from: 2001)
        }

        @Test func `an item waits for a tap, and a tap in the next one branches and returns`() async throws {
            let playlist = [
                "source = \"\(attract.path)\"\nwait-for = \"tap\"",
                "source = \"\(story.path)\"\non-tap = \"play \(details.path)\"",
            ]
            let record = try await stage.run("exhibit", for: 15, clips: [attract, story, details], playlist: playlist) { at in
                at(5.5, .tap(x, y), "go on")
                at(7, .tap(x, y), "details")
            }
            let (goesOn, branches) = (record.time(of: "go on"), record.time(of: "details"))
            let before = record.numbers(from: .zero, to: goesOn)
            #expect(before.count > 150 && before.allSatisfy(attract.numbers.contains), "it repeats until it is tapped")
            #expect(record.seams.filter { $0.first.time < goesOn }.count == 2)
            let first = try #require(record.jump(after: "go on"))
            #expect(first.to == 1001, "\(first)")
            let branch = try #require(record.jump(after: "details"))
            #expect(story.numbers.contains(branch.from) && branch.to == 2001, "\(branch)")
            let seen = record.numbers(from: branches + branch.time, to: .seconds(14.5))
            #expect(Array(seen.prefix(30)) == Array(2001...2030))
            // The item resumes in its place and plays to the end, and the first item waits again.
            let back = Array(seen.dropFirst(30))
            #expect((branch.from...branch.from + 2).contains(back.first ?? 0), "left at \(branch.from), came back to \(back.prefix(3))")
            let end = try #require(back.firstIndex(of: 1120))
            #expect(end + 1 < back.count && back[end + 1] == 1)
            #expect(record.frames.allSatisfy { $0.vblanksBefore == 0 || $0.time < .milliseconds(200) }, "it was dark in between")
            let loops = record.seams.filter { attract.numbers.contains($0.last.number) && attract.numbers.contains($0.first.number) }
            #expect(loops.filter { !$0.isClean } == [])
        }

        @Test func `when nobody has touched anything for a while the first item begins again`() async throws {
            let record = try await stage.run(
                "idle", for: 9, clips: [attract, story], playback: "loop = \"item\"", input: "[idle]\nafter = 3\ndo = \"restart\""
            ) { at in
                at(1, .key(.n), "next")
                at(2.5, .tap(x, y), "pause")
            }
            let touch = record.time(of: "pause")
            let restart = try #require(record.frames.first { $0.time > touch + .seconds(1) && attract.numbers.contains($0.number) })
            let after = restart.time - touch
            #expect(restart.number == 1 && after >= .seconds(3) && after < .seconds(3.3), "\(restart)")
            let numbers = record.numbers(from: restart.time, to: .seconds(8.5))
            #expect(numbers.count > 60 && numbers.allSatisfy(attract.numbers.contains), "once, and it plays")
        }

        @Test func `locked, only what is on the list acts`() async throws {
            let record = try await stage.run(
                "locked", for: 8, input: "locked = true\nallow = [\"KEY_M\"]\nallow-quit = true"
            ) { at in
                at(3, .tap(x, y))
                at(3.5, .key(.space))
                at(4, .key(.q))
                at(4.3, .doubleTap(1200, y))
                at(5, .key(.m), "mute")
            }
            #expect(record.covered.allSatisfy { $0.lowerBound > .seconds(5) }, "\(record.covered)")
            #expect(record.wrongHolds(from: .seconds(2)) == [], "it played on")
            #expect(record.timeToEnd != nil, "it did not quit")
            let sound = try #require(record.sound)
            #expect(sound[.seconds(4.5)..<(.seconds(4.9))].peak > 0 && sound[.seconds(6)..<(.seconds(7))].peak == 0)
        }

        @Test func `a number key goes to an item, and a key plays a file and returns`() async throws {
            let input = "[input.keys]\nf1 = \"play \(details.path) then resume\"\nf2 = \"item 2\""
            let record = try await stage.run(
                "keys", for: 9, clips: [attract, story, details], playlist: [attract, story].map { "source = \"\($0.path)\"" }, input: input
            ) { at in
                at(1, .key(.f2), "second")
                at(2.5, .key(.f1), "special")
            }
            #expect(record.jump(after: "second")?.to == 1001)
            let branch = try #require(record.jump(after: "special"))
            #expect(branch.to == 2001 && story.numbers.contains(branch.from))
            let seen = record.numbers(from: record.time(of: "special") + branch.time, to: .seconds(8.5))
            let back = seen.first { !details.numbers.contains($0) } ?? 0
            #expect((branch.from...branch.from + 2).contains(back), "left at \(branch.from), came back to \(back)")
        }

        /// The marks in the corners of the picture, clockwise from the top left: red, green, yellow, blue.
        @Test(arguments: [2, 0]) func `it turns at one vblank while it plays`(overlays: Int) async throws {
            let clip = NumberedClip(try BedGallery.path("corners.mp4"), frames: 60, frameRate: 30)
            let machine = Machine { ($0.time, $0.overlays) = (.free, overlays) }
            let configuration = KioskConfiguration(input: "[input.keys]\nf3 = \"rotate\"")
            let count = 24
            let record = try await Bed.run("turns", for: .seconds(6), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(2, .key(.f3), "turn")
                for picture in 0..<count { at(1.95 + Double(picture) / 60, .screenshot(), "\(picture)") }
                at(4, .screenshot(), "turned")
            }
            // Upright the picture is 960x720 in the middle of 1280x720, on its side 540x720.
            func isUpright(_ picture: Picture) -> Bool {
                picture[166, 6].isLike(.init(255, 0, 0)) && picture[1113, 6].isLike(.init(0, 255, 0))
            }
            func isTurned(_ picture: Picture) -> Bool {
                picture[376, 6].isLike(.init(0, 0, 255)) && picture[903, 6].isLike(.init(255, 0, 0))
            }
            let pictures = try (0..<count).map { try #require(record.screenshots["\($0)"]) }
            let kinds = pictures.map { isUpright($0) ? "|" : isTurned($0) ? "-" : "?" }.joined()
            #expect(kinds.contains(/^\|+-+$/), "\(kinds)")
            let last = try #require(record.screenshots["turned"])
            #expect(isTurned(last))
            #expect(record.vblanks.allSatisfy { $0.time < .milliseconds(300) || !$0.planes.isEmpty }, "it was dark")
            #expect(record.statistics?.dropped == 0, "\(record.statistics as Any)")
        }
    }
}
