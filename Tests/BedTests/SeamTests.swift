import Bed
import Testing

extension BedTests {
    /// The loop, in the host's time where processor time counts.
    @Suite struct Seams {
        @Test func `one item comes round, and nobody can tell`() async throws {
            let clip = try Gallery.clip("a", frames: 150, frameRate: 30)
            let record = try await Bed.run("one item", for: .seconds(13), playing: [clip])
            #expect(record.seams.count == 2)
            expectNothingToBeSeenOrHeard(record)
            expectAccountsToAgree(record)
            #expect(try #require(record.firstPicture) < .seconds(1))
            #expect(record.usage.peakMemory < 100 << 20)
            #expect(try #require(record.timeToEnd) < .seconds(1) && !record.wasKilled && record.status == 0)
            #expect(record.terminal == "text on auto")
        }

        @Test func `two items follow each other, and nobody can tell`() async throws {
            let clips = [
                try Gallery.clip("a", frames: 150, frameRate: 30), try Gallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let record = try await Bed.run("two items", for: .seconds(13), playing: clips)
            #expect(record.seams.map(\.first.number) == [1001, 1])
            expectNothingToBeSeenOrHeard(record)
            expectAccountsToAgree(record)
        }

        @Test(arguments: [("a24", 24, 60), ("a25", 25, 60), ("a50", 50, 60), ("a60", 60, 60), ("a25", 25, 50), ("a50", 50, 50)])
        func `frame rates`(name: String, frameRate: Int, refresh: Int) async throws {
            let clip = try Gallery.clip(name, frames: 5 * frameRate, frameRate: Double(frameRate))
            let machine = Machine { ($0.time, $0.mode.refresh) = (.free, refresh) }
            let record = try await Bed.run("\(frameRate) on \(refresh)", for: .seconds(12), playing: [clip], on: machine)
            #expect(abs(record.refreshRate / Double(refresh) - 1) < 0.002)
            #expect(record.seams.count == 2)
            expectNothingToBeSeenOrHeard(record)
            expectAccountsToAgree(record)
        }

        /// Seams, holds and tone are as if there were one endless clip; from 2 s on, as the start may cost a hold.
        private func expectNothingToBeSeenOrHeard(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)", sourceLocation: sourceLocation)
            #expect(record.wrongHolds(from: .seconds(2)) == [], sourceLocation: sourceLocation)
            let tone = record.sound?.tone
            // The sound follows the display, by at most an eighth of a per cent.
            #expect(tone.map { abs($0.frequency - 440) < 440 * 0.00125 } == true, sourceLocation: sourceLocation)
            #expect(tone?.phaseJumps == [] && tone?.clicks == [] && record.sound?.holes == [], sourceLocation: sourceLocation)
        }

        /// What kiosk counted is what the kernel saw.
        private func expectAccountsToAgree(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
            guard let told = record.statistics else {
                Issue.record("kiosk said nothing about what it showed", sourceLocation: sourceLocation)
                return
            }
            // But for the frame that was on its way when it was asked to end.
            #expect(abs(told.shown - record.frames.count) <= 1, "\(told.shown), \(record.frames.count)", sourceLocation: sourceLocation)
            #expect(told.seams == record.seams.count, sourceLocation: sourceLocation)
            #expect(told.worstSeam == record.seams.map(\.latePresents).max(), sourceLocation: sourceLocation)
            #expect(told.flipsLost == 0, sourceLocation: sourceLocation)
        }
    }
}
