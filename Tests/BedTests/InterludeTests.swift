import Bed
import Testing

extension BedTests {
    /// Programs that play in between.
    @Suite struct Interludes {
        @Test func `after three items one comes in between, and every seam is clean`() async throws {
            let clips = try [("loop30", 1), ("other30", 1001)].map { try BedGallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
            let tables = """
                source = "\(clips[0].path)"
                [[program]]
                name = "safety"
                every = "3 items"
                [[program.playlist]]
                source = "\(clips[1].path)"
                """
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }
            let record = try await Bed.run(
                "interludes", for: .seconds(14), playing: clips, .kiosk(KioskConfiguration(playlist: [tables])), on: machine
            ) { _ in }
            // The clips by their first frames, without the last clip, which may be cut off.
            let order = record.frames.filter { $0.number % 1000 == 1 }.map { $0.number / 1000 }.dropLast()
            #expect(order.count >= 12 && Array(order) == order.indices.map { $0 % 4 == 3 ? 1 : 0 }, "\(order)")
            #expect(record.seams.count >= 12 && record.seams.filter { !$0.isClean } == [] && record.wrongHolds == [])
            #expect(record.statistics?.late == 0 && record.statistics?.dropped == 0 && record.status == 0)
        }
    }
}
