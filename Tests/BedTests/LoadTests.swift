import Bed
import Testing

extension BedTests {
    /// Somebody else wants the processor, too; real time, since this is about processor time.
    @Suite struct Load {
        @Test func `with a busy process beside it seams stay clean; with five, what is lost is said`() async throws {
            let clips = try [("a", 1), ("b", 1001)].map { try Gallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
            let configuration = KioskConfiguration(playlist: clips.map { "source = \"\($0.path)\"\nend = 1" })
            let record = try await Bed.run("load", for: .seconds(11), playing: clips, .kiosk(configuration)) { at in
                let busy = "exec timeout %d sh -c 'while :; do :; done'"
                at(2, .shell(busy.replacing("%d", with: "7")), "one")
                for number in 2...5 { at(6, .shell(busy.replacing("%d", with: "3")), "\(number)") }
            }
            let beside = record.time(of: "one")..<record.time(of: "2")
            let seams = record.seams.filter { beside.contains($0.first.time) }
            #expect(seams.count >= 3 && seams.filter { !$0.isClean } == [])
            // Where an item is cut off its sound is faded out over 5 ms.
            let sound = try #require(record.sound)
            #expect(sound.holes.filter { $0.duration > .milliseconds(5) } == [] && sound.tone?.clicks == [])
            expectLossesToBeSaid(record)
        }

        /// The frames that are missing in the kernel's log are the player's `dropped`. The frame after one that stood too long came late, and so did
        /// those after it until it had caught up, one for each frame that stood too short: between the two lies the player's `late`.
        private func expectLossesToBeSaid(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
            guard let told = record.statistics else {
                Issue.record("kiosk said nothing about what it showed", sourceLocation: sourceLocation)
                return
            }
            func clip(_ number: Int) -> ClosedRange<Int>? { record.clips.first { $0.numbers.contains(number) }?.numbers }
            let missing = zip(record.frames, record.frames.dropFirst()).reduce(0) { sum, pair in
                guard let before = clip(pair.0.number), let after = clip(pair.1.number) else { return sum }
                if before == after { return sum + pair.1.number - pair.0.number - 1 }
                return sum + before.upperBound - pair.0.number + pair.1.number - after.lowerBound
            }
            // How long the first one stands is a matter of the start, and the last one's time was not over.
            let holds = record.frames.dropFirst().dropLast().map(\.vblanks)
            let (long, short) = (holds.count { $0 > 2 }, holds.count { $0 < 2 })
            #expect(told.dropped == missing, "\(holds)", sourceLocation: sourceLocation)
            #expect((long...long + short).contains(told.late), "\(told.late), of \(long) and \(short)", sourceLocation: sourceLocation)
        }
    }
}
