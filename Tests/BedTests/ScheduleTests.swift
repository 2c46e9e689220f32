import Bed
import Testing

extension BedTests {
    /// Programs that begin and end by the guest's clock. The test sets it to just before.
    @Suite struct Programs {
        @Test func `a program begins at a seam or at once, a leap of the clock changes what is played, and no frame is late`() async throws
        {
            let clips = try [("loop30", 1), ("other30", 1001)].map { try BedGallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
            let times = """
                source = "\(clips[0].path)"
                [place]
                time-zone = "UTC"
                [[program]]
                name = "day"
                hours = "09:00-18:00"
                [[program.playlist]]
                source = "\(clips[1].path)"
                [[program]]
                name = "lunch"
                priority = 2
                at = "now"
                hours = "12:00-13:00"
                [[program.playlist]]
                source = "\(clips[0].path)"
                [[at]]
                time = "12:00"
                do = "volume 40"
                """
            let configuration = KioskConfiguration(display: "gravity = \"stretch\"", playlist: [times])
            func set(_ time: String) -> ActionTimeline.Action { .shell("date -u -s '2026-11-27 \(time)' >/dev/null") }
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }
            let record = try await Bed.run("programs", for: .seconds(20), playing: clips, .kiosk(configuration), on: machine) { at in
                at(-0.2, set("08:59:54.4"), "before nine")
                at(9, set("11:59:57.5"), "before noon")
                at(15, set("15:00:00"), "afternoon")
            }
            /// Returns the clips on the screen from one time to another, by their thousands.
            func shown(_ from: Double, _ to: Double) -> Set<Int> {
                Set(record.frames.filter { $0.time >= .seconds(from) && $0.time < .seconds(to) }.map { $0.number / 1000 })
            }
            #expect(shown(1, 5) == [0], "\(record.frames.map(\.number))")
            // Nine o'clock is 5.4 s after the beginning, and a clip lasts a second. An item that was already open may play once more.
            #expect(shown(7.6, 11.4) == [1], "\(record.frames.map(\.number))")
            // Noon is 11.5 s after the beginning, in the middle of a clip.
            #expect(shown(11.8, 15) == [0], "\(record.frames.map(\.number))")
            let first = try #require(record.frames.first { $0.number == 1 && $0.time > .seconds(10) })
            #expect(first.time > .seconds(11.5) && first.time < .seconds(11.8), "\(first.time)")
            #expect(shown(18, 20) == [1], "\(record.frames.map(\.number))")
            // A program that begins at a boundary begins at a seam. The only cut is at noon, and its last frame stands no longer than at a
            // tap.
            #expect(record.seams.count >= 15 && record.seams.filter { !$0.isClean }.count <= 1, "\(record.seams)")
            #expect(record.wrongHolds.filter { !($0.time > .seconds(11.4) && $0.time < .seconds(11.8)) } == [], "\(record.wrongHolds)")
            let log = record.log.map(\.text)
            for (line, count) in [("on: program “day”", 2), ("on: program “lunch”", 1), ("it is 12:00: volume 40", 1)] {
                #expect(log.count { $0.hasSuffix(line) } == count, "\(line): \(log)")
            }
            #expect(record.statistics?.dropped == 0 && record.status == 0)
        }
    }
}
