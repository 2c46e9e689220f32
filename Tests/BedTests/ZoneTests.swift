import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// Parts of the display, each with a playlist of its own.
    @Suite struct Zones {
        private static let size = (width: 1280, height: 720)
        private static let seconds = Proof.isThorough ? 110 : 20

        /// The part of the display that the test reads, and the number of planes for zones.
        struct Case: Sendable, CustomTestStringConvertible {
            var part: String, overlays: Int
            var testDescription: String { "\(part), \(overlays) planes" }
        }
        /// The first three read each part once, at the lowest cost.
        private static let cases = [("main", 0), ("thirty", 0), ("sixty", 2), ("main", 2), ("thirty", 2), ("sixty", 0)].map {
            Case(part: $0.0, overlays: $0.1)
        }

        /// Two videos and stills beside the main playlist, each of which loops once a second. The test repeats the run in virtual time and
        /// reads one part each time.
        @Test(arguments: Proof.some(cases, 3)) func `the seams of each are clean`(_ at: Case) async throws {
            let clips = [
                "main": try BedGallery.clip("loop30", frames: 30, frameRate: 30),
                "thirty": try BedGallery.clip("other30", frames: 30, from: 1001, frameRate: 30),
                "sixty": try BedGallery.clip("other60", frames: 60, from: 1001, frameRate: 60),
            ]
            let still = try BedGallery.path("corners.png")
            let (width, height) = (Self.size.width / 2, Self.size.height / 2)
            let places = ["main": (0, 0), "thirty": (width, 0), "sixty": (0, height)]
            let socket = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock"
            defer { unlink(socket) }
            let tables = """
                source = "\(clips["main"]!.path)"
                [[zone]]
                name = "thirty"
                region = "50 0 50 50"
                [[zone.playlist]]
                source = "\(clips["thirty"]!.path)"
                [[zone]]
                name = "sixty"
                region = "0 50 50 50"
                [[zone.playlist]]
                source = "\(clips["sixty"]!.path)"
                [[zone]]
                name = "stills"
                region = "50 50 50 50"
                [[zone.playlist]]
                source = "\(still)"
                duration = 1
                """
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"\nregion = \"0 0 50 50\"", control: "socket = \"\(socket)\"", playlist: [tables])
            let machine = Machine {
                ($0.time, $0.overlays, $0.readsTopmost) = (.free, at.overlays, at.part != "main")
                $0.mode = Machine.Mode(width: Self.size.width, height: Self.size.height)
            }
            let place = places[at.part]!
            let clip = clips[at.part]!
            let record = try await Bed.run(
                "zones", for: .seconds(Self.seconds), playing: [clip], .kiosk(configuration), on: machine,
                area: Vblank.Rectangle(x: place.0, y: place.1, width: width, height: height)
            ) { at in
                at(Double(Self.seconds) - 0.5, .shell("$(readlink /proc/$PLAYER/exe) ctl --json --socket \(socket) zone"), "zones")
            }
            // The first pictures of a zone come before the player knows how many vblanks each one stands.
            let isSettled = { @Sendable (frame: ShownFrame) in at.part == "main" || frame.time > .milliseconds(200) }
            let seams = record.seams.filter { isSettled($0.first) }
            #expect(seams.count >= Self.seconds - 3 && seams.filter { !$0.isClean } == [], "\(record.seams)")
            #expect(record.wrongHolds.filter(isSettled) == [])
            #expect(record.statistics?.dropped == 0 && record.statistics?.late == 0 && record.status == 0)
            let told = record.outputs["zones"] ?? ""
            #expect(told.count(of: "\"late\":0") == 3 && told.count(of: "\"dropped\":0") == 3, "\(told)")
        }

        /// A tap on a zone belongs to the zone if that has `on-tap`. A tap beside it belongs to the main playlist.
        @Test func `a tap is that of the zone that it falls on`() async throws {
            let clips = [
                try BedGallery.clip("loop30", frames: 30, frameRate: 30),
                try BedGallery.clip("other30", frames: 30, from: 1001, frameRate: 30),
            ]
            let socket = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock"
            defer { unlink(socket) }
            let tables = """
                source = "\(clips[0].path)"
                [[zone]]
                name = "right"
                region = "50 0 50 50"
                on-tap = "zone right next"
                [[zone.playlist]]
                source = "\(try BedGallery.path("corners.png"))"
                duration = 3600
                [[zone.playlist]]
                source = "\(clips[0].path)"
                repeat = 1000
                on-tap = "play \(clips[1].path)"
                """
            let configuration = KioskConfiguration(control: "socket = \"\(socket)\"", playlist: [tables])
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 1280, height: 720)) }
            let record = try await Bed.run("zone-tap", for: .seconds(9), playing: clips, .kiosk(configuration), on: machine) { at in
                func ctl(_ words: String) -> ActionTimeline.Action {
                    .shell("$(readlink /proc/$PLAYER/exe) ctl --json --socket \(socket) \(words)")
                }
                at(2, .tap(960, 180))
                at(2.6, ctl("zone"), "zone after a tap")
                at(3, .tap(960, 180))
                at(3.6, ctl("status"), "status after another")
                at(6, .tap(320, 540))
                at(6.6, ctl("status"), "status after one beside it")
                at(7, ctl("zone"), "zone after that")
            }
            let told = record.outputs
            #expect(told["zone after a tap"]?.contains("\"place\":2,\"seams\":0,\"state\":\"playing\"") == true, "\(told)")
            // The main playlist runs the command of the item's `on-tap`, and nothing hangs.
            #expect(record.frames.contains { clips[1].numbers.contains($0.number) }, "\(told)")
            #expect(told["status after another"]?.contains("\"state\":\"playing\"") == true, "\(told)")
            #expect(told["status after one beside it"]?.contains("\"state\":\"paused\"") == true, "\(told)")
            #expect(told["zone after that"]?.contains("\"state\":\"playing\"") == true, "\(told)")
            #expect(record.status == 0)
        }

        /// The player mixes the sound of a zone with the main playlist's, at the zone's volume.
        @Test func `a zone is heard beside the main playlist`() async throws {
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let socket = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock"
            defer { unlink(socket) }
            let tables = """
                source = "\(clip.path)"
                [[zone]]
                name = "loud"
                region = "75 75 25 25"
                volume = 100
                [[zone.playlist]]
                source = "\(try BedGallery.whistle())"
                """
            let configuration = KioskConfiguration(control: "socket = \"\(socket)\"", playlist: [tables])
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }
            let record = try await Bed.run("zone-sound", for: .seconds(11), playing: [clip], .kiosk(configuration), on: machine) { at in
                func ctl(_ words: String) -> ActionTimeline.Action {
                    .shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) \(words)")
                }
                at(4, ctl("zone loud pause"))
                at(6, ctl("zone loud play"))
                at(8, ctl("volume 50"))
            }
            let heard = try #require(record.sound)
            func level(_ frequency: Double, _ from: Double, _ to: Double) -> Double {
                heard[.seconds(from)..<(.seconds(to))].level(at: frequency)
            }
            let both = (level(440, 2, 3.8), level(880, 2, 3.8))
            #expect(both.0 > 300 && both.1 > 300, "\(both)")
            let paused = (level(440, 4.5, 5.8), level(880, 4.5, 5.8))
            #expect(abs(paused.0 / both.0 - 1) < 0.02 && paused.1 < both.1 / 50, "\(paused), of \(both)")
            // The player's volume applies to both.
            let quieter = (level(440, 9, 10.5), level(880, 9, 10.5))
            #expect(abs(quieter.0 / both.0 - 0.125) < 0.01 && abs(quieter.1 / both.1 - 0.125) < 0.01, "\(quieter), of \(both)")
            #expect(record.seams.count >= 9 && record.seams.filter { !$0.isClean } == [] && record.wrongHolds == [], "\(record.seams)")
            #expect(record.statistics?.dropped == 0 && record.statistics?.late == 0 && record.status == 0)
        }
    }
}

extension String {
    fileprivate func count(of text: String) -> Int { components(separatedBy: text).count - 1 }
}
