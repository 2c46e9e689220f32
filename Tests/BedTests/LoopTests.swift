import Bed
import Testing

extension BedTests {
    /// Thirty turns and more, at every rate on both refreshes, of items of every kind: a viewer cannot tell.
    @Suite struct Loops {
        @Test(arguments: [(60, 24), (60, 25), (60, 30), (60, 50), (60, 60), (50, 24), (50, 25), (50, 30), (50, 50)])
        func `an item alone, and two in turn`(refresh: Int, rate: Int) async throws {
            let clips = try [("loop", 1), ("other", 1001)].map { name, first in
                try Gallery.clip("\(name)\(rate)", frames: rate, from: first, frameRate: Double(rate))
            }
            // The item again and again, then the other one.
            let configuration = KioskConfiguration(
                playlist: ["source = \"\(clips[0].path)\"\nrepeat = 4", "source = \"\(clips[1].path)\"\nrepeat = 1"])
            let machine = Machine { ($0.time, $0.mode.refresh) = (.free, refresh) }
            let record = try await Bed.run(
                "\(rate) on \(refresh)", for: .seconds(32), playing: clips, .kiosk(configuration), on: machine)
            #expect(record.seams.count >= 30 && record.seams.contains { $0.first.number == 1001 })
            #expect(record.seams.filter { !$0.isClean } == [])
            #expect(record.wrongHolds == [])
            let tone = record.sound?.tone
            #expect(tone?.phaseJumps == [] && tone?.clicks == [] && record.sound?.holes == [])
            #expect(record.statistics?.seams == record.seams.count && record.statistics?.worstSeam == 0)
            #expect(record.statistics?.late == 0 && record.statistics?.dropped == 0)
        }

        @Test(arguments: [60, 50])
        func `ten items that have nothing in common`(refresh: Int) async throws {
            let clips = try [
                ("mix-1.mp4", 30.0), ("mix-2.webm", 25), ("mix-3.mkv", 24000.0 / 1001), ("mix-4.ts", 25), ("mix-5.mp4", 60),
                ("mix-6.mp4", 50),
                ("mix-7.mov", 24), ("mix-8.mkv", 15), ("mix-9.mp4", 30000.0 / 1001), ("mix-10.mp4", 30),
            ].enumerated().map { index, clip in
                NumberedClip(
                    try Gallery.path(clip.0), frames: Int(clip.1.rounded()), from: 1000 * (index + 1) + 1, frameRate: clip.1)
            }
            let machine = Machine { ($0.time, $0.mode.refresh) = (.free, refresh) }
            let configuration = KioskConfiguration(display: "gravity = \"stretch\"")
            let record = try await Bed.run("ten on \(refresh)", for: .seconds(33), playing: clips, .kiosk(configuration), on: machine)
            #expect(record.seams.count >= 30)
            // Of 60 frames a second a sixth must go at 50 Hz, and now and then it is the last.
            let bad = record.seams.filter { seam in
                !seam.isClean && !(refresh == 50 && seam.lostFrames == 1 && seam.latePresents == 0 && seam.last.number / 1000 == 5)
            }
            #expect(bad == [])
            #expect(record.statistics?.seams == record.seams.count)
            if refresh == 60 {
                #expect(record.statistics?.worstSeam == 0 && record.statistics?.late == 0 && record.statistics?.dropped == 0)
            }
        }

        @Test(arguments: [200, -200])
        func `minutes with a sound card that is off`(partsPerMillion: Int) async throws {
            let clip = try Gallery.halfSecond()
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 640, height: 480)) }
            let area = Vblank.Rectangle(x: 0, y: 60, width: 640, height: 360)
            let record = try await Bed.run("\(partsPerMillion) ppm", for: .seconds(150), playing: [clip], on: machine, area: area) { at in
                let shift = "iface=PCM,name='PCM Rate Shift 100000',device=1"
                at(-0.2, .shell("amixer -c Loopback cset \"\(shift)\" \(100_000 + partsPerMillion / 10) | tail -n 1"), "shift")
            }
            #expect(record.outputs["shift"]?.contains("values=\(100_000 + partsPerMillion / 10)") == true, "\(record.outputs)")
            #expect(record.wrongHolds == [] && record.seams.filter { !$0.isClean } == [])
            let told = try #require(record.statistics)
            #expect(told.late == 0 && told.dropped == 0)
            #expect(try #require(told.synchrony).most <= 20)
            #expect(abs(told.soundChange - partsPerMillion) < 30, "the sound makes up for it: \(told.soundChange)")
        }
    }
}
