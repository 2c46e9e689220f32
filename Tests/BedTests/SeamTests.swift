import Bed
import TestSupport
import Testing

extension BedTests {
    /// The loop in the host's time, in which processor time counts.
    @Suite struct Seams {
        @Test(.thorough("real time")) func `one item comes round, and nobody can tell`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let record = try await Bed.run("one item", for: .seconds(13), playing: [clip], on: .measured)
            #expect(record.seams.count == 2)
            expectNothingToBeSeenOrHeard(record)
            expectCountsToAgree(record)
            // Compare with ffmpeg in the same guest, from exec to its first frame. A player has to open a display and a card as well.
            let reference = try #require(record.host?.firstFrame)
            #expect(try #require(record.firstPicture) < reference * 2, "ffmpeg took \(reference)")
            #expect(record.usage.peakMemory < 100 << 20)
            #expect(try #require(record.timeToEnd) < reference * 2 && !record.wasKilled && record.status == 0)
            #expect(record.terminal == "text on auto")
        }

        @Test(.thorough("real time")) func `two items follow each other, and nobody can tell`() async throws {
            let clips = [
                try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let record = try await Bed.run("two items", for: .seconds(13), playing: clips, on: .measured)
            #expect(record.seams.map(\.first.number) == [1001, 1])
            expectNothingToBeSeenOrHeard(record)
            expectCountsToAgree(record)
        }

        /// Expects seams, holds and tone as of one endless clip; from 2 s on, as the start may cost a hold.
        private func expectNothingToBeSeenOrHeard(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)", sourceLocation: sourceLocation)
            #expect(record.wrongHolds(from: .seconds(2)) == [], sourceLocation: sourceLocation)
            let tone = record.sound?.tone
            // The sound follows the display, by at most an eighth of a per cent.
            #expect(tone.map { abs($0.frequency - 440) < 440 * 0.00125 } == true, sourceLocation: sourceLocation)
            #expect(tone?.phaseJumps == [] && tone?.clicks == [] && record.sound?.holes == [], sourceLocation: sourceLocation)
        }
    }
}
