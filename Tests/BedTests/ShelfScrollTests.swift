import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// The shelf with ten thousand clips, scrolled by a finger: the display at each vblank.
    @Suite struct ShelfScroll {
        /// Makes a folder with `count` clips, all names of three small ones. The player reads only the visible ones.
        private static func folder(_ count: Int) throws -> String {
            let folder = NSTemporaryDirectory() + "kiosk-shelf-\(UUID().uuidString)"
            let clips = try [("loop24", 1, 24.0), ("loop30", 1, 30), ("other30", 1001, 30)].map {
                try BedGallery.clip($0.0, frames: Int($0.2), from: $0.1, frameRate: $0.2).path
            }
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let originals = try clips.enumerated().map { index, clip in
                let copy = folder + "/original \(index).mp4"
                try FileManager.default.copyItem(atPath: clip, toPath: copy)
                return copy
            }
            for number in 1...count { link(originals[number % 3], folder + "/Visitor \(number).mp4") }
            return folder
        }

        /// Moves a finger up by `distance` pixels and lifts it as it goes. The panel reports its place every 8 ms. It becomes faster, as
        /// fingers do.
        private static func fling(_ at: inout ActionTimeline, _ begin: Double, by distance: Int, over time: Double, _ name: String) {
            let steps = Int(time / 0.008)
            at(begin, .down(600, 560), name)
            for step in 1...steps {
                let share = Double(step) / Double(steps)
                let y = 560 - Int(Double(distance) * share * share * (1.5 - 0.5 * share))
                at(begin + 0.008 * Double(step), .move(600, y), step == steps ? name + " ends" : nil)
            }
            at(begin + 0.008 * Double(steps) + 0.004, .up(), name + " lifts")
        }

        @Test(arguments: Proof.some([2, 0])) func `ten thousand clips are scrolled by a finger, and no vblank is without its frame`(
            overlays: Int
        ) async throws {
            let folder = try Self.folder(10_000)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let configuration = KioskConfiguration(
                input: "[input.keys]\nf1 = \"shelf\"\n[shelf]\nfolders = [\"\(folder)\"]\ncache = \"off\"")
            let machine = Machine { ($0.time, $0.overlays) = (.free, overlays) }
            let flings = 12
            let record = try await Bed.run(
                "shelf-\(overlays)", for: .seconds(24), playing: [clip], .kiosk(configuration), on: machine
            ) { at in
                at(3, .key(.f1), "open")
                at(4.9, .screenshot(file: "shelf.png"))
                at(5, .down(600, 650), "drag")
                for step in 1...250 { at(5 + 0.008 * Double(step), .move(600, 650 - 2 * step)) }
                at(7.3, .up())
                for fling in 0..<flings { Self.fling(&at, 8 + Double(fling), by: 420, over: 0.16, "fling \(fling)") }
                at(21.5, .key(.f1), "close")
            }
            #expect(record.log.contains { $0.text.contains("on the shelf: 10003 files") })
            let period = record.period
            /// Returns the vblanks from one time to another with the same picture as the vblank before.
            func still(_ from: Duration, _ to: Duration) -> [Duration] {
                let vblanks = record.vblanks.filter { $0.time >= from && $0.time <= to }
                return zip(vblanks, vblanks.dropFirst()).filter { $0.hash == $1.hash }.map { $1.time }
            }
            // With the finger: after it has moved too far for a tap, each vblank shows its newest place.
            let drag = record.time(of: "drag")
            let missedByDrag = still(drag + .milliseconds(200), drag + .seconds(2))
            #expect(missedByDrag.isEmpty, "\(missedByDrag)")
            // After the lift: as long as the shelf is faster than two pixels a vblank.
            var seen = 0
            for fling in 0..<flings {
                let lift = record.time(of: "fling \(fling) lifts")
                let stretch = (lift - .milliseconds(60), lift + .milliseconds(700))
                let missed = still(stretch.0, stretch.1)
                #expect(missed.isEmpty, "fling \(fling), lifted at \(lift): nothing new at \(missed)")
                seen += record.vblanks.count { $0.time >= stretch.0 && $0.time <= stretch.1 }
            }
            #expect(seen >= flings * 44)
            print("shelf, \(overlays) overlay planes: \(seen) vblanks of scrolling, peak memory \(record.usage.peakMemory >> 20) MB")
            #expect(record.usage.peakMemory < 260 << 20, "\(record.usage.peakMemory >> 20) MB")
            // After closing, the clip resumes and all is as before.
            let close = record.time(of: "close")
            let after = record.frames.filter { $0.time > close + period * 4 }
            #expect(after.count > 40)
            #expect(record.wrongHolds(from: close + .milliseconds(500)) == [])
            #expect(record.statistics?.dropped == 0 && record.statistics?.flipsLost == 0)
            #expect(record.status == 0)
        }
    }
}
