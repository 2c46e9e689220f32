import Bed
import Testing

extension BedTests {
    /// One item fades into the next, on the display.
    @Suite struct Fades {
        /// Items of two seconds each, with a fade in the last half second. Numbers in a mixture cannot be read, so the test judges its
        /// colour and the commits.
        @Test func `every vblank of a fade has its own mixture, and the sound is mixed without a click`() async throws {
            let clips = try [("red", "0xD03030", 1), ("green", "0x30B060", 1001)].map {
                try BedGallery.plain($0.0, $0.1, frames: 60, from: $0.2)
            }
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 640, height: 480)) }
            let configuration = KioskConfiguration(playback: "transition = \"fade\"\ntransition-duration = 0.5005")
            let area = Vblank.Rectangle(x: 0, y: 60, width: 640, height: 360)
            // One picture at every vblank around the first fade, a little after it.
            let pictures = 60
            let record = try await Bed.run("fade", for: .seconds(8), playing: clips, .kiosk(configuration), on: machine, area: area) { at in
                for count in 0..<pictures { at(1.2 + (Double(count) + 0.3) / 59.94, .screenshot(), "\(count)") }
            }

            let colors = try (0..<pictures).map { try #require(record.screenshots["\($0)"])[320, 240] }
            let (red, green) = (colors[0], colors[pictures - 1])
            let begin = try #require(colors.firstIndex { !$0.isLike(red, within: 2) })
            // 15 frames of two vblanks, each with the share in its middle.
            let wrong = colors.enumerated().filter { index, color in
                let share = index < begin ? 0 : min(1, (Double((index - begin) / 2) + 0.5) / 15)
                let mixture = Picture.Color(
                    mix(red.red, green.red, share), mix(red.green, green.green, share), mix(red.blue, green.blue, share))
                return !color.isLike(mixture, within: 3)
            }
            #expect(begin > 10 && begin < 28 && wrong.isEmpty, "\(colors), the fade from \(begin) on")

            // A turn is 45 frames until the next item begins to fade in. A new picture comes at every second vblank, through five fades and
            // the start of a sixth.
            let shown = record.vblanks.filter { $0.time > .seconds(1) && $0.time < .seconds(7.9) }
            let commits = shown.filter { $0.commits > 0 }.map(\.sequence)
            #expect(commits.count > 200 && zip(commits, commits.dropFirst()).allSatisfy { $1 - $0 == 2 }, "\(commits)")
            #expect(zip(shown, shown.dropFirst()).allSatisfy { $1.sequence == $0.sequence + 1 }, "the log has holes")
            let told = try #require(record.statistics)
            #expect(told.seams == 5 && told.worstSeam == 0 && told.late == 0 && told.dropped == 0, "\(told)")

            // Both tones are in phase, and the gains keep the power: half-way the sound is louder by the root of two.
            let sound = try #require(record.sound)
            #expect(sound.holes == [] && sound.tone?.phaseJumps == [] && sound.tone?.clicks == [])
            let middle = record.time(of: "\(begin)") + .milliseconds(250)
            func peak(_ time: Duration) -> Double { Double(sound[time - .milliseconds(10)..<time + .milliseconds(10)].peak) }
            let gain = peak(middle) / peak(middle - .milliseconds(500))
            #expect(abs(gain - 2.0.squareRoot()) < 0.1, "\(gain)")
        }

        private func mix(_ a: Int, _ b: Int, _ share: Double) -> Int { Int((Double(a) * (1 - share) + Double(b) * share).rounded()) }
    }
}
