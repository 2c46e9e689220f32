import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// Subtitles come and go with the picture that they belong to.
    @Suite struct Subtitles {
        /// Lines of so many pictures each, and pauses of as many, at 30 pictures a second: from which picture on, and up to which.
        private static let spans = [(31, 45), (61, 75), (76, 90), (100, 149)]

        private static func stamp(_ number: Int) -> String {
            // Picture n begins at (n - 1) / 30 s; its subtitle some milliseconds before, as people write them.
            let milliseconds = max(0, (number - 1) * 1000 / 30 - 4)
            return String(format: "00:00:%02d,%03d", milliseconds / 1000, milliseconds % 1000)
        }

        private static var text: String {
            spans.enumerated().map { index, span in "\(index + 1)\n\(stamp(span.0)) --> \(stamp(span.1 + 1))\nLine \(index + 1)\n\n" }
                .joined()
        }

        /// A folder with the clip and its subtitles: the bed's clips are everybody's.
        private static func record(_ name: String, _ kind: String, overlays: Int) async throws -> Record {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let folder = NSTemporaryDirectory() + "kiosk-bed-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/a.srt"))
            var path = folder + "/a.mp4"
            if kind == "beside" {
                try FileManager.default.copyItem(atPath: clip.path, toPath: path)
            } else {
                path = folder + "/a.mkv"
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
                process.arguments =
                    ["ffmpeg", "-v", "error", "-nostdin", "-i", clip.path, "-i", folder + "/a.srt", "-map", "0", "-map", "1"]
                    + ["-c", "copy", "-c:s", kind, "-y", path]
                try process.run()
                process.waitUntilExit()
                try #require(process.terminationStatus == 0)
            }
            let configuration = KioskConfiguration(playback: "subtitle-track = 1", playlist: ["source = \"\(path)\""])
            let machine = Machine { ($0.time, $0.overlays) = (.free, overlays) }
            let own = NumberedClip(path, frames: 150, frameRate: 30)
            return try await Bed.run(name, for: .seconds(13), playing: [own], .kiosk(configuration), on: machine)
        }

        @Test(arguments: ["beside", "srt", "ass"]) func `they come with their first picture and go with their last`(
            kind: String
        ) async throws {
            let record = try await Self.record("subtitles-\(kind)", kind, overlays: 2)
            let vblanks = record.displays[0].filter { (1...150).contains($0.number) }
            try #require(vblanks.count > 500)
            let wrong = vblanks.filter { vblank in
                let isWanted = Self.spans.contains { $0.0 <= vblank.number && vblank.number <= $0.1 }
                return vblank.overlays.isEmpty == isWanted
            }
            #expect(wrong.isEmpty, "\(wrong.map { ($0.number, $0.overlays.count) })")
            // One line follows on another: another drawing from its first picture on.
            let changes = record.overlayChanges().filter { $0.kind == .changed }
            let joined = vblanks.first { $0.number == 76 }
            #expect(changes.first.map { joined?.time == $0.time } == true, "\(changes), \(String(describing: joined?.time))")
            try expectUndisturbed(record)
        }

        @Test func `blended into the picture they cost no frame, and come with it all the same`() async throws {
            let record = try await Self.record("subtitles-blended", "beside", overlays: 0)
            try expectUndisturbed(record)
            // What a picture looks like is the same in all its vblanks, and in each turn.
            let vblanks = record.displays[0].filter { (2...148).contains($0.number) }
            let looks = Dictionary(grouping: vblanks, by: \.number).mapValues { Set($0.map(\.hash)).count }
            let uneven = looks.filter { $0.value > 1 }.keys.sorted()
            #expect(uneven.isEmpty, "\(uneven)")
        }

        private func expectUndisturbed(_ record: Record) throws {
            #expect(record.wrongHolds == [] && record.seams.count == 2 && record.seams.allSatisfy(\.isClean), "\(record.wrongHolds)")
            let statistics = try #require(record.statistics)
            #expect(statistics.dropped == 0 && statistics.late == 0 && record.status == 0, "\(statistics)")
        }
    }
}
