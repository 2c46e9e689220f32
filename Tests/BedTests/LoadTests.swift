import Bed
import TestSupport
import Testing

extension BedTests {
    /// Other processes want the processor, too. The tests run in real time, since this is about processor time. There are two, as the host
    /// is less likely to take the processor away in a shorter run.
    @Suite struct Load {
        @Test(.thorough("real time")) func `with a busy process beside it seams stay clean`() async throws {
            let record = try await playing("one beside", for: .seconds(7), beside: 1, until: .seconds(7))
            let beside = record.time(of: "busy")..<Duration.seconds(7)
            let seams = record.seams.filter { beside.contains($0.first.time) }
            #expect(seams.count >= 4 && seams.filter { !$0.isClean } == [])
            // If an item is cut off, the player fades its sound out over 5 ms.
            let sound = try #require(record.sound)[beside]
            #expect(sound.holes.filter { $0.duration > .milliseconds(5) } == [] && sound.tone?.clicks == [])
            expectLossesToBeSaid(record)
        }

        @Test(.thorough("real time")) func `with five, what is lost is said`() async throws {
            let record = try await playing("five beside", for: .seconds(7), beside: 5, until: .seconds(5))
            expectLossesToBeSaid(record)
        }

        /// Plays two items in turn; from 2 s on, `count` busy processes run on the same CPU.
        private func playing(_ name: String, for duration: Duration, beside count: Int, until end: Duration) async throws -> Record {
            let clips = try [("a", 1), ("b", 1001)].map { try BedGallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
            let configuration = KioskConfiguration(playlist: clips.map { "source = \"\($0.path)\"\nend = 1" })
            // A host stops a real-time process that always computes, for 50 ms in every second.
            let machine = Machine { ($0.isRealTime, $0.measuresHost) = (false, true) }
            for _ in 1...Bed.attempts {
                let record = try await Bed.run(name, for: duration, playing: clips, .kiosk(configuration), on: machine) { at in
                    // The priority in kiosk.service.
                    at(0.3, .shell("renice -n -10 $(ls /proc/$PLAYER/task)"), "nice")
                    for number in 1...count {
                        let seconds = end / .seconds(1) - 2
                        at(2, .shell("exec timeout \(seconds) sh -c 'while :; do :; done'"), number == 1 ? "busy" : "\(number)")
                    }
                }
                // If frames stand too long while nothing else runs, the host is busy, and the run proves nothing.
                if isCalm(record, .seconds(0.5), record.time(of: "busy")), isCalm(record, end + .seconds(1), duration) { return record }
            }
            throw BedError.starved("frames stood too long while nothing else ran")
        }

        private func isCalm(_ record: Record, _ begin: Duration, _ end: Duration) -> Bool {
            record.frames.filter { $0.time >= begin && $0.time < end }.dropLast().allSatisfy { $0.vblanks == 2 }
        }
    }
}
