import Bed
import Foundation
import TestSupport
import Testing

@testable import KioskControlsCore

extension BedTests {
    /// Subtitles come and go with their pictures.
    @Suite struct Subtitles {
        /// The first and the last picture of each line, at 30 pictures a second.
        private static let spans = [(31, 45), (61, 75), (76, 90), (100, 149)]

        private static func stamp(_ number: Int) -> String {
            // Picture n begins at (n - 1) / 30 s. Its subtitle begins some milliseconds earlier, as in real files.
            let milliseconds = max(0, (number - 1) * 1000 / 30 - 4)
            return String(format: "00:00:%02d,%03d", milliseconds / 1000, milliseconds % 1000)
        }

        private static var text: String {
            spans.enumerated().map { index, span in "\(index + 1)\n\(stamp(span.0)) --> \(stamp(span.1 + 1))\nLine \(index + 1)\n\n" }
                .joined()
        }

        /// Plays the clip with its subtitles from a folder of its own, as all tests share the bed's clips.
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
            // One line follows another at once: the drawing changes with the first picture of the second.
            let changes = record.overlayChanges().filter { $0.kind == .changed }
            let joined = vblanks.first { $0.number == 76 }
            #expect(changes.first.map { joined?.time == $0.time } == true, "\(changes), \(String(describing: joined?.time))")
            try expectUndisturbed(record)
        }

        @Test func `blended into the picture they cost no frame, and come with it all the same`() async throws {
            let record = try await Self.record("subtitles-blended", "beside", overlays: 0)
            try expectUndisturbed(record)
            // A picture looks the same in all its vblanks, and in each loop.
            let vblanks = record.displays[0].filter { (2...148).contains($0.number) }
            let looks = Dictionary(grouping: vblanks, by: \.number).mapValues { Set($0.map(\.hash)).count }
            let uneven = looks.filter { $0.value > 1 }.keys.sorted()
            #expect(uneven.isEmpty, "\(uneven)")
        }

        @Test func `a tap on the button and on a line of its list shows others`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let folder = NSTemporaryDirectory() + "kiosk-bed-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try FileManager.default.copyItem(atPath: clip.path, toPath: folder + "/a.mp4")
            // German subtitles never appear, English ones stay all the time.
            for (language, times) in [("de", "01:00:00,000 --> 01:00:01,000"), ("en", "00:00:00,000 --> 00:01:00,000")] {
                try Data("1\n\(times)\nA line\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/a.\(language).srt"))
            }
            let layout = ControlsLayout(
                geometry: ScreenGeometry(width: 1280, height: 720, physicalWidth: 320, physicalHeight: 180),
                content: .init(hasQueue: false, hasSelection: true))
            let button = try #require(layout.icons[.subtitles])
            // Below the heading: "Off", "Deutsch", "English".
            let above = MediaSelectionPanel.top + MediaSelectionPanel.padding + 3 * MediaSelectionPanel.lineHeight
            let line = layout.geometry.pixels(above + MediaSelectionPanel.lineHeight / 2)
            let configuration = KioskConfiguration(display: OnScreenStage.display, playlist: ["source = \"\(folder)/a.mp4\""])
            let own = NumberedClip(folder + "/a.mp4", frames: 150, frameRate: 30)
            let machine = Machine { $0.time = .free }
            let record = try await Bed.run("subtitles-list", for: .seconds(16), playing: [own], .kiosk(configuration), on: machine) { at in
                at(2, .tap(OnScreenStage.beside.0, OnScreenStage.beside.1), "pause")
                at(3, .tap(button.x, button.y), "button")
                at(3.6, .screenshot(), "list")
                at(4, .tap(layout.geometry.width - layout.geometry.pixels(20), line), "line")
                at(5, .tap(OnScreenStage.beside.0, OnScreenStage.beside.1), "play")
            }
            let list = try #require(record.screenshots["list"])
            // Keep it for people to look at, like the other controls.
            if let pictures = ProcessInfo.processInfo.environment["KIOSK_CONTROLS_PICTURES"] {
                try list.write(to: pictures + "/subtitles-list.png")
            }
            let vblanks = record.displays[0].filter { (2...148).contains($0.number) }
            let before = vblanks.filter { $0.time > .zero && $0.time < record.time(of: "pause") }
            // The controls have gone by then.
            let after = vblanks.filter { $0.time > record.time(of: "play") + .seconds(4) }
            #expect(before.count > 50 && before.allSatisfy(\.overlays.isEmpty))
            #expect(after.count > 200 && !after.contains(where: \.overlays.isEmpty))
        }

        private func expectUndisturbed(_ record: Record) throws {
            #expect(record.wrongHolds == [] && record.seams.count == 2 && record.seams.allSatisfy(\.isClean), "\(record.wrongHolds)")
            let statistics = try #require(record.statistics)
            #expect(statistics.dropped == 0 && statistics.late == 0 && record.status == 0, "\(statistics)")
        }
    }
}
