import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// Texts and clocks over the picture, from `[[overlay]]` and from programs.
    @Suite struct SignOverlays {
        private static func socket() -> String { NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock" }

        private static func ctl(_ words: String, _ socket: String) -> ActionTimeline.Action {
            .shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) \(words)")
        }

        private static func record(_ name: String, _ socket: String, overlays: Int) async throws -> Record {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let tables = """
                source = "\(clip.path)"
                [[overlay]]
                name = "clock"
                kind = "clock"
                format = "%H:%M:%S"
                anchor = "top-left"
                """
            let configuration = KioskConfiguration(control: "socket = \"\(socket)\"", playlist: [tables])
            let machine = Machine { ($0.time, $0.overlays) = (.free, overlays) }
            return try await Bed.run(name, for: .seconds(14), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(3, .shell("date +%s%N"), "date")
                at(8.3, ctl("overlay message 'We close at six' --for 2s", socket), "message")
                at(12.3, ctl("overlay", socket), "list")
            }
        }

        @Test func `a clock changes at the vblank of its second, and a line of text comes and goes`() async throws {
            let socket = Self.socket()
            defer { unlink(socket) }
            let record = try await Self.record("clock", socket, overlays: 2)
            let wall = try #require(Int64(record.outputs["date"]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""))
            let date = record.time(of: "date")
            /// The beginning of a second of the guest's clock, from the start of the player.
            let first = date + .nanoseconds(1_000_000_000 - wall % 1_000_000_000)
            let changes = record.overlayChanges().map(\.time)
            for second in 0..<9 {
                let boundary = first + .seconds(second)
                let late = changes.first { $0 >= boundary - .milliseconds(1) }.map { $0 - boundary }
                // The shell took some time to start: its clock is a little ahead of the event.
                #expect(late.map { $0 < record.period + .milliseconds(6) } == true, "second \(second): \(String(describing: late))")
            }
            // The overlays change at no other time, except for the line of text.
            let (message, end) = (record.time(of: "message"), record.time(of: "message") + .seconds(2))
            let others = changes.filter { time in
                let part = (time - first) / .seconds(1)
                let isSecond = part - part.rounded(.down) < 0.03
                return time > date && time < .seconds(13.9) && !isSecond
            }
            #expect(others.count == 2, "\(others)")
            #expect(others.first.map { $0 - message <= .milliseconds(50) } == true, "\(others), asked at \(message)")
            #expect(others.last.map { $0 > end && $0 - end <= .milliseconds(50) } == true, "\(others), over at \(end)")
            #expect(record.outputs["list"]?.contains("message") == true)
            try expectUndisturbed(record)
        }

        @Test func `blended into the picture it costs no frame either`() async throws {
            let socket = Self.socket()
            defer { unlink(socket) }
            let record = try await Self.record("clock-blended", socket, overlays: 0)
            try expectUndisturbed(record)
            // The same frame looks different after a second has passed.
            let numbers = record.vblanks.filter { $0.number == 60 }.map(\.hash)
            #expect(Set(numbers).count > 1)
        }

        private func expectUndisturbed(_ record: Record) throws {
            #expect(record.wrongHolds == [] && record.seams.count == 2 && record.seams.allSatisfy(\.isClean), "\(record.wrongHolds)")
            let statistics = try #require(record.statistics)
            #expect(statistics.dropped == 0 && statistics.late == 0 && record.status == 0, "\(statistics)")
        }
    }
}
