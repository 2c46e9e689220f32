import Bed
import Testing

extension BedTests {
    /// Keys at all phases of one-second items, also in the last and first tenth of a second: never a wrong frame.
    @Suite struct NearSeams {
        let clips: [NumberedClip]
        let machine = Machine { $0.time = .free }
        /// A key every 1.37 s, no two at the same phase. Whatever time the start takes, three come within a tenth of a second of a seam.
        private let times = (0..<14).map { 1.2 + 1.37 * Double($0) }

        init() throws {
            clips = try [("loop30", 1), ("other30", 1001)].map { try BedGallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
        }

        @Test func `a pause, and on with the next frame and sample`() async throws {
            let record = try await Bed.run("pauses", for: .seconds(21), playing: clips, on: machine) { at in
                for time in times {
                    at(time, .key(.space), "pause \(time)")
                    at(time + 0.5, .key(.space), "play \(time)")
                }
            }
            let wrong = zip(record.frames, record.frames.dropFirst()).filter { !follows($0.number, $1.number) || $1.vblanksBefore > 0 }
            #expect(wrong.isEmpty, "\(wrong)")
            #expect(record.sound?.holes.count == times.count)
        }

        @Test func `again from the beginning`() async throws {
            let record = try await Bed.run("restarts", for: .seconds(21), playing: clips, on: machine) { at in
                for time in times { at(time, .key(.home), "home \(time)") }
            }
            expectJumps(record) { last, first in first == (last > 1000 ? 1001 : 1) }
        }

        @Test func `the next item`() async throws {
            let record = try await Bed.run("skips", for: .seconds(21), playing: clips, on: machine) { at in
                for time in times { at(time, .key(.n), "next \(time)") }
            }
            expectJumps(record) { last, first in first == (last > 1000 ? 1 : 1001) }
        }

        @Test func `the item before`() async throws {
            let record = try await Bed.run("back", for: .seconds(21), playing: clips, on: machine) { at in
                for time in times { at(time, .key(.p), "previous \(time)") }
            }
            expectJumps(record) { last, first in first == (last > 1000 ? 1 : 1001) }
        }

        @Test(arguments: [ActionTimeline.Key.right, .left])
        func `a tenth of a second forward or back, within the item`(key: ActionTimeline.Key) async throws {
            let configuration = KioskConfiguration(playback: "seek-step = 0.1")
            let record = try await Bed.run("seeks", for: .seconds(21), playing: clips, .kiosk(configuration), on: machine) { at in
                for time in times { at(time, .key(key), "seek \(time)") }
            }
            expectJumps(record) { last, first in
                (last > 1000) == (first > 1000) && (key == .right ? (2...5).contains(first - last) : (1...4).contains(last - first))
            }
        }

        /// Expects every frame to follow the one before, or to be where a key leads. There is a jump for each key, except for those that
        /// lead where the seam does.
        private func expectJumps(_ record: Record, _ leads: (Int, Int) -> Bool, sourceLocation: SourceLocation = #_sourceLocation) {
            let pairs = Array(zip(record.frames, record.frames.dropFirst()))
            #expect(pairs.allSatisfy { $1.vblanksBefore == 0 }, sourceLocation: sourceLocation)
            let jumps = pairs.filter { !follows($0.number, $1.number) }
            let wrong = jumps.filter { !leads($0.number, $1.number) }
            #expect(wrong.isEmpty, "\(wrong)", sourceLocation: sourceLocation)
            #expect((times.count - 3...times.count).contains(jumps.count), "\(jumps.count) jumps", sourceLocation: sourceLocation)
        }

        private func follows(_ last: Int, _ first: Int) -> Bool {
            first == last + 1 || (last, first) == (30, 1001) || (last, first) == (1030, 1)
        }
    }
}
