import Bed
import Testing

extension BedTests {
    @Suite struct Seams {
        @Test func `one item comes round without a late, lost or dark vblank`() async throws {
            let clip = try Gallery.clip("a", frames: 150, frameRate: 30)
            let record = try await Bed.run("one item", for: .seconds(13), playing: [clip])
            #expect(record.seams.count == 2)
            #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
        }
    }
}
