import Bed
import Testing

extension BedTests {
    /// The programs of the folder Examples. They use only the libraries, and run on the kernel's own display, sound card and touch screen.
    @Suite struct Examples {
        private static func example(_ name: String, _ arguments: [String]) -> Program {
            .command([Bed.package + "/.build/release/example-\(name)"] + arguments)
        }

        // The mode that vkms prefers, as the examples name none.
        private static let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 1024, height: 768)) }
        /// The place of a picture of 16:9.
        private static let picture = Vblank.Rectangle(x: 0, y: 96, width: 1024, height: 576)

        @Test func `a loop, and nobody can tell`() async throws {
            let clips = [
                try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let record = try await Bed.run(
                "example loop", for: .seconds(13), playing: clips, Self.example("loop", ["hw:Loopback,0,0"] + clips.map(\.path)),
                on: Self.machine, area: Self.picture)
            #expect(record.seams.map(\.first.number) == [1001, 1])
            #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            let tone = record.sound?.tone
            #expect(tone.map { abs($0.frequency - 440) < 440 * 0.00125 } == true)
            #expect(tone?.phaseJumps == [] && tone?.clicks == [] && record.sound?.holes == [])
        }

        /// The film plays on as if nothing lay over it, and another one plays in the window.
        @Test func `picture in picture`() async throws {
            let film = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let other = try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30)
            let program = Self.example("picture-in-picture", ["hw:Loopback,0,0", film.path, other.path])
            let record = try await Bed.run(
                "example film", for: .seconds(9.5), playing: [film], program, on: Self.machine, area: Self.picture)
            #expect(record.seams.count == 1 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            // The other film has a plane of its own, on which each of its frames stands for two vblanks.
            let windows = record.vblanks.filter { $0.time > .seconds(2.5) && $0.time < .seconds(9) }.map { vblank in
                vblank.planes.first { $0.destination == Vblank.Rectangle(x: 716, y: 38, width: 256, height: 192) }?.framebuffer
            }
            #expect(windows.count > 380 && !windows.contains(nil), "the window is always there")
            var holds = [0]
            for (framebuffer, next) in zip(windows, windows.dropFirst()) {
                holds[holds.count - 1] += 1
                if framebuffer != next { holds.append(0) }
            }
            #expect(holds.dropFirst().dropLast().allSatisfy { $0 == 2 }, "\(holds)")
            // Only the film has sound.
            #expect(record.sound?.tone.map { abs($0.frequency - 440) < 440 * 0.00125 } == true)
        }

        @Test func `an exhibit answers a touch and goes back by itself`() async throws {
            let attract = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let films = [
                try BedGallery.plain("film-left", "0x804020", frames: 60, from: 1001),
                try BedGallery.plain("film-right", "0x208040", frames: 60, from: 2001),
            ]
            let program = Self.example("exhibit", ([attract] + films).map(\.path))
            let record = try await Bed.run(
                "example exhibit", for: .seconds(10), playing: [attract] + films, program, on: Self.machine, area: Self.picture
            ) {
                at in
                at(3, .tap(200, 400), "left")
                at(7, .tap(900, 400), "right")
            }
            #expect(
                record.jump(after: "left").map { $0.to == 1001 && $0.time < .milliseconds(300) } == true,
                "\(String(describing: record.jump(after: "left")))")
            #expect(record.jump(after: "right").map { $0.to == 2001 } == true)
            let back = record.frames.first { $0.time > record.time(of: "left") + .seconds(1) && attract.numbers.contains($0.number) }
            #expect(
                back.map { $0.number <= 2 && $0.vblanksBefore == 0 } == true,
                "the first film again, from its beginning: \(String(describing: back))")
        }

        @Test func `an overlay that the application draws`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let record = try await Bed.run(
                "example overlay", for: .seconds(8), playing: [clip], Self.example("overlay", [clip.path]), on: Self.machine,
                area: Self.picture
            ) { at in
                at(4, .screenshot(), "bar")
            }
            #expect(record.seams.count == 1 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            let picture = try #require(record.screenshots["bar"])
            // The bar is white up to the film's position, which is beyond its middle.
            let row = (256..<768).map { picture[$0, 44] }
            #expect(row.prefix(256).allSatisfy { $0.isLike(Picture.Color(255, 255, 255)) }, "\(row.prefix(10))")
            #expect(row.last?.isLike(Picture.Color(255, 255, 255)) == false)
        }

        /// Examples/Template, unchanged.
        @Test func `a sign of one's own loops, a tap pauses it, and a key goes on`() async throws {
            let clips = [
                try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let program = Program.command([Bed.package + "/.build/release/sign"] + clips.map(\.path))
            let record = try await Bed.run(
                "example sign", for: .seconds(12), playing: clips, program, on: Self.machine, area: Self.picture
            ) { at in
                at(6.5, .tap(500, 400), "pause")
                at(8, .tap(500, 400), "play")
                at(9, .key(.right), "next")
            }
            #expect(record.seams.prefix(1).map(\.first.number) == [1001] && record.seams[0].isClean, "\(record.seams)")
            let standing = try #require(record.frames.last { $0.time < record.time(of: "play") })
            #expect(standing.vblanks > 80 && standing.time < record.time(of: "pause") + .milliseconds(300), "\(standing)")
            #expect(record.jump(after: "next").map { $0.to == 1 && $0.time < .milliseconds(300) } == true)
        }
    }
}
