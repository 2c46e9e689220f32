import Bed
import Glibc
import Testing

extension BedTests {
    /// Time that passes without the player, or jumps.
    @Suite struct Stalls {
        /// A debugger, a swapping machine or a hypervisor stops the process while display and card go on. The card runs dry, the timeline
        /// stands still with it, and both resume in place.
        @Test func `the process is stopped for a while, and goes on where it was`() async throws {
            let clip = try BedGallery.clip("flash", frames: 150, frameRate: 30)
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 640, height: 480)) }
            let area = Vblank.Rectangle(x: 0, y: 60, width: 640, height: 360)
            let stops = [(3.1, 0.3), (6.0, 2.0), (11.0, 20.0)]
            let record = try await Bed.run("stopped", for: .seconds(35), playing: [clip], on: machine, area: area) { at in
                for (time, length) in stops {
                    at(time, .signal(SIGSTOP), "stop \(length)")
                    at(time + length, .signal(SIGCONT), "go \(length)")
                }
            }
            for (_, length) in stops {
                let (stop, go) = (record.time(of: "stop \(length)"), record.time(of: "go \(length)"))
                let stood = try #require(record.frames.last { $0.time < stop + .milliseconds(40) })
                #expect(stood.time < stop + .milliseconds(20), "nothing new without the process")
                let after = record.frames.filter { $0.time >= go && $0.time < go + .seconds(2) }
                let first = try #require(after.first)
                #expect(first.time - go < .milliseconds(34))
                // The card played its buffer of a tenth of a second meanwhile. The picture may make up for that, and for no more.
                #expect((1...4).contains(first.number - stood.number), "\(stood.number) → \(first.number)")
                let settled = after.filter { $0.time > go + .milliseconds(100) }
                let steps = zip(settled, settled.dropFirst()).map { $1.number - $0.number }
                #expect(steps.allSatisfy { $0 == 1 || $0 == -149 }, "\(steps)")
                // The frames skipped for that are skipped at once.
                let early = after.filter { $0.time <= go + .milliseconds(100) }
                #expect(zip(early, early.dropFirst()).allSatisfy { (1...3).contains($1.number - $0.number) }, "\(early)")
                #expect(settled.count > 50 && settled.dropLast().allSatisfy { $0.vblanks == 2 && $0.vblanksBefore == 0 })
            }
            #expect(record.seams.count == 2 && record.seams.filter { !$0.isClean } == [])
            expectLossesToBeSaid(record)
            #expect(record.log.count { $0.text.contains("underruns: 1") } == 1)

            // The matching beeps and flashes, before and after each of the stops.
            let offsets = record.offsets(ofFlash: 16, every: 30)
            #expect(offsets.count >= 12 && offsets.allSatisfy { abs($0) < 0.02 }, "\(offsets)")
        }

        /// Nothing in the player asks for the date.
        @Test func `the date is set, and nothing happens`() async throws {
            let clips = try [("loop30", 1), ("other30", 1001)].map { try BedGallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
            let machine = Machine { $0.time = .free }
            let record = try await Bed.run("date", for: .seconds(7), playing: clips, on: machine) { at in
                at(2.0, .shell("date +%s; date -s '+1 hour' >/dev/null; date +%s"), "forth")
                at(4.0, .shell("date +%s; date -s '-2 hours' >/dev/null; date +%s"), "back")
            }
            for (name, step) in [("forth", 3600), ("back", -7200)] {
                let dates = (record.outputs[name] ?? "").split(separator: "\n").compactMap { Int($0) }
                #expect(dates.count == 2 && abs(dates[1] - dates[0] - step) <= 1, "\(name): \(dates)")
            }
            #expect(record.seams.count >= 5 && record.seams.filter { !$0.isClean } == [])
            #expect(record.wrongHolds == [])
            let tone = record.sound?.tone
            #expect(record.sound?.holes == [] && tone?.phaseJumps == [] && tone?.clicks == [])
            #expect(record.statistics?.late == 0 && record.statistics?.dropped == 0)
        }
    }
}
