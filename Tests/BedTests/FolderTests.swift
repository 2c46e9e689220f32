import Bed
import Foundation
import Testing

extension BedTests {
    /// A folder whose files come, go and are replaced during playback.
    @Suite struct Folders {
        let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }

        @Test func `files come and go, and nobody can tell but by what is shown`() async throws {
            let clips = try [("loop30", 1), ("other30", 1001)].map { try BedGallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
            let folder = NSTemporaryDirectory() + "kiosk-folder-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try FileManager.default.copyItem(atPath: clips[0].path, toPath: folder + "/a.mp4")
            let configuration = KioskConfiguration(display: "gravity = \"stretch\"", playlist: ["source = \"\(folder)\""])
            let record = try await Bed.run("folder", for: .seconds(20.6), playing: clips, .kiosk(configuration), on: machine) { at in
                at(3, .shell("cp \(clips[1].path) \(folder)/.b && mv \(folder)/.b \(folder)/b.mp4"), "one more")
                at(8, .shell("rm \(folder)/a.mp4"), "one less")
                at(13, .shell("cp \(clips[0].path) \(folder)/.c && mv \(folder)/.c \(folder)/c.mp4 && rm \(folder)/b.mp4"), "another")
            }
            #expect(record.seams.count >= 18 && record.seams.filter { !$0.isClean } == [], "\(record.seams)")
            #expect(record.wrongHolds == [])
            let sound = try #require(record.sound)
            #expect(sound.holes == [] && sound.tone?.phaseJumps == [] && sound.tone?.clicks == [])
            /// Returns the clips shown in two loops from a time on.
            func shown(_ from: Double) -> Set<Int> {
                Set(record.frames.filter { $0.time >= .seconds(from) && $0.time < .seconds(from + 2.1) }.map { $0.number / 1000 })
            }
            #expect(shown(1) == [0] && shown(5.8) == [0, 1] && shown(10.8) == [1] && shown(17) == [0], "\(record.frames.map(\.number))")
            let log = record.log.map(\.text)
            for change in ["2 items; new: b.mp4", "1 item; gone: a.mp4", "1 item; new: c.mp4; gone: b.mp4"] {
                #expect(log.count { $0.hasSuffix("the playlist has changed: \(change)") } == 1, "\(log)")
            }
            #expect(record.status == 0)
        }
    }
}
