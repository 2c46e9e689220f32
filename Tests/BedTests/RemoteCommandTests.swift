import Bed
import Foundation
import Testing

extension BedTests {
    /// A player that is told by programs, over its control socket.
    @Suite struct RemoteCommands {
        private static func socket() -> String { NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock" }

        private static func configuration(_ socket: String) -> KioskConfiguration {
            KioskConfiguration(input: "controls = \"none\"", control: "socket = \"\(socket)\"")
        }

        /// A line of shell that runs kiosk ctl, and prints by the guest's clock how many nanoseconds it took.
        private static func timed(_ words: String, _ socket: String) -> String {
            "a=$(date +%s%N); $(readlink /proc/$PLAYER/exe) ctl --socket \(socket) \(words); s=$?; b=$(date +%s%N); echo status=$s nanoseconds=$((b - a))"
        }

        @Test func `a seek is answered when its frame is on the screen`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let socket = Self.socket()
            defer { unlink(socket) }
            let targets: [(at: Double, to: Double)] = [(1.5, 4), (2.5, 0.5), (3.5, 2)]
            let record = try await Bed.run(
                "seek-by-socket", for: .seconds(5.5), playing: [clip], .kiosk(Self.configuration(socket)), on: Machine { $0.time = .free }
            ) { at in
                for target in targets { at(target.at, .shell(Self.timed("seek \(target.to)", socket)), "to \(target.to)") }
            }
            for target in targets {
                let output = try #require(record.outputs["to \(target.to)"])
                #expect(output.contains("status=0") && output.contains("shown: true"), "\(output)")
                let text = try #require(output.components(separatedBy: "nanoseconds=").last).trimmingCharacters(in: .whitespacesAndNewlines)
                let asked = record.time(of: "to \(target.to)")
                let number = Int((target.to * 30).rounded()) + 1
                let shown = try #require(record.frames.first { $0.number == number && $0.time > asked })
                // The shell and the program start in no time here: the answer cannot be earlier than the vblank, nor much later.
                let answered = asked + .nanoseconds(try #require(Int64(text)))
                #expect(answered >= shown.time - .milliseconds(1), "answered at \(answered), shown at \(shown.time)")
                #expect(answered < shown.time + .milliseconds(300), "answered at \(answered), shown at \(shown.time)")
            }
            #expect(record.status == 0)
        }

        @Test func `programs that ask and do not listen cost no frame`() async throws {
            let clip = try BedGallery.clip("a", frames: 60, frameRate: 30)
            let socket = Self.socket()
            defer { unlink(socket) }
            let player = "p=$(readlink /proc/$PLAYER/exe); "
            let record = try await Bed.run(
                "asked-often", for: .seconds(9), playing: [clip], .kiosk(Self.configuration(socket)), on: Machine { $0.time = .free }
            ) { at in
                // Whoever watches is stopped in the middle of it: what he is told piles up until he is dropped.
                let watch = "$p ctl --socket \(socket) watch & w=$!; sleep 1; kill -STOP $w; sleep 5; kill -KILL $w"
                at(1, .shell(player + watch), "deaf")
                for turn in 0..<6 {
                    let ctl = "$p ctl --socket \(socket)"
                    let ask = "for i in 1 2 3 4 5 6 7 8; do \(ctl) volume $((i * 10)) & \(ctl) statistics & done; wait"
                    at(2 + Double(turn), .shell(player + ask), "turn \(turn)")
                }
            }
            #expect(record.seams.count >= 3 && record.seams.filter { !$0.isClean } == [], "\(record.seams)")
            #expect(record.wrongHolds == [])
            for turn in 0..<6 {
                let output = try #require(record.outputs["turn \(turn)"])
                for word in ["framesShown:", "volume:"] {
                    #expect(output.components(separatedBy: word).count == 9, "\(output)")
                }
            }
            #expect(record.status == 0)
        }
    }
}
