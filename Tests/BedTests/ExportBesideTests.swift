import Bed
import Foundation
import Testing

extension BedTests {
    /// A film that is made while the player plays, on the one processor that there is.
    @Suite struct ExportBeside {
        /// In virtual time, in which computing takes as long as it does, and the host cannot be in the way.
        @Test func `a film is made beside the player, and no vblank is missed`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let short = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let film = NSTemporaryDirectory() + "kiosk-film-\(UUID().uuidString).mp4"
            defer { try? FileManager.default.removeItem(atPath: film) }
            let record = try await Bed.run(
                "export-beside", for: .seconds(14), playing: [clip], on: Machine { $0.time = .virtual }
            ) { at in
                let sources = Array(repeating: short.path, count: 6).joined(separator: " ")
                at(2, .shell("$(readlink /proc/$PLAYER/exe) export \(sources) -o \(film) --quiet; echo status=$?"), "export")
            }
            #expect(record.outputs["export"]?.contains("status=0") == true, "\(record.outputs)")
            #expect(FileManager.default.fileExists(atPath: film))
            #expect(record.wrongHolds == [])
            #expect(record.seams.count >= 2 && record.seams.allSatisfy(\.isClean), "\(record.seams)")
            #expect(record.statistics?.late == 0 && record.statistics?.dropped == 0)
            #expect(record.status == 0)
        }
    }
}
