import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    @Suite struct Soak {
        /// Three hundred loops, a thousand in make test-all; $KIOSK_SOAK sets another number.
        @Test func `hundreds of loops of half a second: every seam clean, and nothing grows`() async throws {
            let loops = ProcessInfo.processInfo.environment["KIOSK_SOAK"].flatMap { Int($0) } ?? (Proof.isThorough ? 1000 : 300)
            let seconds = Int(Double(loops) * 0.5005) + 3
            let clip = try BedGallery.halfSecond()
            let machine = Machine {
                ($0.time, $0.mode, $0.recordsSound) = (.free, Machine.Mode(width: 640, height: 480), false)
                // The period is no multiple of a loop, so a minute of samples covers all of a loop.
                $0.samplePeriod = .milliseconds(1370)
            }
            let area = Vblank.Rectangle(x: 0, y: 60, width: 640, height: 360)
            let record = try await Bed.run("soak", for: .seconds(seconds), playing: [clip], on: machine, area: area)
            #expect(record.seams.count >= loops)
            let bad = record.seams.filter { !$0.isClean }
            #expect(bad == [])
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            #expect(record.statistics?.seams == record.seams.count && record.statistics?.worstSeam == 0)

            // Only samples after the allocator has seen a few loops count. Resident memory goes up and down by a megabyte within a loop.
            // The test therefore compares many samples of all parts of a loop. At one sample every ten seconds, a whole run went over the
            // loop once. Its first third then covered other parts than its last.
            let samples = record.usage.samples.filter { $0.time > .seconds(60) }
            try #require(samples.count >= 9)
            #expect(samples.last!.time > .seconds(seconds - 3))
            let (first, last) = (samples.prefix(samples.count / 3), samples.suffix(samples.count / 3))
            // Not the median: if two levels are equally frequent, it jumps from one to the other, a picture's memory.
            let (before, after) = (mean(first.map(\.residentMemory)), mean(last.map(\.residentMemory)))
            #expect(after - before < 384 << 10, "\(before) → \(after) bytes: \(samples.map(\.residentMemory))")
            #expect(median(first.map(\.threads)) == median(last.map(\.threads)))
            #expect(median(first.map(\.descriptors)) == median(last.map(\.descriptors)))
        }

        private func mean(_ values: [Int]) -> Int { values.reduce(0, +) / values.count }

        private func median(_ values: [Int]) -> Int {
            values.sorted()[values.count / 2]
        }
    }
}
