import Bed
import Testing

@testable import KioskControlsCore

extension BedTests {
    /// kiosk.conf is saved during playback.
    @Suite struct Reloads {
        /// Changes the player's kiosk.conf by sed(1).
        private func edit(_ script: String) -> ActionTimeline.Action {
            .shell("sed -i '\(script)' \"$(tr '\\0' '\\n' < /proc/$PLAYER/cmdline | grep 'kiosk.conf$')\"")
        }

        @Test func `fingers and keys do something else from then on, controls are drawn, and no frame is late`() async throws {
            let stage = try OnScreenStage()
            let (x, y) = OnScreenStage.beside
            let slider = try #require(OnScreenStage.layout().slider)
            let input = "controls = \"none\"\n[input.keys]\nspace = \"mute\"\nm = \"pause\"\nhome = \"show-controls\""
            let record = try await stage.run("reload-input", for: 24, input: input) { at in
                at(3, .tap(x, y), "pause, bare")
                at(4, .tap(x, y), "play, bare")
                at(5, edit("s/^controls = .*/controls = \"full\"/; s/^space = .*/space = \"pause\"/; s/^m = .*/m = \"play\"/"))
                at(8, .key(.space), "pause")
                at(10, .key(.m), "play")
                // A finger holds the slider while the file is saved once more. When it lifts, there are no controls any more.
                at(15, .key(.home), "show")
                at(16, .down((slider.left + slider.right) / 2, slider.y), "hold")
                at(16.5, edit("s/^controls = .*/controls = \"none\"/"))
                at(18, .up())
                at(21, .key(.space), "pause again")
            }
            let log = record.log.map(\.text)
            #expect(log.count { $0.hasSuffix("kiosk.conf was read again: [input]") } == 2, "\(log)")
            #expect(!log.contains { $0.contains("restart kiosk to apply") }, "\(log)")
            for (pause, play) in [("pause, bare", "play, bare"), ("pause", "play")] {
                let lift = pause == "pause" ? Duration.zero : .milliseconds(60)
                try expectPause(record, from: record.time(of: pause) + lift, to: record.time(of: play) + lift)
            }
            // The player draws nothing before and after.
            let covered = record.covered
            let (first, last) = (try #require(covered.first), try #require(covered.last))
            #expect(first.lowerBound > .seconds(5) && last.upperBound < .seconds(17.5), "\(covered)")
            #expect(covered.contains { $0.lowerBound > .seconds(15) && $0.upperBound > .seconds(16.4) }, "\(covered)")
            // The picture that stood under the finger resumes, and stops at the key.
            #expect(record.numbers(from: .seconds(17.5), to: .seconds(21)).count > 90)
            #expect(record.frames.last.map { $0.time < record.time(of: "pause again") + record.period * 2 } ?? false)
            // A save in mid-item changes no seam and no hold.
            for (from, to) in [(4.2, 7.9), (10.2, 14.9), (18.0, 20.9)] {
                let stretch = Duration.seconds(from)..<Duration.seconds(to)
                #expect(record.wrongHolds.filter { stretch.contains($0.time) } == [], "\(from)")
                let seams = record.seams.filter { stretch.contains($0.first.time) }
                #expect(!seams.isEmpty && seams.allSatisfy { $0.isClean }, "\(seams)")
            }
            #expect(record.statistics?.dropped == 0 && record.status == 0)
        }
    }
}
