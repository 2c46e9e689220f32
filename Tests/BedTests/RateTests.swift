import Bed
import Testing

extension BedTests {
    /// Fractional rates, and rates that change.
    @Suite struct Rates {
        /// If a rate is off the display's by a thousandth, every frame stands for the same number of vblanks. The sound plays faster by
        /// that thousandth.
        @Test(arguments: [("film.mp4", 24, 24000.0 / 1001), ("ntsc.mp4", 30, 30000.0 / 1001)])
        func `a thousandth too slow for the display`(name: String, frames: Int, frameRate: Double) async throws {
            let clip = NumberedClip(try BedGallery.path(name), frames: frames, frameRate: frameRate)
            let record = try await Bed.run(name, for: .seconds(42), playing: [clip], on: Machine { $0.time = .free })
            #expect(record.seams.count >= 40 && record.seams.filter { !$0.isClean } == [])
            #expect(record.wrongHolds == [])
            expectCountsToAgree(record)
            let told = try #require(record.statistics)
            #expect(told.late == 0 && told.dropped == 0)
            #expect(abs(told.soundChange - 1000) < 60, "\(told.soundChange)")
            let settled = try #require(record.sound)[.seconds(32)..<(.seconds(42))]
            #expect(abs(try #require(settled.tone).frequency - 440 * 1.001) < 0.05)
        }

        /// Pictures that stand for 20, 40 and 60 ms in turn.
        @Test func `every frame has a time of its own`() async throws {
            let clip = NumberedClip(try BedGallery.path("vfr.mp4"), frames: 30, frameRate: 25)
            let machine = Machine { ($0.time, $0.mode.refresh) = (.free, 50) }
            let record = try await Bed.run("vfr", for: .seconds(12), playing: [clip], on: machine)
            let wrong = record.frames.dropFirst().dropLast().filter { $0.number < 30 && $0.vblanks != ($0.number - 1) % 3 + 1 }
            #expect(wrong == [])
            #expect(
                record.seams.count >= 9 && record.seams.allSatisfy { $0.lostFrames == 0 && $0.darkVblanks == 0 && $0.last.vblanks <= 3 })
            expectCountsToAgree(record)
        }
    }
}
