import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// A picture that moves into a window and back during playback.
    @Suite struct Regions {
        private static let window = Vblank.Rectangle(x: 640, y: 72, width: 576, height: 324)
        private static let full = Vblank.Rectangle(x: 0, y: 0, width: 1280, height: 720)

        /// Computing takes no time here, so two runs are the same. One run reads the numbers of the large picture, the other one those of
        /// the small picture. Together they are the viewer's picture at every vblank. make test has thirty turns.
        @Test(arguments: Proof.some(["copy", "convert"])) func `a hundred times, and no frame is lost`(path: String) async throws {
            let turns = Proof.isThorough ? 100 : 30, end = 3 + 0.24 * Double(turns)
            let clip = try BedGallery.plain("region", "0x406080", size: "640x360", frames: 900)
            let machine = Machine { ($0.time, $0.planesScale) = (.free, path == "copy") }
            let large = try await run(clip, path, machine, Self.full, turns: turns, until: end + 0.2)
            let small = try await run(clip, path, machine, Self.window, turns: turns, until: end + 0.2)
            for record in [large, small] {
                let told = try #require(record.statistics)
                #expect(told.dropped == 0 && told.late == 0 && told.stalls.count == 0, "\(told)")
                #expect(record.outputs.values.filter { !$0.contains("\"width\":45") && !$0.contains("\"width\":100") } == [])
                #expect(record.status == 0)
                // The player opens the item and makes a decoder once.
                #expect(
                    record.log.count { $0.text.contains(": opened, and decoders made") } == 1,
                    "\(record.log.map(\.text).filter { $0.contains("decod") })")
            }
            let inWindow = Dictionary(small.vblanks.map { ($0.sequence - small.vblanks[0].sequence, $0.number) }, uniquingKeysWith: { $1 })
            var seen: [(number: Int, isLarge: Bool)] = []
            for vblank in large.vblanks where vblank.time > .seconds(2) && vblank.time < .seconds(end) {
                let other = inWindow[vblank.sequence - large.vblanks[0].sequence] ?? 0
                let isLarge = clip.numbers.contains(vblank.number)
                #expect(
                    isLarge != clip.numbers.contains(other), "at \(vblank.time) the picture is in one place: \(vblank.number), \(other)")
                seen.append((isLarge ? vblank.number : other, isLarge))
            }
            #expect(seen.count > Int((end - 2) * 60) - 10)
            let changes = zip(seen, seen.dropFirst()).count { $0.isLarge != $1.isLarge }
            #expect(changes == turns)
            // Two vblanks a frame, and no frame is left out.
            var holds: [Int: Int] = [:]
            for frame in seen { holds[frame.number, default: 0] += 1 }
            let numbers = holds.keys.sorted()
            #expect(numbers == Array(numbers[0]...numbers[numbers.count - 1]), "no frame is lost")
            #expect(holds.filter { $0.value != 2 && $0.key != numbers[0] && $0.key != numbers[numbers.count - 1] } == [:])
        }

        private func run(
            _ clip: NumberedClip, _ path: String, _ machine: Machine, _ area: Vblank.Rectangle, turns: Int, until end: Double
        ) async throws -> Record {
            let socket = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock"
            defer { unlink(socket) }
            let configuration = KioskConfiguration(
                display: "picture-path = \"\(path)\"", input: "controls = \"none\"", control: "socket = \"\(socket)\"")
            return try await Bed.run(
                "region \(path)", for: .seconds(end), playing: [clip], .kiosk(configuration, arguments: ["--log-level", "debug"]),
                on: machine, area: area
            ) { at in
                for turn in 0..<turns {
                    let region = turn % 2 == 0 ? "50 10 45 45" : "0 0 100 100"
                    // At every phase of a frame.
                    at(
                        2.5 + 0.24 * Double(turn), .shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) region \(region)"),
                        "turn \(turn)")
                }
            }
        }

        @Test func `it grows and shrinks a little at each vblank, and no frame comes late`() async throws {
            let clip = try BedGallery.plain("region", "0x406080", size: "640x360", frames: 900)
            let socket = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock"
            defer { unlink(socket) }
            let configuration = KioskConfiguration(
                display: "picture-path = \"copy\"", input: "controls = \"none\"", control: "socket = \"\(socket)\"")
            let record = try await Bed.run(
                "region moves", for: .seconds(12), playing: [clip], .kiosk(configuration),
                on: Machine { ($0.time, $0.planesScale) = (.free, true) }
            ) { at in
                for turn in 0..<4 {
                    let region = turn % 2 == 0 ? "50 10 45 45" : "0 0 100 100"
                    at(
                        2 + 2 * Double(turn), .shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) region \(region) --within 1"),
                        "move \(turn)")
                }
            }
            let told = try #require(record.statistics)
            #expect(told.dropped == 0 && told.late == 0, "\(told)")
            for turn in 0..<4 {
                let begin = record.time(of: "move \(turn)")
                let sizes = record.vblanks.filter { $0.time > begin && $0.time < begin + .seconds(1.2) }.compactMap {
                    $0.planes.last?.destination.width
                }
                let steps = zip(sizes, sizes.dropFirst()).map { turn % 2 == 0 ? $0 - $1 : $1 - $0 }
                #expect(Set(sizes).count > 40, "it is of another size at nearly every vblank: \(sizes)")
                #expect(steps.allSatisfy { (0...60).contains($0) }, "\(steps)")
                #expect(sizes.last == (turn % 2 == 0 ? 576 : 1280))
            }
        }
    }
}
