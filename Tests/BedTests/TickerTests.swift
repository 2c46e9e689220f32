import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// Text that runs across the screen, over a clip that loops.
    @Suite struct Tickers {
        /// The place of 16 pixels of a row in the middle of the letters. The letters move by ``pixels`` to the left at each vblank.
        private static let row = Vblank.Rectangle(x: 400, y: 30, width: 40, height: 45)
        private static let pixels = 3
        private static let seconds = 20

        private static func record(
            _ name: String, overlays: Int, refresh: Int, readsTicker: Bool, speed: Int = 20, column: Int = row.x, for seconds: Int = seconds
        ) async throws -> Record {
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let tables = """
                source = "\(clip.path)"
                [[overlay]]
                kind = "ticker"
                name = "news"
                text = "The museum closes at six\\nThe café is on the second floor"
                speed = \(speed)
                anchor = "top"
                size = "10%"
                background = "#000000"
                background-opacity = 100
                outline = "none"
                """
            let configuration = KioskConfiguration(display: "safe-area = 0", playlist: [tables])
            let machine = Machine {
                ($0.time, $0.overlays, $0.readsTopmost) = (.free, overlays, readsTicker)
                $0.mode = Machine.Mode(width: 848, height: 480, refresh: refresh)
            }
            // In a picture of 45 lines at this place, the cells are on the row to read.
            let area = readsTicker ? Vblank.Rectangle(x: column, y: row.y - 43, width: row.width, height: row.height) : nil
            return try await Bed.run(name, for: .seconds(seconds), playing: [clip], .kiosk(configuration), on: machine, area: area) { _ in }
        }

        @Test(arguments: [(overlays: 2, refresh: 60), (0, 60), (2, 50)])
        func `it is on a straight line at every vblank`(overlays: Int, refresh: Int) async throws {
            let seconds = Proof.isThorough ? 600 : Self.seconds
            let record = try await Self.record("ticker-line", overlays: overlays, refresh: refresh, readsTicker: true, for: seconds)
            let vblanks = record.vblanks.filter { $0.time > .seconds(8) && $0.time < .seconds(seconds) }
            #expect(vblanks.count > 10 * refresh)
            var (uneven, informative): ([Duration], Int) = ([], 0)
            for (before, after) in zip(vblanks, vblanks.dropFirst()) {
                let kept = before.cells & (1 << (16 - Self.pixels) - 1)
                if after.cells >> Self.pixels != kept { uneven.append(after.time) }
                // There are letters, and they differ from place to place: another step would be seen.
                if kept != 0, after.cells != before.cells { informative += 1 }
            }
            #expect(
                uneven == [] && informative > vblanks.count / 3, "\(uneven.count) of \(vblanks.count), \(informative): \(uneven.prefix(20))"
            )
            #expect(record.statistics?.dropped == 0 && record.statistics?.late == 0 && record.status == 0)
        }

        @Test(arguments: [2, 0]) func `a slow one moves by a pixel at every fourth vblank`(overlays: Int) async throws {
            // Read near the side at which the text enters.
            let record = try await Self.record("ticker-slow", overlays: overlays, refresh: 60, readsTicker: true, speed: 2, column: 800)
            let vblanks = record.vblanks.filter { $0.time > .seconds(8) && $0.time < .seconds(Self.seconds) }
            let moves = zip(vblanks, vblanks.dropFirst()).enumerated().filter { $0.element.0.cells != $0.element.1.cells }
            let uneven = moves.filter { $0.element.1.cells >> 1 != $0.element.0.cells & 0x7FFF || $0.offset % 4 != moves[0].offset % 4 }
            #expect(moves.count > 50 && uneven.isEmpty, "\(moves.count): \(uneven.map(\.element.1.time))")
            #expect(record.statistics?.dropped == 0 && record.statistics?.late == 0 && record.status == 0)
        }

        @Test(arguments: [(overlays: 2, refresh: 60), (0, 60), (2, 50)])
        func `the picture knows nothing of it`(overlays: Int, refresh: Int) async throws {
            let record = try await Self.record("ticker-loop", overlays: overlays, refresh: refresh, readsTicker: false)
            #expect(record.seams.count >= 18 && record.seams.filter { !$0.isClean } == [])
            if refresh == 60 { #expect(record.wrongHolds == []) }
            #expect(record.statistics?.dropped == 0 && record.statistics?.late == 0 && record.status == 0)
        }
    }
}
