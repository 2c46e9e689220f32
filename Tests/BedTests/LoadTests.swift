import Bed
import Testing

extension BedTests {
    /// Somebody else wants the processor, too; real time, since this is about processor time.
    @Suite struct Load {
        @Test func `with a busy process beside it seams stay clean; with five, what is lost is said`() async throws {
            let clips = try [("a", 1), ("b", 1001)].map { try Gallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
            let configuration = KioskConfiguration(playlist: clips.map { "source = \"\($0.path)\"\nend = 1" })
            // A host stops for 50 ms in every second what computes all the time with real-time priority.
            let machine = Machine { $0.isRealTime = false }
            let record = try await Bed.run("load", for: .seconds(11), playing: clips, .kiosk(configuration), on: machine) { at in
                let busy = "exec timeout %d sh -c 'while :; do :; done'"
                at(2, .shell(busy.replacing("%d", with: "7")), "one")
                for number in 2...5 { at(6, .shell(busy.replacing("%d", with: "3")), "\(number)") }
            }
            let beside = record.time(of: "one")..<record.time(of: "2")
            let seams = record.seams.filter { beside.contains($0.first.time) }
            #expect(seams.count >= 3 && seams.filter { !$0.isClean } == [])
            // Where an item is cut off its sound is faded out over 5 ms.
            let sound = try #require(record.sound)[beside]
            #expect(sound.holes.filter { $0.duration > .milliseconds(5) } == [] && sound.tone?.clicks == [])
            expectLossesToBeSaid(record)
        }
    }
}
