import Bed
import Testing

extension BedTests {
    @Suite struct SmallBox {
        /// The most memory that a player holds: two decoders of the largest pictures for a box, the playing one and the next, open ahead of
        /// its turn. In virtual time, as it is about memory: only a faster processor than the bed's can play this in real time.
        @Test func `two 4K items in turn fit into a box of 512 MB`() async throws {
            let clips = try [("large-red", "0xD03030", 1), ("large-green", "0x30B060", 1001)].map {
                try BedGallery.plain($0.0, $0.1, size: "3840x2160", frames: 15, from: $0.2)
            }
            let machine = Machine { ($0.time, $0.memory) = (.free, 512) }
            let record = try await Bed.run("small box", for: .seconds(2.3), playing: clips, on: machine)
            #expect(record.seams.count >= 3 && record.seams.filter { !$0.isClean } == [])
            #expect(record.wrongHolds == [])
            #expect(record.usage.peakMemory < 345 << 20, "\(record.usage.peakMemory >> 20) MB")
            #expect(record.status == 0)
        }
    }
}
