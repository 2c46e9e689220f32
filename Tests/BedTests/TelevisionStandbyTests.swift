import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// The player switches a television by the kernel's HDMI-CEC. A program is the television at the other end of vivid's cable
    /// (Tests/Bed/guest/television.c).
    @Suite struct TelevisionStandby {
        private struct Seen {
            var record: Record
            /// The player's log lines about its orders.
            var said: [String]

            /// Returns the messages that a television got, with their sender, in the words of television.c.
            func messages(_ television: Int = 0) -> [String] {
                (record.outputs["television \(television)"] ?? "?").split(separator: "\n").map { line in
                    String(line.drop { $0 != " " }.dropFirst())
                }
            }
        }

        /// Plays with `televisions` (arguments of television.c, one each). The display goes off at 2 s and on at `on`. At the start, the
        /// player switches on a television that sleeps, too.
        private static func play(
            _ name: String, _ televisions: [String], kernel: String = "", on: Double?, end: Double
        ) async throws -> Seen {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let socket = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock"
            defer { unlink(socket) }
            let configuration = KioskConfiguration(display: "cec = true", control: "socket = \"\(socket)\"")
            let machine = Machine {
                ($0.time, $0.displays) = (.free, televisions.count)
                $0.kernelArguments = "vivid.n_devs=\(televisions.count) \(kernel)"
            }
            func ctl(_ words: String) -> ActionTimeline.Action {
                .shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) display \(words)")
            }
            let record = try await Bed.run(
                "television-\(name)", for: .microseconds(Int(end * 1e6)), playing: [clip], .kiosk(configuration), on: machine
            ) { at in
                for (number, arguments) in televisions.enumerated() {
                    // The run waits until this program ends.
                    at(-2, .shell("timeout \(end + 2) television \(number) \(arguments) 2>&1"), "television \(number)")
                }
                at(2, ctl("off"), "off")
                if let on { at(on, ctl("on"), "on") }
            }
            #expect(record.status == 0, "\(record.log.suffix(20))")
            return Seen(
                record: record,
                said: record.log.compactMap { line in line.text.range(of: "television: ").map { String(line.text[$0.upperBound...]) } })
        }

        /// A television, by its arguments for television.c; the messages that it gets, and the player's log lines.
        ///
        /// - connector: the kernel says that the adapter belongs to the display.
        /// - asleep: the television is in standby when the player starts.
        /// - USB: the adapter has no address until the player sets it.
        /// - unplugged: the television unplugs itself in standby.
        /// - late: the adapter gets its address one second after the second order.
        /// - address: only the adapter's address tells that it belongs to the display.
        /// - deaf: the television obeys only the third order.
        /// - mute: the television answers nothing.
        struct Case: CustomTestStringConvertible, Sendable {
            var name: String, television: String, kernel = ""
            var said = ["on", "in standby", "on"]
            var heard = ["4 8f", "4 36", "4 8f", "4 04", "4 82 10 00", "4 8f"]
            var testDescription: String { name }
        }

        private static let cases = [
            Case(name: "connector", television: "connector"),
            Case(
                name: "asleep", television: "connector asleep",
                heard: ["4 8f", "4 04", "4 82 10 00", "4 8f", "4 36", "4 8f", "4 04", "4 82 10 00", "4 8f"]),
            Case(name: "USB", television: "unread", kernel: "vivid.cec_address=1"),
            Case(
                name: "unplugged", television: "connector unplugs", said: ["on", "told to go to standby", "on"],
                heard: ["4 8f", "4 36", "unplugged", "f 04", "plugged", "4 04", "4 82 10 00", "4 8f"]),
            Case(
                name: "late", television: "connector unread=5", said: ["in standby", "on"],
                heard: ["f 04", "f 04", "4 36", "4 8f", "4 04", "4 82 10 00", "4 8f"]),
            Case(name: "address", television: ""),
            Case(
                name: "deaf", television: "connector deaf=2",
                heard: ["4 8f", "4 36", "4 8f", "4 36", "4 8f", "4 36", "4 8f", "4 04", "4 82 10 00", "4 8f"]),
            Case(
                name: "mute", television: "mute", said: ["told to go to standby", "told to switch on"],
                heard: ["4 8f", "4 04", "4 82 10 00", "4 8f", "4 36", "4 8f", "4 04", "4 82 10 00", "4 8f"]),
        ]

        @Test(arguments: Proof.some(cases, 5)) func `it goes to standby with the display, and wakes with it`(what: Case) async throws {
            let seen = try await Self.play(what.name, ["Virtual-1 1.0.0.0 " + what.television], kernel: what.kernel, on: 6, end: 10)
            #expect(seen.messages() == what.heard, "\(seen.record.outputs) \(seen.record.log.suffix(20))")
            #expect(seen.said == what.said)
        }

        /// Two televisions at a card with two displays. The player has the first display, and the second television belongs to it.
        /// "nothing": both adapters have the same address, and the kernel does not tell their connectors.
        @Test(arguments: Proof.some(["connector", "address", "nothing"], 3)) func `of two televisions that of its display is switched`(
            by way: String
        ) async throws {
            let word = way == "connector" ? " connector" : ""
            let seen = try await Self.play(
                "two-\(way)", ["Virtual-2 \(way == "address" ? "1.1.0.0" : "1.0.0.0")" + word, "Virtual-1 1.0.0.0" + word],
                on: way == "nothing" ? nil : 6, end: way == "nothing" ? 24 : 10)
            #expect(seen.messages(0).isEmpty, "\(seen.record.outputs)")
            #expect(
                seen.messages(1) == (way == "nothing" ? [] : Self.cases[0].heard), "\(seen.record.outputs) \(seen.record.log.suffix(20))")
            #expect(
                seen.said
                    == (way == "nothing"
                        ? ["none of several CEC adapters is known to be that of this display"] : ["on", "in standby", "on"]))
        }

        /// The only adapter has an address that is not the display's, or no television is at its cable.
        @Test(arguments: Proof.some([("another", "at=1.1.0.0"), ("nobody", "gone")], 2))
        func `what is another display's hears nothing, and what is not there is told for long enough`(
            name: String, television: String
        ) async throws {
            let seen = try await Self.play(name, ["Virtual-1 1.0.0.0 " + television], on: nil, end: 26)
            #expect(seen.messages().isEmpty, "\(seen.record.outputs)")
            let said =
                name == "another"
                ? "its adapter is at 1.1.0.0, and this display at 1.0.0.0: it is another display's"
                : "cannot reach the television by /dev/cec1: Remote I/O error"
            // Orders come at the start and at 2 s. The player tries an absent television for 20 s, and the second order comes in that time.
            #expect(seen.said == (name == "another" ? [said, said] : [said]))
        }
    }
}
