import Bed
import Foundation
import Testing

extension BedTests {
    /// Outputs that two players share: a sound card, mixed by ALSA's dmix, and a seat with two displays.
    @Suite struct SharedOutputs {
        @Test func `two players share a card, and both are heard`() async throws {
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let (path, other) = (try BedGallery.whistle(), NSTemporaryDirectory() + "kiosk-other-\(UUID().uuidString).conf")
            defer { unlink(other) }
            let sound = "device = \"hw:Loopback,0,0\"\nmix = true\n"
            try "[display]\nconnector = \"offscreen\"\n[audio]\n\(sound)[[playlist]]\nsource = \"\(path)\"\n".write(
                toFile: other, atomically: true, encoding: .utf8)
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"", audio: sound, playlist: ["source = \"\(clip.path)\""])
            let record = try await Bed.run("dmix", for: .seconds(10.6), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(3, .shell("$(readlink /proc/$PLAYER/exe) --config \(other) >/run/other 2>&1 & echo $! >/run/pid"))
                at(7, .shell("kill $(cat /run/pid); sleep 0.3; cat /run/other"), "other")
            }
            let opened = record.log.map(\.text) + [record.outputs["other"] ?? ""]
            #expect(opened.count { $0.contains("dmix:Loopback,0") } >= 2, "\(opened)")
            let heard = try #require(record.sound)
            func level(_ frequency: Double, _ from: Double, _ to: Double) -> Double {
                heard[.seconds(from)..<(.seconds(to))].level(at: frequency)
            }
            let alone = (level(440, 1, 2.8), level(880, 1, 2.8))
            #expect(alone.0 > 300 && alone.1 < alone.0 / 50, "\(alone)")
            let both = (level(440, 4.5, 6.5), level(880, 4.5, 6.5))
            #expect(both.1 > 300 && abs(both.0 / alone.0 - 1) < 0.02, "\(both), of \(alone)")
            let after = (level(440, 8.5, 10), level(880, 8.5, 10))
            #expect(abs(after.0 / alone.0 - 1) < 0.02 && after.1 < alone.0 / 50, "\(after)")
            #expect(record.seams.count >= 8 && record.seams.filter { !$0.isClean } == [] && record.wrongHolds == [], "\(record.seams)")
            #expect(heard.holes == [])
            #expect(record.status == 0)
        }

        /// The libraries alone, in a program of Tests/Client.
        @Test func `two displays of one seat show a clip each`() async throws {
            let clips = [
                try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let machine = Machine { ($0.time, $0.mode, $0.displays) = (.free, Machine.Mode(width: 1024, height: 768), 2) }
            let program = Program.command(
                [Bed.package + "/.build/release/TwoDisplays", "hw:Loopback,0,0"] + clips.map(\.path))
            let record = try await Bed.run(
                "two displays", for: .seconds(12), playing: clips, program, on: machine,
                area: Vblank.Rectangle(x: 0, y: 96, width: 1024, height: 576))
            for (display, clip) in clips.enumerated() {
                let frames = record.frames(on: display).filter { $0.time > .seconds(2) }
                #expect(frames.count > 270 && frames.allSatisfy { clip.numbers.contains($0.number) }, "\(display): \(frames.prefix(3))")
                let seams = Seam.all(in: record.frames(on: display), of: [clip], refreshRate: record.refreshRate)
                #expect(seams.count == 2 && seams.allSatisfy { $0.isClean }, "\(display): \(seams)")
                let holds = frames.dropLast().map(\.vblanks)
                #expect(holds.allSatisfy { $0 == 2 }, "\(display): \(holds)")
            }
            #expect(record.sound?.tone.map { abs($0.frequency - 440) < 440 * 0.00125 } == true && record.sound?.holes == [])
        }

        @Test func `two players begin at an instant of the host's clock, and are in step`() async throws {
            let clips = [
                try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let machine = Machine { ($0.time, $0.mode, $0.displays) = (.free, Machine.Mode(width: 1024, height: 768), 2) }
            let program = Program.command(
                [Bed.package + "/.build/release/TwoDisplays", "hw:Loopback,0,0"] + clips.map(\.path) + ["4"])
            let record = try await Bed.run(
                "at an instant", for: .seconds(9), playing: clips, program, on: machine,
                area: Vblank.Rectangle(x: 0, y: 96, width: 1024, height: 576))
            let line = try #require(record.log.first { $0.text.contains("both begin in ") }, "\(record.log)")
            let wait = try #require(line.text.firstMatch(of: #/both begin in ([0-9.]+) s/#).flatMap { Double($0.1) })
            let instant = line.time + .seconds(wait)
            let vblank = Duration.seconds(1 / record.refreshRate)
            var begins: [Duration] = []
            for (display, clip) in clips.enumerated() {
                let frames = record.frames(on: display)
                // Until the instant, each display stands at half a second: on the frame with index 15, from 0.
                let first = clip.numbers.lowerBound + 15
                let standing = try #require(frames.firstIndex { $0.number == first }, "\(display): \(frames.prefix(5))")
                let begin = frames[standing].time + vblank * frames[standing].vblanks - .seconds(1.0 / 30)
                begins.append(begin)
                #expect(abs((begin - instant) / vblank) <= 1, "\(display): \(begin) for \(instant)")
                let playing = frames[(standing + 1)...].dropLast().prefix(60)
                #expect(playing.map(\.number) == Array(first + 1...first + 60) && playing.allSatisfy { $0.vblanks == 2 }, "\(display)")
            }
            #expect(abs((begins[1] - begins[0]) / vblank) <= 1, "\(begins)")
        }
    }
}
