import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    @Suite struct Soak {
        /// Three hundred, a thousand in make test-all; $KIOSK_SOAK is another number of loops.
        @Test func `hundreds of loops of half a second: every seam clean, and nothing grows`() async throws {
            let loops = ProcessInfo.processInfo.environment["KIOSK_SOAK"].flatMap { Int($0) } ?? (Proof.isThorough ? 1000 : 300)
            let seconds = Int(Double(loops) * 0.5005) + 3
            let clip = try BedGallery.halfSecond()
            let machine = Machine {
                ($0.time, $0.mode, $0.recordsSound) = (.free, Machine.Mode(width: 640, height: 480), false)
                // No multiple of a loop, so that a minute of looks falls on all of it.
                $0.samplePeriod = .milliseconds(1370)
            }
            let area = Vblank.Rectangle(x: 0, y: 60, width: 640, height: 360)
            let record = try await Bed.run("soak", for: .seconds(seconds), playing: [clip], on: machine, area: area)
            #expect(record.seams.count >= loops)
            let bad = record.seams.filter { !$0.isClean }
            #expect(bad == [])
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            #expect(record.statistics?.seams == record.seams.count && record.statistics?.worstSeam == 0)

            // Once the allocator has seen a few loops. What is resident goes up and down by a megabyte within a loop, so many looks are
            // compared, of all its parts: every ten seconds they went once over the loop in the whole run, and the first third was of other parts
            // than the last.
            let samples = record.usage.samples.filter { $0.time > .seconds(60) }
            try #require(samples.count >= 9)
            #expect(samples.last!.time > .seconds(seconds - 3))
            let (first, last) = (samples.prefix(samples.count / 3), samples.suffix(samples.count / 3))
            // Not the middle one: it jumps from one level to the next, a picture's memory, where both are as frequent.
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
