import Bed
import Testing

extension BedTests {
    /// Interlaced video, 25 frames a second of two fields each. Every field is a picture, in its time.
    @Suite struct Interlaced {
        @Test(arguments: [50, 60]) func `every field is a picture`(refresh: Int) async throws {
            let clip = try BedGallery.clip("loop50i", frames: 50, frameRate: 50)
            let record = try await run("50i on \(refresh)", [clip], refresh)
            #expect(record.seams.count >= 10 && record.seams.filter { !$0.isClean } == [])
            #expect(record.wrongHolds == [])
            if refresh == 50 { #expect(record.frames.dropFirst().dropLast().filter { $0.vblanks != 1 } == []) }
            expectCountsToAgree(record)
        }

        @Test func `in turn with progressive video`() async throws {
            let clips = [
                try BedGallery.clip("loop50i", frames: 50, frameRate: 50),
                try BedGallery.clip("other25", frames: 25, from: 1001, frameRate: 25),
            ]
            let record = try await run("50i and 25p", clips, 50)
            #expect(record.seams.count >= 10 && record.seams.filter { !$0.isClean } == [])
            for frame in record.frames.dropFirst().dropLast() {
                #expect(frame.vblanks == (frame.number < 1000 ? 1 : 2), "\(frame)")
            }
        }

        private func run(_ name: String, _ clips: [NumberedClip], _ refresh: Int) async throws -> Record {
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480, refresh: refresh)) }
            let configuration = KioskConfiguration(display: "gravity = \"stretch\"")
            let record = try await Bed.run(name, for: .seconds(12.6), playing: clips, .kiosk(configuration), on: machine)
            let told = try #require(record.statistics)
            #expect(told.late == 0 && told.dropped == 0)
            let sound = try #require(record.sound)
            #expect(sound.tone?.phaseJumps == [] && sound.holes == [])
            return record
        }
    }
}
