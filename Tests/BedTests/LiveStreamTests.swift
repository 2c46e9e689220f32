import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// An endless stream whose sender has a clock of its own.
    @Suite struct LiveStreams {
        /// ffmpeg sends a second and a bit of 320x180 in a loop, too fast or too slow by 400 parts per million. In the third run it also
        /// sends 200 ppm too few samples, by their own timestamps. $KIOSK_SOAK sets another number of seconds than five minutes (two in
        /// make test). The sender is off by 100 ppm then.
        @Test(arguments: Proof.some([(1, false), (-1, false), (1, true)]))
        func `a sender whose clocks are off is followed: its latency stays, and picture and sound are in step`(
            sign: Int, isSoundSlow: Bool
        ) async throws {
            let soak = ProcessInfo.processInfo.environment["KIOSK_SOAK"].flatMap { Int($0) }
            let seconds = soak ?? (Proof.isThorough ? 300 : 120), partsPerMillion = sign * (soak == nil ? 400 : 100)
            let clip = try BedGallery.live(isSlow: isSoundSlow)
            let socket = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock"
            defer { unlink(socket) }
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"", control: "socket = \"\(socket)\"",
                playlist: ["source = \"udp://127.0.0.1:5077\"\nlatency = 1"])
            let send =
                "ip link set lo up; ffmpeg -nostdin -loglevel error -readrate \(1 + Double(partsPerMillion) * 1e-6) -stream_loop -1 -i \(clip.path) "
                + "-c copy -f mpegts 'udp://127.0.0.1:5077?pkt_size=1316' >/run/sender 2>&1 &"
            let status = ActionTimeline.Action.shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) --json statistics")
            let record = try await Bed.run(
                "live \(partsPerMillion) ppm \(isSoundSlow)", for: .seconds(seconds), playing: [clip], .kiosk(configuration), on: machine
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
            #expect(try figure("framesDropped", "late") == 0 && figure("framesLate", "late") == 0)
            // Each frame comes once and stands two vblanks. It stands three or one when sender and display have drifted a vblank apart. A
            // few more do while the clock finds its rate.
            let frames = record.frames.filter { $0.time > .seconds(5) }.dropLast()
            let steps = zip(frames, frames.dropFirst()).filter { $1.number != $0.number % 36 + 1 }.map { ($0.number, $1.number) }
            #expect(steps.isEmpty, "\(steps)")
            let apart = Double(seconds * abs(partsPerMillion)) * 1e-6 * record.refreshRate
            let wrong = frames.filter { $0.vblanks != 2 }
            #expect(wrong.count <= 6 + Int(1.2 * apart) && wrong.allSatisfy { 1...3 ~= $0.vblanks }, "\(wrong) of \(frames.count)")
            // As a person in front of the screen perceives it, and as the player reports it.
            let told = try #require(record.statistics?.synchrony)
            let offsets = record.offsets(ofFlash: 19, every: 36).map { abs($0) * 1000 }.sorted()
            #expect(offsets.count > seconds * 30 / 36 - 12)
            let (half, most) = (offsets[offsets.count / 2], offsets[offsets.count * 99 / 100])
            #expect(
                most <= 20 && told.most <= 20 && abs(most - Double(told.most)) <= (isSoundSlow ? 10 : 5),
                "seen \(most) ms, told \(told.most) ms")
            let sound = try #require(record.sound)[.seconds(10)..<(.seconds(seconds) - .seconds(1))]
            let right = sound.channels[1], tone = try #require(right.tone)
            #expect(
                right.holes == [] && tone.phaseJumps == [] && tone.clicks == [], "\(right.holes.prefix(5)) \(tone.phaseJumps.prefix(5))")
            print(
                "\(partsPerMillion) ppm\(isSoundSlow ? ", sound slow" : ""): latency \(early) s after a minute, \(late) s after \(seconds) s; \(frames.count) frames, \(wrong.count) wrong holds; "
                    + "A/V \(half) and \(most) ms seen, \(told.half) and \(told.most) ms told; \(tone.frequency) Hz, \(right.holes.count) holes"
            )
            #expect(record.status == 0)
        }
    }
}
