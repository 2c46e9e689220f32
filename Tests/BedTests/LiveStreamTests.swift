import Bed
import Foundation
import Testing

extension BedTests {
    /// A stream without an end whose sender has a clock of its own.
    @Suite struct LiveStreams {
        /// ffmpeg sends a second of 320x180 again and again, by so much too fast. $KIOSK_SOAK is another number of seconds; 3600 take some minutes.
        @Test func `a sender that is too fast is followed, and its latency stays`() async throws {
            let seconds = ProcessInfo.processInfo.environment["KIOSK_SOAK"].flatMap { Int($0) } ?? 240
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let socket = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock"
            defer { unlink(socket) }
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"", control: "socket = \"\(socket)\"",
                playlist: ["source = \"udp://127.0.0.1:5077\"\nlatency = 1"])
            let send =
                "ip link set lo up; ffmpeg -nostdin -loglevel error -readrate 1.0001 -stream_loop -1 -i \(clip.path) -c copy -f mpegts "
                + "'udp://127.0.0.1:5077?pkt_size=1316' >/run/sender 2>&1 &"
            let status = ActionTimeline.Action.shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) --json statistics")
            let record = try await Bed.run(
                "live-clock", for: .seconds(seconds), playing: [clip], .kiosk(configuration), on: machine
            ) { at in
                at(-0.8, .shell(send))
                at(60, status, "early")
                at(Double(seconds) - 2, status, "late")
            }
            func figure(_ name: String, _ output: String) throws -> Double {
                let text = record.outputs[output] ?? ""
                let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
                return try #require(json[name] as? Double, "\(name) of \(text)")
            }
            let (early, late) = (try figure("latency", "early"), try figure("latency", "late"))
            #expect((0.7...1.6).contains(early) && abs(late - early) < 0.3, "\(early) s, then \(late) s")
            #expect(try figure("stalls", "late") == figure("stalls", "early"))
            let dropped = try figure("framesDropped", "late")
            print("latency: \(early) s after a minute, \(late) s after \(seconds) s; \(dropped) frames left out")
            // Each frame stands two vblanks, but now and then three, or one, while the clock finds its rate and where the frames pass a vblank.
            let frames = record.frames.filter { $0.time > .seconds(30) }.dropLast()
            let wrong = frames.count { $0.vblanks != 2 }
            #expect(wrong <= 10 + seconds / 20, "\(wrong) of \(frames.count)")
            let steps = zip(frames, frames.dropFirst()).filter { $1.number != $0.number % 30 + 1 }.map { ($0.number, $1.number) }
            #expect(steps.count <= 1 + seconds / 120, "\(steps)")
            #expect(record.status == 0)
        }
    }
}
