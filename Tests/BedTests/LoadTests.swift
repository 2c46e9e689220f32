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
            for _ in 1...3 {
                let record = try await Bed.run("load", for: .seconds(12), playing: clips, .kiosk(configuration), on: machine) { at in
                    // As kiosk.service has it.
                    at(0.3, .shell("renice -n -10 $(ls /proc/$PLAYER/task)"), "nice")
                    let busy = "exec timeout %d sh -c 'while :; do :; done'"
                    at(2, .shell(busy.replacing("%d", with: "7")), "one")
                    for number in 2...5 { at(6, .shell(busy.replacing("%d", with: "3")), "\(number)") }
                }
                // Where frames stand too long while nothing else runs, it is the host that is busy, and the run proves nothing.
                guard isCalm(record, .seconds(0.5), record.time(of: "one")), isCalm(record, .seconds(10), .seconds(12)) else { continue }
                let beside = record.time(of: "one")..<record.time(of: "2")
                let seams = record.seams.filter { beside.contains($0.first.time) }
                #expect(seams.count >= 3 && seams.filter { !$0.isClean } == [])
                // Where an item is cut off its sound is faded out over 5 ms.
                let sound = try #require(record.sound)[beside]
                #expect(sound.holes.filter { $0.duration > .milliseconds(5) } == [] && sound.tone?.clicks == [])
                expectLossesToBeSaid(record)
                return
            }
            throw BedError.starved("frames stood too long while nothing else ran")
        }

        private func isCalm(_ record: Record, _ begin: Duration, _ end: Duration) -> Bool {
            record.frames.filter { $0.time >= begin && $0.time < end }.dropLast().allSatisfy { $0.vblanks == 2 }
        }
    }
}
