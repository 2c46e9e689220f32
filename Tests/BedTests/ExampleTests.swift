import Bed
import Testing

extension BedTests {
    /// The programs of the folder Examples, which use the libraries and nothing else, on the kernel's own display, sound card and touch screen.
    @Suite struct Examples {
        private static func example(_ name: String, _ arguments: [String]) -> Program {
            .command([Bed.package + "/.build/library/release/example-\(name)"] + arguments)
        }

        private static let machine = Machine { $0.time = .free }

        @Test func `a loop, and nobody can tell`() async throws {
            let clips = [
                try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let record = try await Bed.run(
                "example loop", for: .seconds(13), playing: clips, Self.example("loop", clips.map(\.path)), on: Self.machine)
            #expect(record.seams.map(\.first.number) == [1001, 1])
            #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            let tone = record.sound?.tone
            #expect(tone.map { abs($0.frequency - 440) < 440 * 0.00125 } == true)
            #expect(tone?.phaseJumps == [] && tone?.clicks == [] && record.sound?.holes == [])
        }

        /// The film goes on as if nothing lay over it; and in the window another one goes on.
        @Test func `picture in picture`() async throws {
            let film = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let other = try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30)
            let program = Self.example("picture-in-picture", [film.path, other.path])
            let record = try await Bed.run("example film", for: .seconds(9.5), playing: [film], program, on: Self.machine)
            #expect(record.seams.count == 1 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            let window = Vblank.Rectangle(x: 896, y: 36, width: 320, height: 180)
            let inset = try await Bed.run(
                "example window", for: .seconds(9.5), playing: [other], program, on: Self.machine, area: window)
            let numbers = inset.frames.filter { $0.time > .seconds(2) && $0.time < .seconds(9) }
            #expect(numbers.count > 200, "\(numbers.count)")
            let steps = zip(numbers, numbers.dropFirst()).map { ($1.number - $0.number + 150) % 150 }
            #expect(steps.allSatisfy { $0 == 1 }, "no frame is lost in the window, either: \(steps.filter { $0 != 1 })")
            #expect(numbers.allSatisfy { (1...3).contains($0.vblanks) }, "\(numbers.filter { !(1...3).contains($0.vblanks) })")
            // The sound is the film's alone.
            #expect(record.sound?.tone.map { abs($0.frequency - 440) < 440 * 0.00125 } == true)
        }

        @Test func `an exhibit answers a touch and goes back by itself`() async throws {
            let attract = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let films = [
                try BedGallery.plain("film-left", "0x804020", frames: 60, from: 1001),
                try BedGallery.plain("film-right", "0x208040", frames: 60, from: 2001),
            ]
            let program = Self.example("exhibit", ([attract] + films).map(\.path))
            let record = try await Bed.run("example exhibit", for: .seconds(10), playing: [attract] + films, program, on: Self.machine) {
                at in
                at(3, .tap(200, 300), "left")
                at(7, .tap(1000, 300), "right")
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
                "example overlay", for: .seconds(8), playing: [clip], Self.example("overlay", [clip.path]), on: Self.machine
            ) { at in
                at(4, .screenshot(), "bar")
            }
            #expect(record.seams.count == 1 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            let picture = try #require(record.screenshots["bar"])
            // White up to where the film is, which is more than half of it.
            let row = (320..<960).map { picture[$0, 44] }
            #expect(row.prefix(300).allSatisfy { $0.isLike(Picture.Color(255, 255, 255)) }, "\(row.prefix(10))")
            #expect(row.last?.isLike(Picture.Color(255, 255, 255)) == false)
        }
    }
}
