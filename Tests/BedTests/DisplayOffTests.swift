import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// The display off and on again: by programs, by the clock, by a touch.
    @Suite struct DisplayOff {
        private static func socket() -> String { NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock" }

        private static func ctl(_ words: String, _ socket: String) -> ActionTimeline.Action {
            .shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) \(words)")
        }

        /// Expects no signal between these times, except for a moment at the beginning.
        private static func expectDark(_ record: Record, from: Duration, to: Duration) {
            let lit = record.vblanks.filter { $0.time > from + .milliseconds(100) && $0.time < to }
            #expect(lit.isEmpty, "\(lit.count) vblanks from \(from) to \(to)")
        }

        /// By atomic commits with and without planes, and by the legacy calls (DPMS).
        @Test(arguments: Proof.some(["planes", "legacy", "no planes"], 2))
        func `it goes off and on again and again, and what is played stands meanwhile`(way: String) async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let socket = Self.socket(), turns = Proof.isThorough ? 50 : 6
            defer { unlink(socket) }
            let configuration = KioskConfiguration(control: "socket = \"\(socket)\"")
            let machine = Machine { ($0.time, $0.overlays) = (.free, way == "planes" ? 2 : 0) }
            let program = Program.kiosk(configuration)
            let record = try await Bed.run(
                "display-off-\(way)", for: .seconds(4 + 3 * turns), playing: [clip],
                way == "legacy" ? .under(["env", "KIOSK_KMS=legacy"], program) : program, on: machine
            ) { at in
                for turn in 0..<turns {
                    at(2 + 3 * Double(turn), Self.ctl("display off", socket), "off \(turn)")
                    at(3.2 + 3 * Double(turn), Self.ctl("display", socket), "asked \(turn)")
                    at(3.5 + 3 * Double(turn), Self.ctl("display on", socket), "on \(turn)")
                }
            }
            for turn in 0..<turns {
                let (off, on) = (record.time(of: "off \(turn)"), record.time(of: "on \(turn)"))
                Self.expectDark(record, from: off, to: on)
                #expect(record.outputs["asked \(turn)"]?.contains("dark: true") == true, "\(record.outputs)")
                let last = try #require(record.frames.last { $0.time < off + .milliseconds(100) })
                let first = try #require(record.frames.first { $0.time > on })
                #expect(first.time - on < .milliseconds(300), "\(first.time - on)")
                // It resumes with the frame on which it stood, or with the next.
                #expect([0, 1].contains((first.number - last.number + 150) % 150), "\(last.number), then \(first.number)")
            }
            let log = record.log.map(\.text)
            #expect(log.count { $0.hasSuffix("the display is off: nothing is played") } == turns)
            #expect(record.statistics?.dropped == 0 && record.status == 0, "\(log.suffix(20))")
            // Playback in between is as even as ever.
            let far = record.wrongHolds.filter { frame in
                !(0..<turns).contains { abs((frame.time - record.time(of: "off \($0)")) / .seconds(1)) < 1.8 }
            }
            #expect(far == [], "\(far)")
        }

        @Test func `what is paused, with its controls on the screen, goes off and comes back`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let socket = Self.socket()
            defer { unlink(socket) }
            let configuration = KioskConfiguration(control: "socket = \"\(socket)\"")
            let machine = Machine { ($0.time, $0.hasTouchScreen) = (.free, true) }
            let record = try await Bed.run("off-paused", for: .seconds(9), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(2, .tap(300, 300), "pause")
                at(4, Self.ctl("display off", socket), "off")
                at(6, Self.ctl("display on", socket), "on")
            }
            Self.expectDark(record, from: record.time(of: "off"), to: record.time(of: "on"))
            let last = try #require(record.frames.last { $0.time < record.time(of: "off") })
            // The controls find the screen again with their next step.
            let after = record.vblanks.filter { $0.time > record.time(of: "on") + .seconds(1) && $0.time < .seconds(8.9) }
            #expect(after.count > 100 && after.allSatisfy { $0.number == last.number && !$0.overlays.isEmpty })
            #expect(record.status == 0)
        }

        @Test func `the clock switches it off and on, and a touch wakes it for a while and does nothing else`() async throws {
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let times = """
                source = "\(clip.path)"
                [place]
                time-zone = "UTC"
                [[program]]
                name = "night"
                hours = "22:00-06:00"
                off = true
                """
            let configuration = KioskConfiguration(display: "wake = \"touch\"\nwake-time = 2", playlist: [times])
            func set(_ time: String) -> ActionTimeline.Action { .shell("date -u -s '2026-11-27 \(time)' >/dev/null") }
            let machine = Machine { ($0.time, $0.hasTouchScreen) = (.free, true) }
            let record = try await Bed.run("night", for: .seconds(18), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(-0.2, set("21:59:57.4"), "before ten")
                at(7, .tap(300, 300), "tap")
                at(14, set("06:00:01"), "morning")
            }
            // Ten o'clock is 2.4 s after the beginning.
            Self.expectDark(record, from: .seconds(2.5), to: record.time(of: "tap"))
            let woken = try #require(record.frames.first { $0.time > record.time(of: "tap") })
            #expect(woken.time - record.time(of: "tap") < .milliseconds(400))
            // It plays: the tap has not paused it.
            let seen = record.frames.filter { $0.time > woken.time && $0.time < woken.time + .seconds(1.8) }
            #expect(seen.count > 45, "\(seen.count)")
            Self.expectDark(record, from: record.time(of: "tap") + .seconds(2.2), to: record.time(of: "morning"))
            let morning = try #require(record.frames.first { $0.time > record.time(of: "morning") })
            #expect(morning.time - record.time(of: "morning") < .seconds(1.5))
            #expect(record.frames.count { $0.time > morning.time } > 60)
            #expect(record.statistics?.dropped == 0 && record.status == 0)
        }
    }
}
