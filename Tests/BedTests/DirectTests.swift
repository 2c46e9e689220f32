import Bed
import Testing

extension BedTests {
    /// Pictures that software decodes into a plane's memory. The tests check the numbers and the memory of the visible pictures. The
    /// decoder must not draw there meanwhile: a spoilt picture, or one predicted from it, has another number or none.
    @Suite struct Direct {
        let machine = Machine { ($0.time, $0.planesScale) = (.free, true) }

        private func configuration(_ playback: String = "") -> KioskConfiguration {
            KioskConfiguration(display: "gravity = \"stretch\"\npicture-path = \"direct\"", playback: playback)
        }

        /// Expects the visible picture to lie where it was decoded: there are more such buffers than a copy needs.
        private func expectDecodedThere(
            _ record: Record, from time: Duration, _ planes: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let shown = record.vblanks.filter { $0.time > time && record.isFrame($0.number) }
            #expect(!shown.isEmpty && shown.allSatisfy { $0.planes[0].text == planes }, sourceLocation: sourceLocation)
            #expect(Set(shown.map { $0.planes[0].framebuffer }).count > 3, sourceLocation: sourceLocation)
            let said = record.log.contains {
                $0.text.contains("YU12 → the primary plane") && $0.text.contains("decoded into the plane's buffer")
            }
            #expect(said, "\(record.log.map(\.text))", sourceLocation: sourceLocation)
        }

        @Test(arguments: [30, 60]) func `an item alone`(rate: Int) async throws {
            let clip = try BedGallery.clip("loop\(rate)", frames: rate, frameRate: Double(rate))
            let record = try await Bed.run(
                "direct loop \(rate)", for: .seconds(22.6), playing: [clip], .kiosk(configuration()), on: machine)
            #expect(record.seams.count >= 20 && record.seams.allSatisfy { $0.isClean }, "\(record.seams.filter { !$0.isClean })")
            #expect(record.wrongHolds == [] && record.frames.allSatisfy { $0.vblanksBefore == 0 || $0.time < .seconds(1) })
            expectCountsToAgree(record)
            expectDecodedThere(record, from: .seconds(1.5), "YU12 320x180")
        }

        @Test(arguments: [true, false]) func `two items in turn`(displayScales: Bool) async throws {
            let clips = [
                try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let machine = Machine { ($0.time, $0.planesScale) = (.free, displayScales) }
            let record = try await Bed.run(
                "direct \(displayScales)", for: .seconds(22), playing: clips, .kiosk(configuration()), on: machine)
            #expect(record.seams.count >= 4 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(1)) == [])
            expectCountsToAgree(record)
            expectDecodedThere(record, from: .seconds(1.5), "YU12 1280x720")
        }

        @Test func `items of different sizes and codecs`() async throws {
            let clips = try [("mix-1.mp4", 30.0), ("mix-4.ts", 25), ("mix-6.mp4", 50), ("mix-8.mkv", 15), ("mix-2.webm", 25)].map {
                name, rate in
                let number = Int(name.dropFirst(4).prefix { $0.isNumber })!
                return NumberedClip(try BedGallery.path(name), frames: Int(rate.rounded()), from: 1000 * number + 1, frameRate: rate)
            }
            let record = try await Bed.run("direct sizes", for: .seconds(22), playing: clips, .kiosk(configuration()), on: machine)
            #expect(record.seams.count >= 20 && record.seams.allSatisfy { $0.isClean }, "\(record.seams.filter { !$0.isClean })")
            expectCountsToAgree(record)
            let formats = Set(record.vblanks.filter { record.isFrame($0.number) }.map { $0.planes.map(\.text).joined(separator: " ") })
            #expect(formats.count == clips.count, "\(formats)")
        }

        @Test func `a display is unplugged and plugged in again`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let record = try await Bed.run("direct plug", for: .seconds(12), playing: [clip], .kiosk(configuration()), on: machine) { at in
                at(2, .display(false), "unplug")
                at(4, .display(true), "plug")
                at(6.2, .display(false))
                at(6.8, .display(true), "again")
            }
            let plugged = record.time(of: "plug")
            let back = try #require(record.frames.first { $0.time > plugged })
            #expect(back.time - plugged < .seconds(2) && (119...123).contains(back.number), "\(back)")
            let again = try #require(record.frames.first { $0.time > record.time(of: "again") })
            for (begin, end) in [(Duration.seconds(1), Duration.seconds(1.9)), (back.time, .seconds(6.1)), (again.time, .seconds(12))] {
                let frames = record.frames.filter { $0.time >= begin && $0.time < end }
                let steps = zip(frames, frames.dropFirst()).filter { $1.number - $0.number != 1 && $1.number - $0.number != -149 }
                #expect(frames.count > 20 && steps.isEmpty, "\(steps)")
            }
            expectDecodedThere(record, from: again.time + .seconds(1), "YU12 1280x720")
            #expect(record.status == 0 && record.terminal == "text on auto")
        }

        @Test func `it is wound to and fro`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let record = try await Bed.run(
                "direct seek", for: .seconds(8), playing: [clip], .kiosk(configuration("seek-step = 1")), on: machine
            ) { at in
                at(1, .key(.right), "right")
                at(2, .key(.left), "left")
                at(3, .key(.home), "home")
                at(3.6, .key(.right), "right again")
                at(4.6, .key(.left), "left again")
            }
            for (event, frames) in [("right", 30), ("left", -30), ("right again", 30), ("left again", -30)] {
                let jump = try #require(record.jump(after: event), "\(event) led nowhere")
                #expect((frames...frames + 1).contains(jump.to - jump.from), "\(event): \(jump)")
            }
            #expect(record.jump(after: "home")?.to == 1)
            let frames = record.frames.filter { $0.time > .milliseconds(900) }
            let steps = zip(frames, frames.dropFirst()).filter { $1.number - $0.number != 1 && $1.number - $0.number != -149 }
            #expect(steps.count == 5 && frames.allSatisfy { $0.vblanksBefore == 0 }, "\(steps)")
            expectDecodedThere(record, from: .seconds(1.5), "YU12 1280x720")
        }
    }
}
