import Bed
import Testing

extension BedTests {
    @Suite struct Soak {
        @Test func `a thousand loops of half a second: every seam clean, and nothing grows`() async throws {
            let clip = try Gallery.halfSecond()
            let machine = Machine { ($0.time, $0.mode, $0.recordsSound) = (.free, Machine.Mode(width: 640, height: 480), false) }
            let area = Vblank.Rectangle(x: 0, y: 60, width: 640, height: 360)
            let record = try await Bed.run("soak", for: .seconds(503), playing: [clip], on: machine, area: area)
            #expect(record.seams.count >= 1000)
            let bad = record.seams.filter { !$0.isClean }
            #expect(bad == [])
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            #expect(record.statistics?.seams == record.seams.count && record.statistics?.worstSeam == 0)

            // Once the allocator has seen a few loops.
            let warm = try #require(record.usage.samples.first { $0.time > .seconds(60) })
            let last = try #require(record.usage.samples.last)
            #expect(last.time > .seconds(500))
            #expect(last.residentMemory - warm.residentMemory < 512 << 10, "\(warm.residentMemory) → \(last.residentMemory) bytes")
            #expect(last.threads == warm.threads && last.descriptors == warm.descriptors)
        }
    }
}
